"""Anthropic streams: blocks are put together as they were written, and nothing is guessed."""

from __future__ import annotations

import json
from typing import Any

import pytest

from remit.errors import ProtocolError
from remit.types.model import Piece, Reply
from remit.wire import wire_for
from wire.streams import events, gathered, read

START = {
    "type": "message_start",
    "message": {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "claude",
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": {"input_tokens": 10, "cache_read_input_tokens": 5, "output_tokens": 1, "service_tier": "standard"},
    },
}
STOP = {"type": "message_stop"}


def begin(index: int, **block: Any) -> dict[str, Any]:
    return {"type": "content_block_start", "index": index, "content_block": block}


def add(index: int, kind: str, **delta: Any) -> dict[str, Any]:
    return {"type": "content_block_delta", "index": index, "delta": {"type": f"{kind}_delta", **delta}}


def end(index: int) -> dict[str, Any]:
    return {"type": "content_block_stop", "index": index}


def change(stop: str | None = "tool_use", **more: Any) -> dict[str, Any]:
    delta = {"stop_reason": stop, "stop_sequence": None}
    return {"type": "message_delta", "delta": delta, "usage": {"output_tokens": 20}, **more}


def block(index: int, start: dict[str, Any], *deltas: dict[str, Any]) -> list[dict[str, Any]]:
    return [begin(index, **start), *deltas, end(index)]


def use(index: int, *parts: str, **more: Any) -> list[dict[str, Any]]:
    start = {"type": "tool_use", "id": f"toolu_{index}", "name": "send", "input": {}, **more}
    return block(index, start, *(add(index, "input_json", partial_json=part) for part in parts))


def body(*given: Any, stop: str | None = "tool_use") -> dict[str, Any]:
    raw, _ = gathered("anthropic", events(START, *given, change(stop), STOP).encode())
    return json.loads(raw)


def reply(*given: Any, stop: str | None = "tool_use") -> Reply:
    raw, _ = gathered("anthropic", events(START, *given, change(stop), STOP).encode())
    return read("anthropic", raw)


def test_a_message_is_put_together_with_its_latest_counts() -> None:
    given = block(0, {"type": "text", "text": ""}, add(0, "text", text="Hel"), {"type": "ping"}, add(0, "text", text="lo"))
    whole = body(*given, stop="end_turn")
    assert whole["content"] == [{"type": "text", "text": "Hello"}]
    assert (whole["stop_reason"], whole["id"]) == ("end_turn", "msg_1")
    assert whole["usage"] == {
        "input_tokens": 10,
        "cache_read_input_tokens": 5,
        "output_tokens": 20,
        "service_tier": "standard",
    }


def test_later_counts_are_totals_and_null_ones_say_nothing() -> None:
    usage = {"input_tokens": 30, "cache_read_input_tokens": None, "output_tokens": 9}
    raw, _ = gathered("anthropic", events(START, change("end_turn", usage=usage, context_management={"a": 1}), STOP).encode())
    whole = json.loads(raw)
    assert whole["usage"]["input_tokens"] == 30
    assert whole["usage"]["cache_read_input_tokens"] == 5
    assert whole["context_management"] == {"a": 1}


@pytest.mark.parametrize(
    ("parts", "arguments"),
    [
        (
            ["", '{"to":', ' "x", "n": 1.10, "big": 12345678901234567890123}'],
            '{"to": "x", "n": 1.10, "big": 12345678901234567890123}',
        ),
        ([], "{}"),
        ([""], "{}"),
        ([" \n"], "{}"),
        (['{"to":"\\ud83d', '\\ude00"}'], '{"to":"\\ud83d\\ude00"}'),
    ],
)
def test_arguments_are_their_fragments_joined(parts: list[str], arguments: str) -> None:
    answer = reply(*use(0, *parts))
    assert [call.arguments for call in answer.calls] == [arguments]
    assert answer.stop == "calls"
    assert answer.mends == ()


