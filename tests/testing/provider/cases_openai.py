"""The cases of the two protocols of OpenAI."""

from __future__ import annotations

from typing import Any

from testing.provider.cases import LOOSE, SCHEMA, Body, Case, add, drop, each, put

HI = {"role": "user", "content": "hi"}
FUNCTION = {"name": "look", "description": "d", "parameters": LOOSE}
CHAT: Body = {"model": "fake", "messages": [HI], "tools": [{"type": "function", "function": FUNCTION}]}
FLAT = {"type": "function", **FUNCTION, "strict": False}
PLAIN: Body = {"model": "fake", "input": [HI], "tools": [FLAT], "store": False}


def chat_calls(*ids: str) -> Body:
    calls = [{"id": one, "type": "function", "function": {"name": "look", "arguments": "{}"}} for one in ids]
    return {"role": "assistant", "content": None, "tool_calls": calls}


def answer(one: str, **more: Any) -> Body:
    return {"role": "tool", "tool_call_id": one, "content": "found", **more}


def talk(*messages: Body) -> Body:
    return {**CHAT, "messages": [HI, *messages]}


ROUND = talk(chat_calls("a", "b"), answer("b"), answer("a"))

CHAT_CASES: list[Case] = [
    Case("openai-chat.model", CHAT, drop("model")),
    Case("openai-chat.tools.empty", CHAT, put("tools", []), drop("tools")),
    Case("openai-chat.tool.name", CHAT, put("tools.0.function.name", "look.up")),
    Case("openai-chat.tool.name.long", CHAT, put("tools.0.function.name", "l" * 65), put("tools.0.function.name", "l" * 64)),
    Case(
        "openai-chat.tool.strict",
        CHAT,
        put("tools.0.function.strict", True),
        each(put("tools.0.function.strict", True), put("tools.0.function.parameters", SCHEMA)),
    ),
    Case(
        "openai-chat.answer.strict",
        CHAT,
        put("response_format", {"type": "json_schema", "json_schema": {"name": "n", "strict": True, "schema": LOOSE}}),
        put("response_format", {"type": "json_schema", "json_schema": {"name": "n", "strict": True, "schema": SCHEMA}}),
    ),
    Case(
        "openai-chat.tool_choice.alone",
        CHAT,
        each(drop("tools"), put("tool_choice", "required")),
        put("tool_choice", "required"),
    ),
    Case(
        "openai-chat.tool_choice.unknown",
        CHAT,
        put("tool_choice", {"type": "function", "function": {"name": "loook"}}),
        put("tool_choice", {"type": "function", "function": {"name": "look"}}),
    ),
    Case(
        "openai-chat.parallel.alone",
        CHAT,
        each(drop("tools"), put("parallel_tool_calls", False)),
        put("parallel_tool_calls", False),
    ),
    Case("openai-chat.messages", CHAT, put("messages", [])),
    Case("openai-chat.role", CHAT, put("messages.0.role", "bot"), put("messages.0.role", "developer")),
    Case(
        "openai-chat.max_tokens.twice",
        CHAT,
        each(put("max_tokens", 10), put("max_completion_tokens", 10)),
        put("max_tokens", 10),
    ),
    Case("openai-chat.max_tokens", CHAT, put("max_completion_tokens", 0), put("max_completion_tokens", 1)),
    Case("openai-chat.content", CHAT, put("messages.0.content", None)),
    Case(
        "openai-chat.content",
        CHAT,
        add("messages", {"role": "assistant", "content": None}),
        add("messages", {"role": "assistant", "content": None, "refusal": "no"}),
    ),
    Case(
        "openai-chat.result.parts",
        ROUND,
        put("messages.2.content", [{"type": "image_url", "image_url": {"url": "data:,"}}]),
        put("messages.2.content", [{"type": "text", "text": "found"}]),
    ),
    Case("openai-chat.call", ROUND, put("messages.1.tool_calls.0.function.arguments", {}), put("messages.1.content", "so")),
    Case("openai-chat.call", ROUND, put("messages.1.tool_calls.0.id", "")),
    Case("openai-chat.calls.empty", talk({"role": "assistant", "content": "so"}), put("messages.1.tool_calls", [])),
    Case("openai-chat.calls.empty", talk({"role": "assistant", "content": "so"}), put("messages.1.tool_calls", None)),
    Case("openai-chat.id.twice", ROUND, put("messages.1.tool_calls.0.id", "b")),
    Case("openai-chat.result.missing", ROUND, drop("messages.3")),
    Case("openai-chat.result.missing", ROUND, put("messages.3", HI)),
    Case(
        "openai-chat.result.missing",
        ROUND,
        put("messages", [HI, chat_calls("a", "b"), answer("b"), HI, answer("a")]),
        put("messages", [HI, chat_calls("a", "b"), answer("b"), answer("a"), HI]),
    ),
    Case("openai-chat.result.orphan", CHAT, add("messages", answer("a"))),
    Case("openai-chat.result.orphan", ROUND, add("messages", HI, answer("a"))),
    Case("openai-chat.result.twice", ROUND, add("messages", answer("a"))),
    Case(
        "openai-chat.stream_options",
        CHAT,
        put("stream_options", {"include_usage": True}),
        each(put("stream_options", {"include_usage": True}), put("stream", True)),
    ),
]


