"""The cases of Anthropic Messages."""

from __future__ import annotations

from typing import Any

from testing.provider.cases import LOOSE, SCHEMA, Body, Case, add, drop, each, put

TOOL = {"name": "look", "description": "d", "input_schema": LOOSE}
HI = {"role": "user", "content": "hi"}
PLAIN: Body = {"model": "fake", "max_tokens": 100, "messages": [HI], "tools": [TOOL]}


def text(said: str) -> Body:
    return {"type": "text", "text": said}


def use(one: str, **more: Any) -> Body:
    return {"type": "tool_use", "id": one, "name": "look", "input": {}, **more}


def result(one: str, **more: Any) -> Body:
    return {"type": "tool_result", "tool_use_id": one, "content": "found", **more}


def assistant(*blocks: Body) -> Body:
    return {"role": "assistant", "content": list(blocks)}


def user(*blocks: Body) -> Body:
    return {"role": "user", "content": list(blocks)}


def talk(*messages: Body, **more: Any) -> Body:
    return {**PLAIN, "messages": [HI, *messages], **more}


ROUND = talk(assistant(text("ok"), use("a"), use("b")), user(result("a"), result("b")))
HOSTED = {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}}
FOUND = {"type": "web_search_tool_result", "tool_use_id": "s", "content": []}
SEARCH = {"type": "web_search_20250305", "name": "web_search"}
MIXED = talk(assistant(HOSTED, use("a")), user(result("a")), tools=[TOOL, SEARCH])
BY_CODE = {"type": "code_execution_20260120", "tool_id": "s"}
CODE = {"type": "server_tool_use", "id": "s", "name": "code_execution", "input": {}}
PROGRAM = talk(
    assistant(CODE, use("a", caller=BY_CODE)),
    user(result("a")),
    tools=[
        {**TOOL, "allowed_callers": ["code_execution_20260120"]},
        {"type": "code_execution_20260120", "name": "code_execution"},
    ],
    container="c",
)
BROWSER = {"type": "browser_toolset_20260801"}


def thought(name: str) -> Body:
    return {"type": "thinking", "thinking": f"about {name}", "signature": f"sig_{name}"}


THOUGHT_OF = {"id": "msg_1", "stop_reason": "tool_use", "content": [thought("x"), use("a"), thought("y"), use("b")]}
SAID = [(PLAIN, THOUGHT_OF)]
SEARCHING = {"id": "msg_2", "stop_reason": "pause_turn", "content": [text("searching ")]}