@pytest.mark.parametrize("text", ['{"to":"al', '{"a":1}{"b":2}', "[]", "3", '{"a":1,"a":2}'])
def test_arguments_that_are_no_object_are_answered_as_such_and_go_back_as_an_empty_one(text: str) -> None:
    answer = reply(*use(0, text[:3], text[3:]))
    assert answer.calls[0].arguments == text
    assert json.loads(answer.wording)["content"][0]["input"] == {}
    assert [mend.kind for mend in answer.mends] == ["call.cut"]


def test_an_input_that_came_whole_is_kept() -> None:
    answer = reply(begin(0, type="tool_use", id="a", name="click", input={"x": 1}, toolset_name="computer"), end(0))
    assert (answer.calls[0].name, answer.calls[0].arguments) == ("computer:click", '{"x": 1}')


def test_fragments_of_two_blocks_may_alternate() -> None:
    calls = [begin(index, type="tool_use", id=f"t{index}", name="send", input={}) for index in (0, 1)]
    parts = [add(index, "input_json", partial_json=part) for part in ('{"n"', ":", "1}") for index in (0, 1)]
    answer = reply(*calls, *parts, end(1), end(0))
    assert [(call.wire_id, call.arguments) for call in answer.calls] == [("t0", '{"n":1}'), ("t1", '{"n":1}')]


def test_every_kind_of_block_comes_back_whole() -> None:
    found = {"type": "web_search_tool_result", "tool_use_id": "srv", "content": [{"url": "u", "score": 0.10}]}
    unknown = {"type": "tomorrow", "x": [1]}
    given = [
        *block(0, {"type": "thinking", "thinking": ""}, add(0, "thinking", thinking="h"), add(0, "thinking", thinking="m")),
        *block(1, {"type": "redacted_thinking", "data": "opaque"}),
        *block(2, {"type": "server_tool_use", "id": "srv", "name": "web_search", "input": {}}),
        *block(3, found),
        *block(4, {"type": "compaction", "content": None}, add(4, "compaction", content="short", encrypted_content="e")),
        *block(5, unknown, add(5, "tomorrow", y=2)),
        *block(6, {"type": "text", "text": "a", "citations": None}, add(6, "citations", citation={"n": 1})),
    ]
    given.insert(3, add(0, "signature", signature="sig=="))
    given.insert(given.index(begin(2, type="server_tool_use", id="srv", name="web_search", input={})) + 1,
                 add(2, "input_json", partial_json='{"query":"q"}'))  # fmt: skip
    assert body({"type": "soon", "index": 9}, *given, stop="end_turn")["content"] == [
        {"type": "thinking", "thinking": "hm", "signature": "sig=="},
        {"type": "redacted_thinking", "data": "opaque"},
        {"type": "server_tool_use", "id": "srv", "name": "web_search", "input": {"query": "q"}},
        found,
        {"type": "compaction", "content": "short", "encrypted_content": "e"},
        unknown,
        {"type": "text", "text": "a", "citations": [{"n": 1}]},
    ]


def test_a_character_may_be_split_between_two_deltas_and_a_lone_half_is_kept() -> None:
    parts = [add(0, "text", text=text) for text in ("a\ud83d", "\ude00", "\ud800")]
    raw, heard = gathered(
        "anthropic", events(START, *block(0, {"type": "text", "text": ""}, *parts), change("end_turn"), STOP).encode()
    )
    assert json.loads(raw)["content"][0]["text"] == "a\U0001f600\ud800"
    assert "".join(piece.text for piece in heard).encode().decode() == "a\\ud83d\\ude00\\ud800"


