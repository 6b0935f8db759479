"""Responses streams: the last event's response is the body, byte for byte."""

from __future__ import annotations

import json
from typing import Any

import pytest

from remit.errors import ProtocolError
from remit.types.model import Piece
from remit.wire import wire_for
from wire.streams import events, gathered, read

CALL = {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "send", "arguments": "{}", "status": "completed"}
SAID = {
    "type": "message",
    "id": "msg_1",
    "role": "assistant",
    "status": "completed",
    "content": [{"type": "output_text", "text": "Hello", "annotations": []}],
}


def response(*output: Any, status: str = "completed", **more: Any) -> dict[str, Any]:
    usage = {"input_tokens": 3, "output_tokens": 2}
    return {
        "id": "resp_1",
        "object": "response",
        "status": status,
        "model": "gpt",
        "output": list(output),
        "usage": usage,
        **more,
    }


def last(whole: Any, status: str = "completed") -> dict[str, Any]:
    return {"type": f"response.{status}", "sequence_number": 9, "response": whole}


def added(place: int, item: dict[str, Any]) -> dict[str, Any]:
    return {"type": "response.output_item.added", "output_index": place, "item": item}


def done(place: int, item: dict[str, Any]) -> dict[str, Any]:
    return {"type": "response.output_item.done", "output_index": place, "item": item}


def said(kind: str, text: str) -> dict[str, Any]:
    return {"type": f"response.{kind}.delta", "output_index": 0, "delta": text}


@pytest.mark.parametrize("status", ["completed", "incomplete", "failed"])
def test_the_last_events_response_is_the_body_as_it_was_written(status: str) -> None:
    text = '{ "status":"STATUS", "output": [ ], "n": 1.10, "model" :"\\u0067", "usage":null }'.replace("STATUS", status)
    raw = events({"type": "response.created"}) + f'data: {{"type":"response.{status}", "response" : {text} }}\n\n'
    assert gathered("openai-responses", raw.encode())[0].decode() == text


def test_nothing_else_ends_a_response() -> None:
    gather = wire_for("openai-responses").gather({})
    gather.feed(
        events({"type": "response.in_progress", "response": response(CALL)}, added(0, CALL), done(0, CALL), "[DONE]").encode()
    )
    with pytest.raises(ProtocolError) as caught:
        gather.body()
    assert caught.value.code == "stream.cut"


def test_pieces_are_heard_as_they_come_under_our_names() -> None:
    gather = wire_for("openai-responses").gather({"send": "mail.send"})
    data = [
        {"type": "response.created", "response": response()},
        added(0, {"type": "reasoning"}),
        said("reasoning_summary_text", "h"),
        said("reasoning_text", "m"),
        added(1, {"type": "message"}),
        said("output_text", "Let"),
        said("output_text", ""),
        said("output_text", " me"),
        added(2, {"type": "message"}),
        said("output_text", "More"),
        said("refusal", "no"),
        added(3, CALL),
        said("function_call_arguments", "{}"),
        added(4, {"type": "custom_tool_call", "name": "sql"}),
        added(5, {"type": "web_search_call"}),
    ]
    assert [piece for one in data for piece in gather.feed(events(one).encode())] == [
        Piece("reasoning", "h"),
        Piece("reasoning", "m"),
        Piece("text", "Let"),
        Piece("text", " me"),
        Piece("text", "\nMore"),
        Piece("call", "mail.send"),
        Piece("call", "custom:sql"),
    ]


@pytest.mark.parametrize("output", [[], None])
def test_an_empty_output_is_filled_with_the_items_that_were_sent_before(output: Any) -> None:
    """Proxies, and ChatGPT's own backend."""
    items = [added(0, SAID), added(1, {**CALL, "arguments": ""}), done(1, CALL), done(0, SAID)]
    whole = {**response(), "output": output}
    raw, _ = gathered("openai-responses", events(*items, last(whole)).encode())
    assert json.loads(raw) == response(SAID, CALL)
    assert read("openai-responses", raw).stop == "calls"
    with pytest.raises(ProtocolError):
        gathered("openai-responses", events(*items[:-1], last(whole)).encode())


def test_a_failed_response_is_read_as_one() -> None:
    failed = response(status="failed", error={"code": "server_error", "message": "secret"})
    raw, _ = gathered("openai-responses", events(added(0, CALL), last(failed, "failed")).encode())
    reply = read("openai-responses", raw)
    assert (reply.stop, reply.raw_stop, reply.calls) == ("unknown", "failed:server_error", ())


@pytest.mark.parametrize(
    "error",
    [
        {"type": "error", "code": "rate_limit_exceeded", "message": "slow down", "param": None},
        {"type": "error", "error": {"type": "server_error", "message": "oh"}},
        {"type": "response.failed", "error": {"code": "server_error"}},
    ],
)
def test_an_error_inside_the_stream_is_the_providers_body(error: dict[str, Any]) -> None:
    gather = wire_for("openai-responses").gather({})
    gather.feed(events(added(0, CALL), error, last(response(CALL))).encode())
    assert json.loads(gather.error or b"") == error
    with pytest.raises(ProtocolError):
        gather.body()


@pytest.mark.parametrize("data", [[last(None)], [last("secret")], ["secret{"], [{"type": "response.output_item.added"}]])
def test_what_is_no_stream_of_the_protocol_is_refused(data: list[Any]) -> None:
    gather = wire_for("openai-responses").gather({})
    with pytest.raises(ProtocolError) as caught:
        gather.feed(events(*data, last(response(CALL))).encode())
    assert "secret" not in str(caught.value)
    with pytest.raises(ProtocolError):
        gather.body()
