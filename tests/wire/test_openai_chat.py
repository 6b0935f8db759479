"""Chat Completions replies: what is read, what is mended, and that nothing runs on a doubtful stop."""

from __future__ import annotations

import json
from typing import Any

import pytest

from remit.errors import InputError, ProtocolError
from remit.types.budget import Usage
from remit.types.model import Mend, Reading, Reply
from remit.wire import wire_for
from wire.corpus import mint, no_mint

WIRE = wire_for("openai-chat")


def ask(wire_id: Any = "call_1", arguments: Any = '{"to":"x"}', name: str = "send") -> dict[str, Any]:
    return {"id": wire_id, "type": "function", "function": {"name": name, "arguments": arguments}}


def body(*calls: Any, finish: str | None = "tool_calls", usage: Any = None, **message: Any) -> bytes:
    said = {"role": "assistant", "content": None, "refusal": None, "annotations": [], **message}
    if calls:
        said["tool_calls"] = list(calls)
    choice = {"index": 0, "message": said, "finish_reason": finish}
    spent = usage or {"prompt_tokens": 1, "completion_tokens": 2}
    return json.dumps({"id": "c1", "model": "gpt", "choices": [choice], "usage": spent}).encode()


def read(raw: bytes, *, used: frozenset[str] = frozenset(), minting: Any = no_mint) -> Reply:
    return WIRE.read(raw, Reading(max_tokens=100, names={"send": "mail.send"}, used_ids=used, mint=minting))


STOPS = {
    "tool_calls": "calls",
    "stop": "calls",
    "length": "length",
    "content_filter": "filter",
    "function_call": "unknown",
    "eos": "unknown",
    "": "unknown",
    None: "unknown",
}


@pytest.mark.parametrize(("raw", "stop"), STOPS.items())
def test_calls_run_only_where_the_message_ended_whole(raw: str | None, stop: str) -> None:
    reply = read(body(ask(), finish=raw))
    assert reply.stop == stop
    assert [(call.name, call.arguments) for call in reply.calls] == [("mail.send", '{"to":"x"}')]


def test_without_calls_a_stop_is_an_end_and_a_stop_to_call_is_a_contradiction() -> None:
    assert read(body(content="hi", finish="stop")).stop == "end"
    assert read(body(content="hi", finish="tool_calls")).stop == "unknown"


def test_the_legacy_call_has_no_answer_and_runs_nothing() -> None:
    reply = read(body(finish="stop", function_call={"name": "send", "arguments": "{}"}))
    assert (reply.stop, reply.calls) == ("unknown", ())


def test_a_refusal_with_a_call_in_it_is_a_refusal() -> None:
    reply = read(body(ask(), refusal="I will not", finish="tool_calls"))
    assert (reply.stop, reply.refusal, len(reply.calls)) == ("refusal", "I will not", 1)


def test_output_equal_to_the_cap_is_cut() -> None:
    reply = read(body(ask(), usage={"prompt_tokens": 1, "completion_tokens": 100}))
    assert (reply.stop, reply.calls[0].cut) == ("length", True)


def test_only_the_last_call_is_cut_and_only_its_broken_arguments_change() -> None:
    reply = read(body(ask("a"), ask("b", '{"to":"al'), finish="length"))
    assert [call.cut for call in reply.calls] == [False, True]
    assert reply.calls[1].arguments == '{"to":"al'
    sent = json.loads(reply.wording)["tool_calls"]
    assert sent == [ask("a"), ask("b", "{}")]
    assert reply.mends == (Mend("call.cut", '{"to":"al', "{}", 1),)
    assert read(body(ask("a"), ask("b"), finish="length")).mends == ()


@pytest.mark.parametrize(
    ("given", "read_as"),
    [
        ("", "{}"),
        (" \n", "{}"),
        (None, "{}"),
        ('{"a":1,', '{"a":1,'),
        ('{"a":1}{"b":2}', '{"a":1}{"b":2}'),
        ({"a": 1}, '{"a": 1}'),
    ],
)
def test_arguments_are_the_models_text_and_blank_ones_an_empty_object(given: Any, read_as: str) -> None:
    reply = read(body(ask(arguments=given)))
    assert reply.calls[0].arguments == read_as
    assert json.loads(reply.wording)["tool_calls"][0] == ask(arguments=given)