ANTHROPIC_CASES: list[Case] = [
    Case("anthropic.model", "model: Field required", PLAIN, drop("model")),
    Case("anthropic.max_tokens", "max_tokens: Field required", PLAIN, drop("max_tokens"), put("max_tokens", 1)),
    Case("anthropic.max_tokens", "max_tokens: Input should be greater than or equal to 1", PLAIN, put("max_tokens", 0)),
    Case("anthropic.max_tokens", "max_tokens: Input should be a valid integer", PLAIN, put("max_tokens", True)),
    Case(
        "anthropic.max_tokens.budget",
        "`max_tokens` must be greater than `thinking.budget_tokens`.",
        PLAIN,
        put("thinking", {"type": "enabled", "budget_tokens": 100}),
        put("thinking", {"type": "enabled", "budget_tokens": 99}),
    ),
    Case(
        "anthropic.thinking.mode",
        "thinking: type `disabled` is not supported for this model.",
        {**PLAIN, "model": "claude-opus-5-5"},
        put("thinking", {"type": "disabled"}),
        put("thinking", {"type": "adaptive"}),
    ),
    Case(
        "anthropic.thread",
        "thread_not_found: no message to continue from",
        PLAIN,
        put("thread", {"type": "continue", "previous_message_id": "msg_none"}),
        put("thread", {"type": "continue", "previous_message_id": "msg_1"}),
        said=SAID,
    ),
    Case(
        "anthropic.tool.name",
        "tools.0.custom.name: String should match pattern '^[a-zA-Z0-9_-]{1,64}$'",
        PLAIN,
        put("tools.0.name", "look.up"),
        put("tools.0.name", "l" * 64),
    ),
    Case(
        "anthropic.tool.name",
        "tools.0.custom.name: String should match pattern '^[a-zA-Z0-9_-]{1,64}$'",
        PLAIN,
        put("tools.0.name", "l" * 65),
    ),
    Case(
        "anthropic.tool.twice",
        "tools: Tool names must be unique.",
        PLAIN,
        add("tools", TOOL),
        add("tools", {**TOOL, "name": "other"}),
    ),
    Case(
        "anthropic.tool.schema",
        "tools.0.custom.input_schema.type: Input should be 'object'",
        PLAIN,
        put("tools.0.input_schema", {"type": "array"}),
    ),
    Case("anthropic.tool.schema", "tools.0.custom.input_schema: Field required", PLAIN, drop("tools.0.input_schema")),
    Case(
        "anthropic.tool.strict",
        "tools.0.custom: For 'object' type, 'additionalProperties' must be explicitly set to false",
        PLAIN,
        put("tools.0.strict", True),
        each(put("tools.0.strict", True), put("tools.0.input_schema", SCHEMA)),
    ),
    Case(
        "anthropic.tool.strict",
        "tools.0.custom: For 'object' type, 'additionalProperties' must be explicitly set to false",
        PLAIN,
        each(
            put("tools.0.strict", True),
            put("tools.0.input_schema", {**SCHEMA, "properties": {"a": {"type": "array", "items": LOOSE}}}),
        ),
    ),
    Case(
        "anthropic.toolset",
        "tools.1.strict: not supported with a toolset",
        PLAIN,
        add("tools", {**BROWSER, "strict": True}),
        add("tools", BROWSER),
    ),
    Case(
        "anthropic.toolset",
        "tool_choice: not supported with a toolset",
        PLAIN,
        each(add("tools", BROWSER), put("tool_choice", {"type": "tool", "name": "click"})),
    ),
    Case(
        "anthropic.tool_choice.alone",
        "tool_choice may only be specified while providing tools.",
        PLAIN,
        each(drop("tools"), put("tool_choice", {"type": "none"})),
        drop("tools"),
    ),
    Case(
        "anthropic.tool_choice.forced",
        'tool_choice: type "tool" and "any" are not supported for this model.',
        {**PLAIN, "model": "claude-sonnet-5-5"},
        put("tool_choice", {"type": "any"}),
        put("tool_choice", {"type": "auto"}),
    ),
    Case(
        "anthropic.tool_choice.thinking",
        "Thinking may not be enabled when tool_choice forces tool use.",
        {**PLAIN, "thinking": {"type": "enabled", "budget_tokens": 10}},
        put("tool_choice", {"type": "any"}),
        put("tool_choice", {"type": "auto"}),
    ),
    Case(
        "anthropic.tool_choice.unknown",
        "Tool 'loook' not found in provided tools",
        PLAIN,
        put("tool_choice", {"type": "tool", "name": "loook"}),
        put("tool_choice", {"type": "tool", "name": "look"}),
    ),
    Case(
        "anthropic.tool.conflict",
        "tool_name_conflict: messages.1.content.0: a tool named 'look' is available already",
        PLAIN,
        add("messages", {"role": "system", "content": [{"type": "tool_addition", "tool": TOOL}]}),
        add("messages", {"role": "system", "content": [{"type": "tool_addition", "tool": {**TOOL, "name": "more"}}]}),
    ),
    Case(
        "anthropic.tool.reference",
        "tool_reference_unresolved: Tool reference 'gone' not found in available tools",
        ROUND,
        put("messages.2.content.0.content", [{"type": "tool_reference", "tool_name": "gone"}]),
        put("messages.2.content.0.content", [{"type": "tool_reference", "tool_name": "look"}]),
    ),
    Case("anthropic.messages", "messages: at least one message is required", PLAIN, put("messages", [])),
    Case("anthropic.messages.many", "messages: at most 100000 messages are allowed", PLAIN, put("messages", [HI] * 100_001)),
    Case(
        "anthropic.role",
        'messages: Unexpected role "tool". Allowed roles are "user", "assistant" and "system".',
        PLAIN,
        put("messages.0.role", "tool"),
        add("messages", {"role": "system", "content": "be brief"}),
    ),
    Case(
        "anthropic.content",
        "messages.0: all messages must have non-empty content except for the optional final assistant message",
        PLAIN,
        put("messages.0.content", []),
    ),
    Case(
        "anthropic.content",
        "messages.1: all messages must have non-empty content except for the optional final assistant message",
        PLAIN,
        add("messages", assistant(), HI),
        add("messages", assistant(text("a")), HI),
    ),
    Case(
        "anthropic.text",
        "messages: text content blocks must be non-empty",
        PLAIN,
        put("messages.0.content", [text("")]),
        put("messages.0.content", [text(".")]),
    ),
    Case(
        "anthropic.text",
        "messages: text content blocks must contain non-whitespace text",
        PLAIN,
        add("messages", assistant(text(" \n")), HI),
    ),
    Case(
        "anthropic.tools", "Requests which include `tool_use` or `tool_result` blocks must define tools", ROUND, drop("tools")
    ),
    Case(
        "anthropic.tools",
        "Requests which include `tool_use` or `tool_result` blocks must define tools",
        ROUND,
        put("tools", []),
    ),
    Case(
        "anthropic.id",
        "messages.1.content.1.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'",
        ROUND,
        each(put("messages.1.content.1.id", "a b"), put("messages.2.content.0.tool_use_id", "a b")),
    ),
    Case(
        "anthropic.id.twice",
        "messages.1.content.1: `tool_use` ids must be unique",
        talk(assistant(use("a"), use("b")), user(result("a"), result("b"))),
        put("messages.1.content.1.id", "a"),
    ),
    Case(
        "anthropic.input",
        "messages.1.content.1.tool_use.input: Input should be a valid dictionary",
        ROUND,
        put("messages.1.content.1.input", '{"a":1}'),
        put("messages.1.content.1.input", {"a": 1}),
    ),
    Case(
        "anthropic.result.missing",
        (
            "messages.1: `tool_use` ids were found without `tool_result` blocks immediately after: a, b. Each `tool_use` "
            "block must have a corresponding `tool_result` block in the next message."
        ),
        ROUND,
        drop("messages.2"),
    ),
    Case(
        "anthropic.result.missing",
        (
            "messages.1: `tool_use` ids were found without `tool_result` blocks immediately after: b. Each `tool_use` "
            "block must have a corresponding `tool_result` block in the next message."
        ),
        ROUND,
        drop("messages.2.content.1"),
    ),
    Case(
        "anthropic.result.missing",
        (
            "messages.1: `tool_use` ids were found without `tool_result` blocks immediately after: a, b. Each `tool_use` "
            "block must have a corresponding `tool_result` block in the next message."
        ),
        ROUND,
        put("messages.2", HI),
    ),
    Case(
        "anthropic.result.missing",
        (
            "messages.1: `tool_use` ids were found without `tool_result` blocks immediately after: a. Each `tool_use` "
            "block must have a corresponding `tool_result` block in the next message."
        ),
        talk(assistant(use("a")), user(result("a")), assistant(text("x")), HI),
        each(drop("messages.2"), add("messages", assistant(text("y")), user(result("a")))),
    ),
    Case(
        "anthropic.result.first",
        (
            "messages.1: `tool_use` ids were found without `tool_result` blocks immediately after: a, b. Each `tool_use` "
            "block must have a corresponding `tool_result` block in the next message."
        ),
        ROUND,
        put("messages.2.content", [text("here:"), result("a"), result("b")]),
        put("messages.2.content", [result("b"), result("a"), text("that was it")]),
    ),
    Case(
        "anthropic.result.orphan",
        (
            "messages.1.content.0: unexpected `tool_use_id` found in `tool_result` blocks: a. Each `tool_result` block "
            "must have a corresponding `tool_use` block in the previous message."
        ),
        PLAIN,
        add("messages", user(result("a"))),
    ),
    Case(
        "anthropic.result.orphan",
        (
            "messages.4.content.0: unexpected `tool_use_id` found in `tool_result` blocks: a. Each `tool_result` block "
            "must have a corresponding `tool_use` block in the previous message."
        ),
        ROUND,
        add("messages", assistant(text("x")), user(result("a"))),
    ),
    Case(
        "anthropic.result.twice",
        "messages.2.content.2: each tool_use must have a single result. Found multiple `tool_result` blocks with id: a",
        ROUND,
        add("messages.2.content", result("a")),
    ),
    Case(
        "anthropic.result.error",
        'messages.2.content.0.tool_result: all content must be type "text" if "is_error" is true',
        ROUND,
        each(
            put("messages.2.content.0.is_error", True), put("messages.2.content.0.content", [{"type": "image", "source": {}}])
        ),
        each(put("messages.2.content.0.is_error", True), put("messages.2.content.0.content", [text("no")])),
    ),
    Case(
        "anthropic.result.toolset",
        "messages.2.content.0.tool_result: toolset_name must be that of the `tool_use` block",
        ROUND,
        put("messages.1.content.1.toolset_name", "browser"),
        each(put("messages.1.content.1.toolset_name", "browser"), put("messages.2.content.0.toolset_name", "browser")),
    ),
    Case(
        "anthropic.programmatic",
        "messages: a response to programmatic tool calls may contain `tool_result` blocks only",
        PROGRAM,
        add("messages.2.content", text("go on")),
    ),
    Case(
        "anthropic.container",
        "container_id is required when there are pending tool uses generated by code execution with tools.",
        PROGRAM,
        drop("container"),
    ),
    Case(
        "anthropic.server.extra",
        "`web_search` tool use with id `s` was found without a corresponding `web_search_tool_result` block",
        MIXED,
        add("messages.2.content", text("and?")),
    ),
    Case(
        "anthropic.server.extra",
        "`web_search` tool use with id `s` was found without a corresponding `web_search_tool_result` block",
        talk(assistant(HOSTED, FOUND), HI, tools=[SEARCH]),
        drop("messages.1.content.1"),
    ),
    Case(
        "anthropic.server.result",
        "`web_search` tool use with id `s` was found without a corresponding `web_search_tool_result` block",
        MIXED,
        add("messages", assistant(text("x")), HI),
        add("messages", assistant(FOUND, text("x")), HI),
    ),
    Case(
        "anthropic.server.tool",
        "`web_search` tool use with id `s` was found, but no `web_search` tool was provided",
        MIXED,
        drop("tools.1"),
    ),
    Case(
        "anthropic.server.tool",
        "`web_search` tool use with id `s` was found, but no `web_search` tool was provided",
        talk(assistant(HOSTED), tools=[SEARCH]),
        put("tools", [TOOL]),
    ),
    Case(
        "anthropic.compaction",
        "messages.1.content.0.compaction.content: must not be empty",
        talk(assistant({"type": "compaction", "content": None}), HI),
        put("messages.1.content.0.content", ""),
        put("messages.1.content.0.content", "what was said"),
    ),
    Case(
        "anthropic.prefill",
        "This model does not support assistant message prefill. The conversation must end with a user message.",
        PLAIN,
        add("messages", assistant(text("I"))),
        each(put("model", "claude-sonnet-4-5"), add("messages", assistant(text("I")))),
    ),
    Case(
        "anthropic.prefill",
        "This model does not support assistant message prefill. The conversation must end with a user message.",
        PLAIN,
        add("messages", assistant(text("other"))),
        add("messages", assistant(*SEARCHING["content"])),  # type: ignore[arg-type]
        said=[(PLAIN, SEARCHING)],
    ),
    Case(
        "anthropic.text.space",
        "messages: final assistant content cannot end with trailing whitespace",
        {**PLAIN, "model": "claude-3-haiku"},
        add("messages", assistant(text("I "))),
        add("messages", assistant(text("I"))),
    ),
]
