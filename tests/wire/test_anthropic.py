"""Anthropic replies: what is read, what is mended, and that nothing runs without the explicit stop."""

from __future__ import annotations

import json
from typing import Any

import pytest

from remit.errors import InputError, ProtocolError
from remit.types.budget import Usage
from remit.types.model import Mend, Reading, Reply, ResultText
from remit.wire import wire_for
from wire.corpus import mint, no_mint

WIRE = wire_for("anthropic")


def use(wire_id: Any = "toolu_1", **more: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": wire_id, "name": "send", "input": {"to": "x"}, **more}


def text(said: str) -> dict[str, Any]:
    return {"type": "text", "text": said}


def body(*content: Any, stop: str | None = "tool_use", **more: Any) -> bytes:
    whole = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "claude",
        "content": list(content),
        "stop_reason": stop,
        "usage": {"input_tokens": 1, "output_tokens": 2},
    }
    return json.dumps({**whole, **more}).encode()


def read(raw: bytes, *, max_tokens: int = 100, used: frozenset[str] = frozenset(), minting: Any = no_mint) -> Reply:
    return WIRE.read(raw, Reading(max_tokens=max_tokens, names={"send": "mail.send"}, used_ids=used, mint=minting))


def sent(reply: Reply) -> list[Any]:
    return json.loads(reply.wording)["content"]


STOPS = {
    "tool_use": "calls",
    "end_turn": "unknown",
    "stop_sequence": "unknown",
    "pause_turn": "unknown",
    "max_tokens": "length",
    "model_context_window_exceeded": "context",
    "refusal": "refusal",
    "compaction": "compaction",
    "something_new": "unknown",
    None: "unknown",
}


@pytest.mark.parametrize(("raw", "stop"), STOPS.items())
def test_calls_are_listed_whatever_the_stop_and_run_only_on_tool_use(raw: str | None, stop: str) -> None:
    reply = read(body(use(), stop=raw))
    assert reply.stop == stop
    assert reply.raw_stop == (raw or "")
    assert [call.name for call in reply.calls] == ["mail.send"]


@pytest.mark.parametrize(
    ("raw", "stop"), [("end_turn", "end"), ("stop_sequence", "end"), ("pause_turn", "pause"), ("tool_use", "unknown")]
)
def test_a_reply_without_calls_ends_pauses_or_contradicts_itself(raw: str, stop: str) -> None:
    assert read(body(text("hi"), stop=raw)).stop == stop


def test_output_equal_to_the_cap_is_cut() -> None:
    usage = {"input_tokens": 1, "output_tokens": 100}
    reply = read(body(use(), usage=usage))
    assert (reply.stop, reply.calls[0].cut, reply.mends) == ("length", True, ())
    assert read(body(text("hi"), stop="end_turn", usage=usage)).stop == "length"
    assert read(body(use(), usage={**usage, "output_tokens": 99})).stop == "calls"


def test_only_the_last_block_is_cut_by_the_length() -> None:
    reply = read(body(use("a"), use("b"), stop="max_tokens"))
    assert [call.cut for call in reply.calls] == [False, True]
    assert not read(body(use("a"), text("more"), stop="max_tokens")).calls[0].cut


def test_a_cut_call_whose_input_is_no_object_is_mended_to_an_empty_one() -> None:
    reply = read(body(use(input='{"to":"al'), stop="max_tokens"))
    assert reply.calls[0].arguments == '{"to":"al'
    assert sent(reply) == [use(input={})]
    assert reply.mends == (Mend("call.cut", '{"to":"al', "{}", 0),)


@pytest.mark.parametrize(
    ("given", "text", "back"),
    [
        ('{"to":"al', '{"to":"al', {}),
        ("3", "3", {}),
        ('{"n": 1}', '{"n": 1}', {"n": 1}),
        ("", "{}", {}),
        ([], "[]", {}),
        (None, "null", {}),
    ],
)
def test_an_input_that_is_no_object_is_left_to_be_refused_and_goes_back_as_one(given: Any, text: str, back: Any) -> None:
    reply = read(body(use(input=given)))
    assert (reply.stop, reply.calls[0].arguments, reply.calls[0].cut) == ("calls", text, False)
    assert sent(reply) == [use(input=back)]


def test_a_turn_that_the_provider_paused_goes_on_unchanged() -> None:
    asked = {"type": "server_tool_use", "id": "srv_1", "name": "code_execution", "input": {"code": "1"}}
    reply = read(body(text("Let me"), asked, stop="pause_turn"))
    assert (reply.stop, reply.calls, reply.unresolved, reply.server_ran) == ("pause", (), ("srv_1",), True)
    assert sent(reply) == [text("Let me"), asked]
    compaction = {"type": "compaction", "content": "short", "encrypted_content": "e"}
    reply = read(body(compaction, stop="compaction"))
    assert (reply.stop, sent(reply), reply.server_ran) == ("compaction", [compaction], False)