def test_a_lone_surrogate_in_arguments_is_kept_as_the_escape_that_means_it() -> None:
    reply = read(body(ask(arguments='{"to":"\ud800"}')))
    assert reply.calls[0].arguments == '{"to":"\\ud800"}'
    assert json.loads(reply.calls[0].arguments) == {"to": "\ud800"}


def test_ids_that_cannot_stand_are_replaced_where_they_stand() -> None:
    given = [ask("functions.send:0"), ask("functions.send:0"), ask(""), ask(None), ask("a b"), ask("old")]
    reply = read(body(*given), used=frozenset({"old"}), minting=mint)
    assert [call.wire_id for call in reply.calls] == ["functions.send:0", *(f"minted_{n}" for n in range(1, 6))]
    sent = json.loads(reply.wording)
    assert [one["id"] for one in sent["tool_calls"]] == [call.wire_id for call in reply.calls]
    assert sent["annotations"] == []
    assert [mend.kind for mend in reply.mends] == [
        "id.duplicate", "id.missing", "id.missing", "id.unfit", "id.duplicate",
    ]  # fmt: skip


def test_a_call_of_another_kind_is_listed_under_a_name_that_no_tool_has() -> None:
    reply = read(body({"id": "a", "type": "custom", "custom": {"name": "send", "input": "free text"}}, {"id": "b"}))
    assert [(call.name, call.arguments) for call in reply.calls] == [("custom:send", '"free text"'), ("unknown:", "{}")]


def test_what_a_compatible_server_adds_goes_back() -> None:
    reply = read(body(content="4", reasoning_content="2 and 2", finish="stop"))
    assert reply.text == "4"
    assert json.loads(reply.wording)["reasoning_content"] == "2 and 2"


@pytest.mark.parametrize("content", [None, ""])
def test_an_empty_reply_has_no_wording(content: str | None) -> None:
    assert read(body(content=content, finish="stop")).wording == ""


def test_content_in_parts_is_joined() -> None:
    parts = [{"type": "thinking", "thinking": "x"}, {"type": "text", "text": "a"}, {"type": "text", "text": "b"}]
    assert read(body(content=parts, finish="stop")).text == "ab"


def test_usage_has_its_cached_and_reasoning_parts() -> None:
    usage = {
        "prompt_tokens": 50,
        "completion_tokens": 9,
        "prompt_tokens_details": {"cached_tokens": 40, "cache_write_tokens": 5},
        "completion_tokens_details": {"reasoning_tokens": 4},
    }
    expected = Usage(input_tokens=50, cache_read_tokens=40, cache_write_tokens=5, output_tokens=9, reasoning_tokens=4)
    assert read(body(content="x", finish="stop", usage=usage)).usage == expected


@pytest.mark.parametrize(
    "raw",
    [
        b'{"error":{"message":"secret"}}',
        b'{"choices":[]}',
        b'{"choices":[{"message":null}]}',
        b'{"choices":[{"message":{"role":"user","content":"secret"},"finish_reason":"stop"}]}',
        b'{"choices":[{"message":{"role":"assistant"}},{"message":{"role":"assistant"}}]}',
        b'{"choices":[{"message":{"role":"assistant","tool_calls":"secret"},"finish_reason":"stop"}]}',
        b'{"choices":[{"message":{"role":"assistant","content":7},"finish_reason":"stop"}]}',
    ],
)
def test_what_is_no_reply_is_refused_without_its_content(raw: bytes) -> None:
    with pytest.raises(ProtocolError) as caught:
        read(raw)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("stop", ["calls", "length", "filter", "refusal", "unknown"])
def test_a_written_reply_reads_as_it_was_meant(stop: Any) -> None:
    usage = Usage(input_tokens=12, cache_read_tokens=3, cache_write_tokens=4, output_tokens=5, reasoning_tokens=1)
    reply = read(WIRE.reply("hello", [("a", "send", '{"to":1}')], stop=stop, usage=usage))
    assert (reply.stop, reply.usage) == (stop, usage)
    assert (reply.refusal if stop == "refusal" else reply.text) == "hello"
    assert [(call.wire_id, call.name, call.arguments) for call in reply.calls] == [("a", "mail.send", '{"to":1}')]


def test_a_stop_that_the_protocol_has_not_cannot_be_written() -> None:
    with pytest.raises(InputError):
        WIRE.reply("x", stop="pause")
