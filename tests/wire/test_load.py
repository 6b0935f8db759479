"""Imported histories: what a provider would refuse is refused here, by its place and without its content."""

from __future__ import annotations

import json
from typing import Any

import pytest

from remit.errors import ProtocolError
from remit.types.model import ProtocolName
from remit.wire import wire_for


def use(*ids: str) -> dict[str, Any]:
    return {"role": "assistant", "content": [{"type": "tool_use", "id": one, "name": "f", "input": {}} for one in ids]}


def result(*ids: str, before: list[Any] | None = None) -> dict[str, Any]:
    blocks = [{"type": "tool_result", "tool_use_id": one, "content": "secret"} for one in ids]
    return {"role": "user", "content": [*(before or []), *blocks]}


def chat(*ids: str) -> dict[str, Any]:
    calls = [{"id": one, "type": "function", "function": {"name": "f", "arguments": "{}"}} for one in ids]
    return {"role": "assistant", "content": None, "tool_calls": calls}


def tool(one: str) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": one, "content": "secret"}


def asked(one: str, **more: Any) -> dict[str, Any]:
    return {"type": "function_call", "call_id": one, "name": "f", "arguments": "{}", **more}


def output(one: str) -> dict[str, Any]:
    return {"type": "function_call_output", "call_id": one, "output": "secret"}


HI = {"role": "user", "content": "secret"}
TEXT = {"type": "text", "text": "secret"}
HOSTED = {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}}
FOUND = {"type": "web_search_tool_result", "tool_use_id": "s", "content": []}

BAD: list[tuple[ProtocolName, list[Any], str]] = [
    ("anthropic", ["secret"], "messages[0]"),
    ("anthropic", [{"role": "system", "content": "obey"}], "messages[0]"),
    ("anthropic", [{"role": "tool", "content": "x"}], "messages[0].role"),
    ("anthropic", [{"role": "user", "content": []}], "messages[0].content"),
    ("anthropic", [{"role": "user", "content": [{"type": "text", "text": " "}]}], "messages[0].content[0].text"),
    ("anthropic", [HI, use("a")], "messages[1].content[0]"),
    ("anthropic", [HI, use("a"), HI], "messages[1].content[0]"),
    ("anthropic", [HI, use("a", "b"), result("a"), HI], "messages[1].content[1]"),
    ("anthropic", [HI, use("a"), result("a", before=[TEXT])], "messages[1].content[0]"),
    ("anthropic", [HI, use("a"), result("a"), result("a")], "messages[3].content[0]"),
    ("anthropic", [HI, use("a", "a"), result("a")], "messages[1].content[1]"),
    ("anthropic", [result("a")], "messages[0].content[0]"),
    ("anthropic", [HI, use("a b"), result("a b")], "messages[1].content[0].id"),
    (
        "anthropic",
        [HI, {"role": "assistant", "content": [{**use("a")["content"][0], "input": "x"}]}],
        "messages[1].content[0].input",
    ),
    (
        "anthropic",
        [
            HI,
            {"role": "assistant", "content": [HOSTED, *use("a")["content"]]},
            {"role": "user", "content": [*result("a")["content"], TEXT]},
        ],
        "messages[2].content[1]",
    ),
    ("openai-chat", [{"role": "developer", "content": "obey"}], "messages[0]"),
    ("openai-chat", [HI, chat("a"), HI, tool("a")], "messages[1].tool_calls[0]"),
    ("openai-chat", [HI, chat("a", "b"), tool("a")], "messages[1].tool_calls[1]"),
    ("openai-chat", [HI, tool("a")], "messages[1]"),
    ("openai-chat", [HI, chat("a"), tool("a"), tool("a")], "messages[3]"),
    ("openai-chat", [HI, chat("a", "a"), tool("a")], "messages[1].tool_calls[1]"),
    ("openai-chat", [HI, {"role": "assistant", "content": None}], "messages[1].content"),
    ("openai-chat", [HI, {"role": "assistant", "function_call": {"name": "f", "arguments": ""}}], "messages[1].function_call"),
    ("openai-chat", [HI, {"role": "assistant", "tool_calls": [{"id": "a", "type": "function"}]}], "messages[1].tool_calls[0]"),
    ("openai-responses", [{"role": "system", "content": "obey"}], "input[0]"),
    ("openai-responses", [HI, asked("a")], "input[1]"),
    ("openai-responses", [HI, output("a")], "input[1]"),
    ("openai-responses", [HI, asked("a"), output("a"), output("a")], "input[3]"),
    ("openai-responses", [HI, asked("a"), asked("a"), output("a")], "input[2]"),
    ("openai-responses", [HI, asked("a", id="i"), asked("b", id="i"), output("a"), output("b")], "input[2].id"),
    ("openai-responses", [HI, {"type": "reasoning", "id": "r", "summary": []}], "input[1]"),
    ("openai-responses", [HI, {"type": "item_reference", "id": "r"}], "input[1]"),
    ("openai-responses", [HI, {"type": "function_call", "call_id": "a", "name": "f"}, output("a")], "input[1]"),
]


@pytest.mark.parametrize(("protocol", "messages", "place"), BAD)
def test_a_history_that_the_provider_refuses_is_refused_by_its_place(
    protocol: ProtocolName, messages: list[Any], place: str
) -> None:
    with pytest.raises(ProtocolError) as caught:
        wire_for(protocol).load(messages)
    assert caught.value.details["place"] == place
    assert str(caught.value).startswith(place)
    assert "secret" not in str(caught.value)


GOOD: list[tuple[ProtocolName, list[Any]]] = [
    ("anthropic", [HI, HI, use("a"), use("b"), result("b"), result("a", before=[]), {"role": "user", "content": [TEXT]}]),
    ("anthropic", [HI, use("a"), result("a"), use("a"), result("a")]),
    ("anthropic", [HI, {"role": "assistant", "content": [HOSTED, FOUND, TEXT]}, HI]),
    ("anthropic", [HI, {"role": "assistant", "content": [HOSTED]}, {"role": "assistant", "content": [FOUND, TEXT]}]),
    ("openai-chat", [HI, chat("a", "b"), tool("b"), tool("a"), {"role": "assistant", "content": "done"}]),
    ("openai-chat", [HI, chat("a"), tool("a"), chat("a"), tool("a")]),
    ("openai-chat", [HI, {"role": "assistant", "content": None, "refusal": "no"}]),
    ("openai-responses", [HI, asked("a"), asked("b"), output("a"), output("b")]),
    ("openai-responses", [HI, {"type": "reasoning", "id": "r", "summary": []}, asked("a"), output("a")]),
    ("openai-responses", [HI, asked("a", **{"async": True}), {"type": "message", "role": "assistant", "content": "later"}]),
]


@pytest.mark.parametrize(("protocol", "messages"), GOOD)
def test_a_legal_history_is_taken_as_it_is(protocol: ProtocolName, messages: list[Any]) -> None:
    assert [json.loads(one) for one in wire_for(protocol).load(messages)] == messages
