"""What Ollama, vLLM, llama.cpp and their kind really answer, read for what it says and sent back so that all take it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from remit.errors import ProtocolError
from remit.types.budget import Usage
from remit.types.model import Reading, Reply
from remit.wire import wire_for
from wire.corpus import mint

WIRE = wire_for("openai-chat")


def answer(message: dict[str, Any], finish: Any = "stop", **more: Any) -> bytes:
    choice = {"index": 0, "message": message, "finish_reason": finish}
    usage = {"prompt_tokens": 5, "completion_tokens": 9, "total_tokens": 14}
    whole = {"id": "c", "object": "chat.completion", "created": 1, "model": "qwen3", "choices": [choice], "usage": usage}
    return json.dumps({**whole, **more}).encode()


def call(**more: Any) -> dict[str, Any]:
    return {"id": "call_1", "type": "function", "function": {"name": "send", "arguments": '{"to":"x"}'}, **more}


def read(raw: bytes, cap: int = 100) -> Reply:
    return WIRE.read(raw, Reading(max_tokens=cap, names={"send": "mail.send"}, mint=mint))


def sent(reply: Reply) -> Any:
    return json.loads(reply.wording)


def test_ollama() -> None:
    message = {"role": "assistant", "content": "", "reasoning": "hm", "tool_calls": [call(id="", index=0)]}
    reply = read(answer(message, "tool_calls", system_fingerprint="fp_ollama"))
    assert (reply.stop, [one.wire_id for one in reply.calls]) == ("calls", ["minted_0"])
    assert sent(reply) == {**message, "tool_calls": [call(id="minted_0", index=0)]}


def test_vllm() -> None:
    message = {
        "role": "assistant",
        "content": "4",
        "refusal": None,
        "annotations": None,
        "audio": None,
        "function_call": None,
        "tool_calls": [],
        "reasoning_content": None,
    }
    raw = answer(message, logprobs=None, prompt_logprobs=None, kv_transfer_params=None, service_tier=None)
    reply = read(raw)
    assert (reply.stop, reply.text, reply.calls) == ("end", "4", ())
    assert sent(reply) == {key: value for key, value in message.items() if key != "tool_calls"}


def test_vllm_says_stop_with_a_named_tool_and_tool_calls_for_one_that_the_cap_cut() -> None:
    assert read(answer({"role": "assistant", "content": None, "tool_calls": [call()]}, "stop")).stop == "calls"
    cut = {"name": "send", "arguments": '{"to":"al'}
    reply = read(answer({"role": "assistant", "content": None, "tool_calls": [call(function=cut)]}, "tool_calls"), cap=9)
    assert (reply.stop, reply.calls[0].cut) == ("length", True)
    assert sent(reply)["tool_calls"][0]["function"]["arguments"] == "{}"


def test_llama_cpp() -> None:
    message = {"role": "assistant", "content": None, "tool_calls": [call(id="Xy9")]}
    raw = answer(message, "tool_calls", timings={"prompt_ms": 12.5}, __verbose={"content": "x"}, usage=None)
    reply = read(raw)
    assert (reply.stop, reply.calls[0].wire_id, reply.usage) == ("calls", "Xy9", Usage(reported=False))
    assert sent(reply) == message


@pytest.mark.parametrize("finish", ["", None, "eos_token", "function_call", "error"])
def test_calls_without_the_word_that_the_message_ended_run_nothing(finish: Any) -> None:
    reply = read(answer({"role": "assistant", "content": None, "tool_calls": [call()]}, finish))
    assert (reply.stop, len(reply.calls)) == ("unknown", 1)


@pytest.mark.parametrize("role", [{}, {"role": ""}, {"role": None}])
@pytest.mark.parametrize("content", [{}, {"content": None}, {"content": ""}])
def test_what_was_left_out_is_read_and_the_role_is_there_when_it_goes_back(role: Any, content: Any) -> None:
    reply = read(answer({**role, **content, "tool_calls": [call()]}))
    assert (reply.stop, reply.text) == ("calls", "")
    assert sent(reply) == {**content, "tool_calls": [call()], "role": "assistant"}


@pytest.mark.parametrize("calls", [{}, {"tool_calls": None}, {"tool_calls": []}])
@pytest.mark.parametrize("usage", [{}, {"usage": None}, {"usage": {"prompt_tokens": None, "prompt_tokens_details": None}}])
def test_a_plain_answer_may_leave_out_calls_and_counts(calls: Any, usage: Any) -> None:
    whole = json.loads(answer({"role": "assistant", "content": "hi", **calls}))
    del whole["usage"]
    reply = read(json.dumps({**whole, **usage}).encode())
    assert (reply.stop, reply.text, reply.usage) == ("end", "hi", Usage(reported=False))
    assert sent(reply) == {"role": "assistant", "content": "hi"}


@pytest.mark.parametrize(
    ("function", "arguments"),
    [
        ({"name": "send", "arguments": {"n": 1.5, "to": ["x"]}}, '{"n": 1.5, "to": ["x"]}'),
        ({"name": "send", "arguments": None}, "{}"),
        ({"name": "send"}, "{}"),
        ({"name": "send", "arguments": "{}", "parsed_arguments": None}, "{}"),
    ],
)
def test_arguments_come_as_text_as_objects_or_not_at_all(function: dict[str, Any], arguments: str) -> None:
    reply = read(answer({"role": "assistant", "content": None, "tool_calls": [call(function=function)]}))
    assert reply.calls[0].arguments == arguments
    assert sent(reply)["tool_calls"][0]["function"] == function


def test_what_a_server_adds_to_a_call_goes_back() -> None:
    signed = call(extra_content={"google": {"thought_signature": "s"}}, index=0)
    assert sent(read(answer({"role": "assistant", "tool_calls": [signed]})))["tool_calls"] == [signed]


@pytest.mark.parametrize(
    "raw",
    [
        b'{"error":{"message":"secret","code":429}}',
        b'{"error":"secret"}',
        b'{"object":"error","message":"secret","type":"BadRequestError","code":400}',
        b'{"detail":"secret"}',
        b'{"choices":null,"error":{"message":"secret"}}',
        answer({"role": "tool", "content": "secret"}),
        answer({"role": 7, "content": "secret"}),
    ],
)
def test_an_error_under_a_good_status_is_no_reply(raw: bytes) -> None:
    with pytest.raises(ProtocolError) as caught:
        read(raw)
    assert "secret" not in str(caught.value)


def test_an_anthropic_server_may_send_input_as_text() -> None:
    block = {"type": "tool_use", "id": "a", "name": "send", "input": '{"n": 1}'}
    whole = {"type": "message", "role": "assistant", "content": [block], "stop_reason": "tool_use", "usage": None}
    reply = wire_for("anthropic").read(json.dumps(whole).encode(), Reading(max_tokens=9, names={}, mint=mint))
    assert (reply.stop, reply.calls[0].arguments) == ("calls", '{"n": 1}')
    assert json.loads(reply.wording)["content"] == [{**block, "input": {"n": 1}}]
