"""Streams whose pieces are not where they say, or never ended: no body is made up from them."""

from __future__ import annotations

from typing import Any

import pytest

from remit.errors import ProtocolError
from remit.types.model import ProtocolName
from remit.wire import wire_for
from wire.streams import events

START = {"type": "message_start", "message": {"id": "msg_1", "type": "message", "role": "assistant", "content": []}}
ENDS = ({"type": "message_delta", "delta": {"stop_reason": "end_turn"}}, {"type": "message_stop"})
ITEM = {"type": "message", "role": "assistant", "content": []}
DONE = {"type": "response.completed", "response": {"id": "resp_1", "status": "completed", "output": []}}


def item(what: str, place: int) -> dict[str, Any]:
    return {"type": f"response.output_item.{what}", "output_index": place, "item": ITEM}


def block(index: int, text: str = "Hello") -> dict[str, Any]:
    return {"type": "content_block_start", "index": index, "content_block": {"type": "text", "text": text}}


def end(index: int) -> dict[str, Any]:
    return {"type": "content_block_stop", "index": index}


CASES: dict[str, tuple[ProtocolName, list[Any], str]] = {
    "a block that begins behind its place": ("anthropic", [START, block(1), end(0), *ENDS], "out of its place"),
    "a block that begins in the place of another": (
        "anthropic",
        [START, block(0), end(0), block(0, "again"), end(1), *ENDS],
        "out of its place",
    ),
    "an item that never ended": (
        "openai-responses",
        [item("added", 0), item("done", 0), item("added", 1), DONE],
        "ends before its items did",
    ),
}


@pytest.mark.parametrize("what", CASES)
def test_what_is_out_of_place_or_never_ended_is_named_and_gives_no_body(what: str) -> None:
    protocol, data, named = CASES[what]
    gather = wire_for(protocol).gather({})
    with pytest.raises(ProtocolError, match=named):
        gather.feed(events(*data).encode())
    with pytest.raises(ProtocolError):
        gather.body()