def call(one: str, **more: Any) -> Body:
    return {"type": "function_call", "call_id": one, "name": "look", "arguments": "{}", **more}


def output(one: str, **more: Any) -> Body:
    return {"type": "function_call_output", "call_id": one, "output": "found", **more}


def items(*found: Body, **more: Any) -> Body:
    return {**PLAIN, "input": [HI, *found], **more}


REASON = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "x"}
PAIR = items(call("a"), call("b"), output("a"), output("b"))
THOUGHT = items(REASON, call("a", id="fc_1"), output("a"))
SAID = [(PLAIN, {"id": "resp_1", "output": [REASON, call("a", id="fc_1")]})]
STORED = [({**PLAIN, "store": True}, {"id": "resp_1", "output": [{"type": "message", "id": "msg_1"}, call("a", id="fc_1")]})]
SPOKEN = {"type": "message", "id": "msg_1", "role": "assistant", "content": [{"type": "output_text", "text": "x"}]}

RESPONSES_CASES: list[Case] = [
    Case("openai-responses.model", PLAIN, drop("model")),
    Case("openai-responses.tool.name", PLAIN, put("tools.0.name", "look up")),
    Case("openai-responses.tool.name.long", PLAIN, put("tools.0.name", "l" * 65), put("tools.0.name", "l" * 64)),
    Case(
        "openai-responses.tool.strict",
        PLAIN,
        put("tools.0.strict", True),
        each(put("tools.0.strict", True), put("tools.0.parameters", SCHEMA)),
    ),
    Case(
        "openai-responses.tool.strict",
        PLAIN,
        each(put("tools.0.strict", True), put("tools.0.parameters", {**SCHEMA, "required": []})),
    ),
    Case(
        "openai-responses.tool.strict",
        PLAIN,
        each(
            put("tools.0.strict", True),
            put("tools.0.parameters", {**SCHEMA, "properties": {"a": {"anyOf": [{"type": "string"}, {"allOf": []}]}}}),
        ),
        each(
            put("tools.0.strict", True),
            put("tools.0.parameters", {**SCHEMA, "properties": {"a": {"anyOf": [{"type": "string"}, SCHEMA]}}}),
        ),
    ),
    Case(
        "openai-responses.answer.strict",
        PLAIN,
        put("text", {"format": {"type": "json_schema", "name": "n", "strict": True, "schema": LOOSE}}),
        put("text", {"format": {"type": "json_schema", "name": "n", "strict": True, "schema": SCHEMA}}),
    ),
    Case("openai-responses.tool_choice.alone", PLAIN, each(drop("tools"), put("tool_choice", "required")), put("tools", [])),
    Case(
        "openai-responses.tool_choice.unknown",
        PLAIN,
        put("tool_choice", {"type": "function", "name": "loook"}),
        put("tool_choice", {"type": "function", "name": "look"}),
    ),
    Case(
        "openai-responses.tool_choice.unknown",
        PLAIN,
        put("tool_choice", {"type": "allowed_tools", "mode": "auto", "tools": [{"type": "function", "name": "loook"}]}),
        put("tool_choice", {"type": "allowed_tools", "mode": "auto", "tools": [{"type": "function", "name": "look"}]}),
    ),
    Case("openai-responses.input", PLAIN, put("input", []), put("input", "hi")),
    Case("openai-responses.item", PLAIN, add("input", {"call_id": "a"})),
    Case("openai-responses.role", PLAIN, put("input.0.role", "tool"), put("input.0.role", "developer")),
    Case("openai-responses.max_tokens", PLAIN, put("max_output_tokens", 15), put("max_output_tokens", 16)),
    Case(
        "openai-responses.state.twice",
        PLAIN,
        each(put("previous_response_id", "resp_1"), put("conversation", "conv_1")),
        put("previous_response_id", "resp_1"),
        said=STORED,
    ),
    Case(
        "openai-responses.state.unknown",
        items(output("a"), previous_response_id="resp_1"),
        put("previous_response_id", "resp_2"),
        said=STORED,
    ),
    Case("openai-responses.state.unknown", PLAIN, put("previous_response_id", "resp_1"), said=SAID),
    Case(
        "openai-responses.reference",
        PLAIN,
        add("input", {"type": "item_reference", "id": "msg_2"}),
        add("input", {"type": "item_reference", "id": "msg_1"}),
        said=STORED,
    ),
    Case(
        "openai-responses.part",
        PLAIN,
        put("input.0.content", [{"type": "output_text", "text": "hi"}]),
        put("input.0.content", [{"type": "input_text", "text": "hi"}]),
    ),
    Case(
        "openai-responses.part", items(SPOKEN), put("input.1.content.0.type", "input_text"), put("input.1.content", "as text")
    ),
    Case("openai-responses.id.twice", items(SPOKEN, {**SPOKEN, "id": "msg_2"}), put("input.2.id", "msg_1")),
    Case("openai-responses.id.prefix", THOUGHT, put("input.2.id", "call_1")),
    Case("openai-responses.call_id", PAIR, each(put("input.1.call_id", "a" * 65), put("input.3.call_id", "a" * 65))),
    Case("openai-responses.call_id", PAIR, each(put("input.1.call_id", ""), put("input.3.call_id", ""))),
    Case("openai-responses.call", PAIR, put("input.1.arguments", {})),
    Case(
        "openai-responses.output", PAIR, put("input.3.output", {}), put("input.3.output", [{"type": "input_text", "text": "x"}])
    ),
    Case(
        "openai-responses.call.twice",
        PAIR,
        put("input.2.call_id", "a"),
        put("input", [HI, call("a"), output("a"), call("a"), output("a")]),
    ),
    Case("openai-responses.output.orphan", PLAIN, add("input", output("a"))),
    Case(
        "openai-responses.output.orphan",
        PAIR,
        put("input", [HI, output("a"), call("a")]),
        put("input", [call("a"), output("a")]),
    ),
    Case(
        "openai-responses.output.orphan",
        items(
            {"type": "custom_tool_call", "call_id": "a", "name": "n", "input": "x"},
            {"type": "custom_tool_call_output", "call_id": "a", "output": "y"},
        ),
        put("input.2.type", "function_call_output"),
    ),
    Case("openai-responses.output.twice", PAIR, add("input", output("a"))),
    Case("openai-responses.output.missing", PAIR, drop("input.4")),
    Case("openai-responses.output.missing", items(call("a"), SPOKEN), add("input", HI), put("input.1.async", True)),
    Case("openai-responses.reasoning.alone", THOUGHT, put("input", [HI, call("a"), output("a"), REASON])),
    Case("openai-responses.reasoning.alone", THOUGHT, put("input", [REASON, HI]), put("input", [REASON, SPOKEN, HI])),
    Case("openai-responses.reasoning.missing", THOUGHT, drop("input.1"), said=SAID),
    Case("openai-responses.reasoning.missing", THOUGHT, put("input.1.id", "rs_2"), said=SAID),
    Case(
        "openai-responses.approval",
        items(
            {"type": "mcp_approval_request", "id": "mcpr_1"}, {"type": "mcp_approval_response", "approval_request_id": "mcpr_1"}
        ),
        drop("input.1"),
    ),
]
