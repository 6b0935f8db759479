"""Responses replies: what is read, what is mended, and that calls run only where the response is completed."""

from __future__ import annotations

import json
from typing import Any

import pytest

from remit.errors import InputError, ProtocolError
from remit.types.budget import Usage
from remit.types.model import Mend, Reading, Reply, ResultText
from remit.wire import wire_for
from wire.corpus import mint, no_mint

WIRE = wire_for("openai-responses")
REASONING = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "e"}


def ask(call_id: Any = "call_1", arguments: str = '{"to":"x"}', **more: Any) -> dict[str, Any]:
    return {"type": "function_call", "id": "fc_1", "call_id": call_id, "name": "send", "arguments": arguments, **more}


def said(text: str, kind: str = "output_text", **more: Any) -> dict[str, Any]:
    part = {"type": kind, "refusal" if kind == "refusal" else "text": text}
    return {"type": "message", "id": "m", "role": "assistant", "status": "completed", "content": [part], **more}


def body(*output: Any, status: str = "completed", **more: Any) -> bytes:
    usage = {"input_tokens": 1, "output_tokens": 2}
    return json.dumps({"id": "r", "model": "gpt", "status": status, "output": list(output), "usage": usage, **more}).encode()


def read(raw: bytes, *, used: frozenset[str] = frozenset(), minting: Any = no_mint) -> Reply:
    return WIRE.read(raw, Reading(max_tokens=100, names={"send": "mail.send"}, used_ids=used, mint=minting))


def sent(reply: Reply) -> list[Any]:
    return json.loads(f"[{reply.wording}]")


STOPS: list[tuple[str, str | None, str]] = [
    ("completed", None, "calls"),
    ("incomplete", "max_output_tokens", "length"),
    ("incomplete", "content_filter", "filter"),
    ("incomplete", "max_messages", "unknown"),
    ("incomplete", "steered", "unknown"),
    ("in_progress", None, "unknown"),
    ("queued", None, "unknown"),
    ("cancelled", None, "unknown"),
    ("failed", None, "unknown"),
    ("tomorrow", None, "unknown"),
]


@pytest.mark.parametrize(("status", "reason", "stop"), STOPS)
def test_calls_run_only_where_the_response_is_completed(status: str, reason: str | None, stop: str) -> None:
    reply = read(body(REASONING, ask(), status=status, incomplete_details={"reason": reason} if reason else None))
    assert reply.stop == stop
    assert [(call.name, call.arguments) for call in reply.calls] == [("mail.send", '{"to":"x"}')]
    assert sent(reply) == [REASONING, ask()]


def test_a_response_that_the_provider_stopped_for_its_policy_is_filtered() -> None:
    error = {"code": "misalignment_policy_violation", "message": "no"}
    reply = read(body(ask(), status="failed", error=error))
    assert (reply.stop, reply.raw_stop) == ("filter", "failed:misalignment_policy_violation")


def test_a_refusal_with_a_call_beside_it_is_a_refusal() -> None:
    reply = read(body(said("I will not", "refusal"), ask()))
    assert (reply.stop, reply.refusal, reply.text) == ("refusal", "I will not", "")


@pytest.mark.parametrize("kind", ["computer_call", "local_shell_call", "apply_patch_call", "mcp_approval_request"])
def test_an_item_that_waits_for_another_answer_is_no_end(kind: str) -> None:
    waiting = {"type": kind, "id": "x", "call_id": "x"}
    assert read(body(waiting, said("hi"))).stop == "unknown"
    assert read(body(waiting, ask())).stop == "unknown"


def test_each_call_of_a_shell_needs_an_output_of_its_own() -> None:
    ran = [{"type": "shell_call", "id": "a", "call_id": "a"}, {"type": "shell_call_output", "id": "b", "call_id": "a"}]
    assert read(body(*ran, {"type": "shell_call", "id": "c", "call_id": "c"}, said("hi"))).stop == "unknown"
    assert read(body({**ran[0], "call_id": "c"}, ran[1])).stop == "unknown"


@pytest.mark.parametrize(("execution", "stop"), [("server", "end"), ("client", "unknown")])
def test_a_search_for_tools_waits_for_an_answer_where_we_would_run_it(execution: str, stop: str) -> None:
    search = {"type": "tool_search_call", "id": "t", "call_id": "t", "execution": execution}
    found = {"type": "tool_search_output", "id": "o", "call_id": "t", "execution": "server", "tools": []}
    assert read(body(search, *([found] if execution == "server" else []), said("hi"))).stop == stop