def test_a_turn_with_our_calls_and_the_providers_names_what_waits() -> None:
    asked = {"type": "server_tool_use", "id": "srv_1", "name": "web_fetch", "input": {}}
    running = {"type": "server_tool_use", "id": "srv_2", "name": "code_execution", "input": {}}
    reply = read(body(asked, running, use(caller={"type": "code_execution_20260120", "tool_id": "srv_2"}), use("b")))
    assert (reply.stop, reply.unresolved) == ("calls", ("srv_1", "srv_2"))
    assert [call.caller for call in reply.calls] == ["code_execution_20260120", "direct"]


def test_calls_before_a_change_of_model_in_mid_reply_count_as_cut() -> None:
    reply = read(body(use("a"), {"type": "fallback", "from": {}, "to": {}}, use("b")))
    assert [call.cut for call in reply.calls] == [True, False]


def test_arguments_are_the_text_that_was_written() -> None:
    raw = body(use()).replace(b'{"to": "x"}', b'{ "n": 12345678901234567890.10, "n":1e400 ,"n": 0.1 }')
    reply = read(raw)
    assert reply.calls[0].arguments == '{ "n": 12345678901234567890.10, "n":1e400 ,"n": 0.1 }'
    assert reply.calls[0].arguments in reply.wording


@pytest.mark.parametrize(("given", "read_as"), [('""', "{}"), ('"  "', "{}"), ("null", "null"), ("[]", "[]"), ("3", "3")])
def test_blank_arguments_are_an_empty_object_and_others_are_left_to_be_refused(given: str, read_as: str) -> None:
    raw = body(use()).replace(b'{"to": "x"}', given.encode())
    assert read(raw).calls[0].arguments == read_as


def test_ids_that_cannot_stand_are_replaced_where_they_stand() -> None:
    given = [use("ok"), use("ok"), use(""), use(None), use("a b"), use("old"), use(7), use("ok_id\n")]
    missing = use()
    del missing["id"]
    reply = read(body(*given, missing), used=frozenset({"old"}), minting=mint)
    ids = [call.wire_id for call in reply.calls]
    assert ids == ["ok", *(f"minted_{position}" for position in range(1, 9))]
    assert [block["id"] for block in sent(reply)] == ids
    kinds = ["duplicate", "missing", "missing", "unfit", "duplicate", "unfit", "unfit", "missing"]
    assert [mend.kind for mend in reply.mends] == [f"id.{kind}" for kind in kinds]
    assert [{**block, "id": ""} for block in sent(reply)] == [{**block, "id": ""} for block in [*given, missing]]


def test_a_minted_id_is_never_one_that_the_reply_has() -> None:
    hosted = {"type": "server_tool_use", "id": "minted_0_1", "name": "web_search", "input": {}}
    reply = read(body(use(""), use("minted_0"), hosted), minting=mint)
    assert [call.wire_id for call in reply.calls] == ["minted_0_2", "minted_0"]


def test_blocks_of_text_that_say_nothing_are_cut_out_and_no_other_byte_changes() -> None:
    raw = (
        b'[ {"type":"text","text":""} , {"type":"text","text":" \\n"}, {"type":"tool_use","id":"a","name":"send","input":{}} ,'
    )
    raw += b' {"type":"text","text":""}, {"type":"new","x":"\\u00e9"} ]'
    reply = read(body().replace(b"[]", raw))
    kept = '{"type":"tool_use","id":"a","name":"send","input":{}}, {"type":"new","x":"\\u00e9"} ]'
    assert reply.wording == '{"role":"assistant","content":[ ' + kept + "}"
    assert [(mend.kind, mend.position) for mend in reply.mends] == [("text.empty", 0), ("text.empty", 1), ("text.empty", 3)]


@pytest.mark.parametrize("content", [[], [text("")], [text(" "), text("")]])
def test_an_empty_reply_has_no_wording(content: list[Any]) -> None:
    assert read(body(*content, stop="end_turn")).wording == ""


def test_thinking_server_blocks_and_unknown_blocks_are_kept_and_are_no_text() -> None:
    blocks = [
        {"type": "thinking", "thinking": "hm", "signature": "s"},
        {"type": "redacted_thinking", "data": "d"},
        text("Let me look."),
        {"type": "server_tool_use", "id": "srv_1", "name": "web_search", "input": {}},
        {"type": "web_search_tool_result", "tool_use_id": "srv_1", "content": []},
        {"type": "mcp_tool_use", "id": "srv_2", "name": "x", "server_name": "s", "input": {}},
        {"type": "compaction", "content": None, "encrypted_content": "e"},
        {"type": "tomorrow", "x": 1},
        text("It is"),
        text(" 4."),
        use(caller={"type": "code_execution_20260120", "tool_id": "srv_1"}),
    ]
    reply = read(body(*blocks))
    assert sent(reply) == blocks
    assert reply.text == "Let me look.\nIt is 4."
    assert reply.unresolved == ("srv_2",)
    assert reply.calls[0].caller == "code_execution_20260120"


