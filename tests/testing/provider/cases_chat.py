"""The cases of OpenAI Chat Completions."""

from __future__ import annotations

from typing import Any

from testing.provider.cases import LOOSE, SCHEMA, Body, Case, add, drop, each, put

HI = {"role": "user", "content": "hi"}
FUNCTION = {"name": "look", "description": "d", "parameters": LOOSE}
CHAT: Body = {"model": "fake", "messages": [HI], "tools": [{"type": "function", "function": FUNCTION}]}


def chat_calls(*ids: str) -> Body:
    calls = [{"id": one, "type": "function", "function": {"name": "look", "arguments": "{}"}} for one in ids]
    return {"role": "assistant", "content": None, "tool_calls": calls}


def answer(one: str, **more: Any) -> Body:
    return {"role": "tool", "tool_call_id": one, "content": "found", **more}


def talk(*messages: Body) -> Body:
    return {**CHAT, "messages": [HI, *messages]}


ROUND = talk(chat_calls("a", "b"), answer("b"), answer("a"))

CHAT_CASES: list[Case] = [
    Case("openai-chat.model", "you must provide a model parameter", CHAT, drop("model")),
    Case(
        "openai-chat.tools.empty",
        "Invalid 'tools': empty array. Expected an array with minimum length 1, but got an empty array instead.",
        CHAT,
        put("tools", []),
        drop("tools"),
        param="tools",
    ),
    Case(
        "openai-chat.tool.name",
        (
            "Invalid 'tools[0].function.name': string does not match pattern. Expected a string that matches the pattern "
            "'^[a-zA-Z0-9_-]+$'."
        ),
        CHAT,
        put("tools.0.function.name", "look.up"),
        param="tools[0].function.name",
    ),
    Case(
        "openai-chat.tool.name.long",
        (
            "Invalid 'tools[0].function.name': string too long. Expected a string with maximum length 64, but got a string "
            "with length 65 instead."
        ),
        CHAT,
        put("tools.0.function.name", "l" * 65),
        put("tools.0.function.name", "l" * 64),
        param="tools[0].function.name",
    ),
    Case(
        "openai-chat.tool.strict",
        (
            "Invalid schema for function 'look': In context=(), 'additionalProperties' is required to be supplied and to "
            "be false."
        ),
        CHAT,
        put("tools.0.function.strict", True),
        each(put("tools.0.function.strict", True), put("tools.0.function.parameters", SCHEMA)),
        param="tools[0].function.parameters",
    ),
    Case(
        "openai-chat.answer.strict",
        (
            "Invalid schema for response_format 'n': In context=(), 'additionalProperties' is required to be supplied and "
            "to be false."
        ),
        CHAT,
        put("response_format", {"type": "json_schema", "json_schema": {"name": "n", "strict": True, "schema": LOOSE}}),
        put("response_format", {"type": "json_schema", "json_schema": {"name": "n", "strict": True, "schema": SCHEMA}}),
        param="response_format",
    ),
    Case(
        "openai-chat.tool_choice.alone",
        "'tool_choice' is only allowed when 'tools' are specified.",
        CHAT,
        each(drop("tools"), put("tool_choice", "required")),
        put("tool_choice", "required"),
        param="tool_choice",
    ),
    Case(
        "openai-chat.tool_choice.unknown",
        "Invalid value for 'tool_choice': no function named 'loook' was specified in the 'tools' parameter.",
        CHAT,
        put("tool_choice", {"type": "function", "function": {"name": "loook"}}),
        put("tool_choice", {"type": "function", "function": {"name": "look"}}),
        param="tool_choice",
    ),
    Case(
        "openai-chat.parallel.alone",
        "Invalid value for 'parallel_tool_calls': 'parallel_tool_calls' is only allowed when 'tools' are specified.",
        CHAT,
        each(drop("tools"), put("parallel_tool_calls", False)),
        put("parallel_tool_calls", False),
        param="parallel_tool_calls",
    ),
    Case(
        "openai-chat.messages",
        "Invalid 'messages': empty array. Expected an array with minimum length 1, but got an empty array instead.",
        CHAT,
        put("messages", []),
        param="messages",
    ),
    Case(
        "openai-chat.role",
        "Invalid value: 'bot'. Supported values are: 'system', 'assistant', 'user', 'function', 'tool', and 'developer'.",
        CHAT,
        put("messages.0.role", "bot"),
        put("messages.0.role", "developer"),
        param="messages[0].role",
    ),
    Case(
        "openai-chat.max_tokens.twice",
        "Setting 'max_tokens' and 'max_completion_tokens' at the same time is not supported.",
        CHAT,
        each(put("max_tokens", 10), put("max_completion_tokens", 10)),
        put("max_tokens", 10),
        param="max_tokens",
    ),
    Case(
        "openai-chat.max_tokens",
        "Invalid 'max_completion_tokens': integer below minimum value. Expected a value >= 1, but got 0 instead.",
        CHAT,
        put("max_completion_tokens", 0),
        put("max_completion_tokens", 1),
        param="max_completion_tokens",
    ),
    Case(
        "openai-chat.content",
        "Invalid value for 'content': expected a string, got null.",
        CHAT,
        put("messages.0.content", None),
        param="messages[0].content",
    ),
    Case(
        "openai-chat.content",
        "Invalid value for 'content': expected a string, got null.",
        CHAT,
        add("messages", {"role": "assistant", "content": None}),
        add("messages", {"role": "assistant", "content": None, "refusal": "no"}),
        param="messages[1].content",
    ),
    Case(
        "openai-chat.result.parts",
        "Invalid content type. image_url is not supported in messages with role 'tool'.",
        ROUND,
        put("messages.2.content", [{"type": "image_url", "image_url": {"url": "data:,"}}]),
        put("messages.2.content", [{"type": "text", "text": "found"}]),
        param="messages[2].content",
    ),
    Case(
        "openai-chat.call",
        "Missing required parameter: 'messages[1].tool_calls[0].function.arguments'.",
        ROUND,
        put("messages.1.tool_calls.0.function.arguments", {}),
        put("messages.1.content", "so"),
        param="messages[1].tool_calls[0].function.arguments",
    ),
    Case(
        "openai-chat.call",
        "Missing required parameter: 'messages[1].tool_calls[0].id'.",
        ROUND,
        put("messages.1.tool_calls.0.id", ""),
        param="messages[1].tool_calls[0].id",
    ),
    Case(
        "openai-chat.calls.empty",
        "Invalid 'messages[1].tool_calls': expected an array with minimum length 1, but got an empty array instead.",
        talk({"role": "assistant", "content": "so"}),
        put("messages.1.tool_calls", []),
        param="messages[1].tool_calls",
    ),
    Case(
        "openai-chat.calls.empty",
        "Invalid 'messages[1].tool_calls': expected an array with minimum length 1, but got null instead.",
        talk({"role": "assistant", "content": "so"}),
        put("messages.1.tool_calls", None),
        param="messages[1].tool_calls",
    ),
    Case(
        "openai-chat.id.twice",
        "Duplicate value for 'tool_call_id' in 'messages[1].tool_calls'.",
        ROUND,
        put("messages.1.tool_calls.0.id", "b"),
        param="messages[1].tool_calls",
    ),
    Case(
        "openai-chat.result.missing",
        (
            "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. "
            "The following tool_call_ids did not have response messages: a"
        ),
        ROUND,
        drop("messages.3"),
        param="messages[1].role",
    ),
    Case(
        "openai-chat.result.missing",
        (
            "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. "
            "The following tool_call_ids did not have response messages: a"
        ),
        ROUND,
        put("messages.3", HI),
        param="messages[1].role",
    ),
    Case(
        "openai-chat.result.missing",
        (
            "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. "
            "The following tool_call_ids did not have response messages: a"
        ),
        ROUND,
        put("messages", [HI, chat_calls("a", "b"), answer("b"), HI, answer("a")]),
        put("messages", [HI, chat_calls("a", "b"), answer("b"), answer("a"), HI]),
        param="messages[1].role",
    ),
    Case(
        "openai-chat.result.orphan",
        "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'.",
        CHAT,
        add("messages", answer("a")),
        param="messages[1].role",
    ),
    Case(
        "openai-chat.result.orphan",
        "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'.",
        ROUND,
        add("messages", HI, answer("a")),
        param="messages[5].role",
    ),
    Case(
        "openai-chat.result.twice",
        "Duplicate value for 'tool_call_id' of 'a' in message with role 'tool'.",
        ROUND,
        add("messages", answer("a")),
        param="messages[4].tool_call_id",
    ),
    Case(
        "openai-chat.stream_options",
        "The 'stream_options' parameter is only allowed when 'stream' is enabled.",
        CHAT,
        put("stream_options", {"include_usage": True}),
        each(put("stream_options", {"include_usage": True}), put("stream", True)),
        param="stream_options",
    ),
]