def test_what_the_provider_ran_is_kept_and_a_call_of_its_program_is_ours_to_answer() -> None:
    items = [
        {"type": "mcp_list_tools", "id": "1", "server_label": "s", "tools": []},
        {"type": "mcp_call", "id": "2", "name": "f", "arguments": "{}", "output": "x"},
        {"type": "code_interpreter_call", "id": "3", "status": "completed"},
        {"type": "compaction", "id": "4", "encrypted_content": "e"},
        {"type": "program", "id": "5", "call_id": "p", "code": "x", "fingerprint": "f"},
        ask(caller={"type": "program", "caller_id": "p"}),
    ]
    reply = read(body(*items))
    assert (reply.stop, reply.server_ran, [call.caller for call in reply.calls]) == ("calls", True, ["program"])
    assert sent(reply) == items
    assert read(body({"type": "program", "id": "5", "call_id": "p"}, said("hi"))).server_ran
    assert not read(body({"type": "compaction", "id": "4"}, said("hi"))).server_ran


def test_a_shell_that_the_provider_ran_itself_waits_for_nothing() -> None:
    reply = read(body({"type": "shell_call", "call_id": "x"}, {"type": "shell_call_output", "call_id": "x"}, said("hi")))
    assert (reply.stop, reply.text) == ("end", "hi")


def test_output_equal_to_the_cap_is_cut() -> None:
    reply = read(body(ask(), usage={"input_tokens": 1, "output_tokens": 100}))
    assert (reply.stop, reply.calls[0].cut) == ("length", True)


def test_a_call_that_is_not_complete_is_cut_whatever_the_response_says() -> None:
    reply = read(body(ask("a", '{"to', status="incomplete"), ask("b", status="completed")))
    assert [call.cut for call in reply.calls] == [True, False]
    assert sent(reply)[0] == ask("a", "{}", status="incomplete")
    assert reply.mends == (Mend("call.cut", '{"to', "{}", 0),)


@pytest.mark.parametrize(("given", "read_as"), [("", "{}"), ("  ", "{}"), ('{"a":1,', '{"a":1,'), ("null", "null")])
def test_blank_arguments_are_an_empty_object_and_others_are_left_to_be_refused(given: str, read_as: str) -> None:
    reply = read(body(ask(arguments=given)))
    assert reply.calls[0].arguments == read_as
    assert sent(reply) == [ask(arguments=given)]


def test_call_ids_that_cannot_stand_are_replaced_and_item_ids_stay() -> None:
    given = [ask("ok"), ask("ok"), ask(""), ask(None), ask("x" * 65), ask("old")]
    reply = read(body(*given), used=frozenset({"old"}), minting=mint)
    ids = ["ok", *(f"minted_{position}" for position in range(1, 6))]
    assert [call.wire_id for call in reply.calls] == ids
    assert sent(reply) == [ask(one) for one in ids]


def test_a_call_in_a_namespace_or_of_free_text_is_none_of_our_tools() -> None:
    custom = {"type": "custom_tool_call", "id": "c", "call_id": "b", "name": "send", "input": 'free "text"'}
    caller = {"type": "program", "caller_id": "p"}
    reply = read(body(ask("a", namespace="crm"), custom, ask("c", caller=caller)))
    assert [call.name for call in reply.calls] == ["crm:send", "custom:send", "mail.send"]
    assert [call.caller for call in reply.calls] == ["direct", "direct", "program"]
    assert json.loads(reply.calls[1].arguments) == 'free "text"'
    answers = json.loads(f"[{WIRE.results([ResultText(wire_id=c.wire_id, name=c.name, text='no') for c in reply.calls])}]")
    assert [one["type"] for one in answers] == ["function_call_output", "custom_tool_call_output", "function_call_output"]


def test_commentary_is_not_part_of_a_final_answer() -> None:
    both = [said("looking", phase="commentary"), said("4", phase="final_answer")]
    assert read(body(*both)).text == "4"
    assert read(body(said("a"), said("b"))).text == "a\nb"


@pytest.mark.parametrize("output", [[], [REASONING]])
def test_a_reply_that_says_nothing_has_no_wording(output: list[Any]) -> None:
    assert read(body(*output)).wording == ""


def test_usage_has_its_cached_and_reasoning_parts() -> None:
    usage = {
        "input_tokens": 50,
        "input_tokens_details": {"cached_tokens": 40, "cache_write_tokens": 5},
        "output_tokens": 9,
        "output_tokens_details": {"reasoning_tokens": 4},
    }
    expected = Usage(input_tokens=50, cache_read_tokens=40, cache_write_tokens=5, output_tokens=9, reasoning_tokens=4)
    assert read(body(said("x"), usage=usage)).usage == expected


@pytest.mark.parametrize(
    "raw",
    [
        b'{"error":{"message":"secret"}}',
        b'{"status":"completed"}',
        b'{"status":"completed","output":"secret"}',
        b'{"status":"completed","output":[5]}',
        b'{"status":"completed","output":[{"type":"function_call","call_id":"a","name":"f","arguments":{"secret":1}}]}',
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