def test_a_call_of_a_toolset_is_none_of_our_tools_and_its_answer_names_the_toolset() -> None:
    reply = read(body(use(toolset_name="computer")))
    assert reply.calls[0].name == "computer:send"
    (answer,) = json.loads(WIRE.results([ResultText(wire_id="toolu_1", name="computer:send", text="no")]))["content"]
    assert answer["toolset_name"] == "computer"
    (plain,) = json.loads(WIRE.results([ResultText(wire_id="toolu_1", name="mail.send", text="no")]))["content"]
    assert "toolset_name" not in plain


def test_a_refusal_brings_its_explanation() -> None:
    details = {"type": "refusal", "category": "cyber", "explanation": "not this"}
    assert read(body(text("I"), stop="refusal", stop_details=details)).refusal == "not this"
    assert read(body(text("I"), stop="refusal", stop_details={**details, "explanation": None})).refusal == "cyber"
    assert read(body(text("I"), stop="refusal", stop_details=None)).refusal is None


def test_usage_is_all_input_with_its_cached_parts_and_compactions_added() -> None:
    usage = {
        "input_tokens": 1,
        "cache_creation_input_tokens": 10,
        "cache_read_input_tokens": 100,
        "output_tokens": 7,
        "output_tokens_details": {"thinking_tokens": 3},
        "iterations": [
            {"type": "message", "input_tokens": 1, "output_tokens": 7},
            {"type": "compaction", "input_tokens": 1000, "output_tokens": 20},
        ],
    }
    expected = Usage(input_tokens=1111, cache_read_tokens=100, cache_write_tokens=10, output_tokens=27, reasoning_tokens=3)
    assert read(body(text("hi"), stop="end_turn", usage=usage)).usage == expected
    assert read(body(text("hi"), stop="end_turn", usage=None)).usage == Usage(reported=False)


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"<html>busy</html>",
        b'{"type":"error","error":{"type":"overloaded_error","message":"secret"}}',
        b'{"type":"message","content":"secret"}',
        b'{"type":"message","content":["secret"]}',
        b'{"type":"message","content":[{"type":"text","text":5}]}',
        b'{"type":"message","content":[{"type":"tool_use","id":"a","name":["secret"],"input":{}}]}',
        b'{"type":"message","content":[{"type":"tool_use","id":"a","name":"send","input":{"secret"}}]}',
    ],
)
def test_what_is_no_reply_is_refused_without_its_content(raw: bytes) -> None:
    with pytest.raises(ProtocolError) as caught:
        read(raw)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("stop", ["calls", "length", "context", "refusal", "compaction"])
def test_a_written_reply_reads_as_it_was_meant(stop: Any) -> None:
    usage = Usage(input_tokens=12, cache_read_tokens=3, cache_write_tokens=4, output_tokens=5, reasoning_tokens=1)
    reply = read(WIRE.reply("hello", [("a", "send", '{"to":1}')], stop=stop, usage=usage))
    assert (reply.stop, reply.text, reply.usage) == (stop, "hello", usage)
    assert [(call.wire_id, call.name, call.arguments) for call in reply.calls] == [("a", "mail.send", '{"to":1}')]
    use = '{"type":"tool_use","id":"a","name":"send","input":{"to":1}}'
    assert reply.wording == f'{{"role":"assistant","content":[{{"type":"text","text":"hello"}},{use}]}}'


def test_a_stop_that_the_protocol_has_not_cannot_be_written() -> None:
    with pytest.raises(InputError):
        WIRE.reply("x", stop="filter")


def thought(said: str) -> dict[str, Any]:
    return {"type": "thinking", "thinking": said, "signature": ""}


@pytest.mark.parametrize(
    ("content", "kept"),
    [
        ([thought("a")], None),
        ([thought("a"), text(" ")], None),
        ([text("so"), thought("a"), {"type": "redacted_thinking", "data": "b"}], [text("so")]),
        ([thought("a"), use(), thought("b"), text("")], [thought("a"), use()]),
        ([thought("a"), text("so")], [thought("a"), text("so")]),
    ],
)
def test_a_thought_that_the_cap_ended_is_left_out_of_what_goes_back(content: list[Any], kept: list[Any] | None) -> None:
    reply = read(body(*content, stop="max_tokens"))
    assert (sent(reply) if reply.wording else None) == kept
    assert read(WIRE.restore(reply)) == reply
    assert [mend.kind for mend in reply.mends if mend.kind == "thought.last"] == ["thought.last"] * sum(
        one["type"].endswith("thinking") and one not in (kept or []) for one in content
    )


def test_a_thought_from_which_the_provider_itself_goes_on_is_sent_back() -> None:
    assert sent(read(body(thought("a"), stop="pause_turn"))) == [thought("a")]
