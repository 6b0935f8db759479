"""Real recorded replies, in three spellings, go back byte for byte, and make requests that the SDKs' own types take."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from anthropic.types import message_create_params as anthropic_params
from openai.types.chat import completion_create_params as chat_params
from openai.types.responses import response_create_params as responses_params

from remit.types.model import Declaration, HeadSpec, Reading, Reply, ResultText, Wire
from remit.types.part import Text
from remit.wire import wire_for
from wire.corpus import ROOT, SPELLINGS, WHY, accept, no_mint, spelled, traffic

pytestmark = pytest.mark.skipif(not ROOT, reason=WHY)

SCHEMA: dict[str, Any] = {"type": "object", "properties": {}, "additionalProperties": False}


def read(wire: Wire, body: bytes) -> Reply:
    return wire.read(body, Reading(max_tokens=10**9, names={}, mint=no_mint))


def round_trip(wire: Wire, reply: Reply) -> dict[str, Any]:
    """A request that carries the reply, and answers to its calls."""
    tools = tuple(
        Declaration(name=name, description="d", schema=SCHEMA) for name in sorted({call.name for call in reply.calls})
    )
    fit = tuple(tool for tool in tools if ":" not in tool.name)
    head = wire.head(HeadSpec(model="m", instructions="Be brief.", tools=fit, max_tokens=100))
    answers = [ResultText(wire_id=call.wire_id, name=call.name, text="done") for call in reply.calls]
    messages = [wire.user([Text("go")]), reply.wording, *([wire.results(answers)] if answers else [])]
    body = wire.body(head, messages)
    assert reply.wording.encode() in body
    return json.loads(body)


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_anthropic_replies_go_back_as_they_came(spelling: str) -> None:
    wire, spell, count = wire_for("anthropic"), SPELLINGS[spelling], 0
    for entry in traffic("anthropic-messages", "anthropic-sdk"):
        response = entry["response"]
        content = spell(response["content"])
        reply = read(wire, spelled(response, spell, content=content))
        assert reply.wording == f'{{"role":"assistant","content":{content}}}'
        assert reply.mends == ()
        assert (reply.stop == "calls") == (response["stop_reason"] == "tool_use")
        used = [block for block in response["content"] if block["type"] == "tool_use"]
        assert [(call.wire_id, call.name, json.loads(call.arguments)) for call in reply.calls] == [
            (block["id"], block["name"], block["input"]) for block in used
        ]
        assert not any(call.cut for call in reply.calls)
        assert reply.usage.output_tokens == response["usage"]["output_tokens"]
        accept(anthropic_params.MessageCreateParamsNonStreaming, round_trip(wire, reply))
        count += 1
    assert count == 100


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_chat_replies_go_back_as_they_came(spelling: str) -> None:
    wire, spell, count = wire_for("openai-chat"), SPELLINGS[spelling], 0
    for entry in traffic("openai-chat"):
        response = entry["response"]
        choice = response["choices"][0]
        message = spell(choice["message"])
        choices = "[ " + spelled(choice, spell, message=message).decode() + " ]"
        reply = read(wire, spelled(response, spell, choices=choices))
        assert reply.wording == message
        assert reply.mends == ()
        assert reply.stop == ("calls" if choice["finish_reason"] == "tool_calls" else "end")
        assert [(call.wire_id, call.name, call.arguments) for call in reply.calls] == [
            (one["id"], one["function"]["name"], one["function"]["arguments"])
            for one in choice["message"].get("tool_calls", [])
        ]
        assert reply.usage.input_tokens == response["usage"]["prompt_tokens"]
        accept(chat_params.CompletionCreateParamsNonStreaming, round_trip(wire, reply))
        count += 1
    assert count == 34


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_responses_replies_go_back_as_they_came(spelling: str) -> None:
    wire, spell, count = wire_for("openai-responses"), SPELLINGS[spelling], 0
    for entry in traffic("openai-responses"):
        response = entry["response"]
        output = spell(response["output"])
        reply = read(wire, spelled(response, spell, output=output))
        assert reply.wording == output[1:-1].strip()
        assert reply.mends == ()
        used = [item for item in response["output"] if item["type"] == "function_call"]
        assert reply.stop == ("calls" if used else "end")
        assert [(call.wire_id, call.arguments) for call in reply.calls] == [(one["call_id"], one["arguments"]) for one in used]
        accept(responses_params.ResponseCreateParamsNonStreaming, round_trip(wire, reply))
        count += 1
    assert count == 61


def test_replies_that_wait_for_what_is_not_offered_are_unknown_and_the_rest_is_read() -> None:
    kinds = {"anthropic.messages": "anthropic", "openai.chat": "openai-chat", "openai.responses": "openai-responses"}
    stops: dict[str, str] = {}
    for entry in traffic("vercel-fixtures"):
        if entry["api"] in kinds:
            wire = wire_for(kinds[entry["api"]])  # type: ignore[arg-type]
            reply = read(wire, json.dumps(entry["response"]).encode())
            round_trip(wire, reply)
            stops[entry["fixture"].rpartition("/")[2].split(".")[0]] = reply.stop
    assert len(stops) == 14
    assert {name for name, stop in stops.items() if stop == "unknown"} == {
        "anthropic-programmatic-tool-calling",
        "openai-apply-patch-tool",
    }
    assert set(stops.values()) == {"calls", "end", "unknown"}


def test_recorded_histories_are_taken_unchanged() -> None:
    """Parallel calls, ids used again in later rounds, and tool results in any order are all legal."""
    taken = 0
    for entry in traffic("anthropic-messages"):
        messages = [one for one in entry["request"]["messages"] if one["role"] != "system"]
        if messages and all(one["content"] for one in messages):
            loaded = wire_for("anthropic").load(messages)
            assert [json.loads(one) for one in loaded] == messages
            taken += 1
    for entry in traffic("openai-chat"):
        messages = [one for one in entry["request"]["messages"] if one["role"] not in ("system", "developer")]
        assert [json.loads(one) for one in wire_for("openai-chat").load(messages)] == messages
        taken += 1
    for line in (Path(ROOT or "") / "taubench" / "gpt-4o-airline.jsonl").read_text(encoding="utf-8").splitlines():
        messages = [one for one in json.loads(line)["messages"] if one["role"] != "system"]
        assert [json.loads(one) for one in wire_for("openai-chat").load(messages)] == messages
        taken += 1
    assert taken > 160