def test_pieces_are_heard_as_they_come_under_our_names() -> None:
    given = [
        *block(0, {"type": "thinking", "thinking": ""}, add(0, "thinking", thinking="hm")),
        *block(
            1, {"type": "text", "text": ""}, add(1, "text", text="Let"), add(1, "text", text=""), add(1, "text", text=" me")
        ),
        *use(2, "{}"),
        *block(3, {"type": "text", "text": ""}, add(3, "text", text="More")),
    ]
    gather = wire_for("anthropic").gather({"send": "mail.send"})
    heard = [piece for data in (START, *given, change(), STOP) for piece in gather.feed(events(data).encode())]
    assert heard == [
        Piece("reasoning", "hm"),
        Piece("text", "Let"),
        Piece("text", " me"),
        Piece("call", "mail.send"),
        Piece("text", "\nMore"),
    ]
    assert read("anthropic", gather.body()).text == "Let me\nMore"


BROKEN = {
    "no start": [change(), STOP],
    "begins twice": [START, START, STOP],
    "a block out of place": [START, begin(1, type="text", text=""), end(1), change(), STOP],
    "a block twice": [START, *use(0, "{}"), *use(0, "{}"), change(), STOP],
    "a delta before its block": [START, add(0, "text", text="x"), change(), STOP],
    "a delta after its block": [START, *use(0), add(0, "input_json", partial_json="{}"), change(), STOP],
    "a block without its end": [START, begin(0, type="text", text="x"), change(), STOP],
    "an end without a block": [START, end(0), change(), STOP],
    "arguments in a text": [START, begin(0, type="text", text=""), add(0, "input_json", partial_json="{"), end(0), STOP],
    "text in a call": [START, begin(0, type="tool_use", id="a", name="send"), add(0, "text", text="x"), end(0), STOP],
    "no index": [START, {"type": "content_block_start", "content_block": {"type": "text"}}, STOP],
    "no text": [START, begin(0, type="text", text=""), add(0, "text"), end(0), change(), STOP],
    "no JSON": [START, "secret{", STOP],
}


@pytest.mark.parametrize("what", BROKEN)
def test_a_stream_out_of_order_is_refused_and_gives_no_body(what: str) -> None:
    gather = wire_for("anthropic").gather({})
    with pytest.raises(ProtocolError) as caught:
        gather.feed(events(*BROKEN[what]).encode())
    assert "secret" not in str(caught.value)
    with pytest.raises(ProtocolError):
        gather.body()


def test_an_error_inside_the_stream_is_the_providers_body_and_there_is_no_reply() -> None:
    error = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
    gather = wire_for("anthropic").gather({})
    gather.feed(events(START, *use(0, "{}"), error, change(), STOP).encode())
    assert json.loads(gather.error or b"") == error
    with pytest.raises(ProtocolError) as caught:
        gather.body()
    assert caught.value.code == "stream.cut"


def test_what_follows_the_end_is_not_read() -> None:
    raw = events(START, *use(0, "{}"), change(), STOP).encode()
    assert gathered("anthropic", raw, b"data: {nonsense\n\n") == gathered("anthropic", raw)


@pytest.mark.parametrize("spelling", [None, 2])
def test_a_server_that_answers_whole_is_read_whole(spelling: int | None) -> None:
    answer = json.dumps(json.loads(wire_for("anthropic").reply("hello")), indent=spelling).encode()
    assert gathered("anthropic", b" \n", answer[:9], answer[9:], b"\n")[0].strip() == answer
    with pytest.raises(ProtocolError):
        gathered("anthropic", answer[:-1])
    gather = wire_for("anthropic").gather({})
    gather.feed(b'{"type":"error","error":{"type":"overloaded_error"}}')
    assert gather.error is not None
    with pytest.raises(ProtocolError):
        gather.body()


def test_an_object_in_very_many_pieces_is_not_read_anew_for_each() -> None:
    """If it were, this would take minutes."""
    gather = wire_for("anthropic").gather({})
    gather.feed(b'{"content":[{}')
    for _ in range(100_000):
        gather.feed(b",{}")
        assert not gather.ended
    gather.feed(b"]}")
    assert gather.error is None
    assert len(gather.body()) == 300_016
