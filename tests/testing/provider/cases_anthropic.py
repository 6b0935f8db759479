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
THINKING = talk(assistant(*THOUGHT_OF["content"]), user(result("a"), result("b")))  # type: ignore[arg-type]
LATER = talk(assistant(*THOUGHT_OF["content"]), user(result("a"), result("b"), text("and now?")))  # type: ignore[arg-type]
BOUND = {**THINKING, "model": "claude-opus-5-5"}
SEARCHING = {"id": "msg_2", "stop_reason": "pause_turn", "content": [text("searching ")]}

CASES: list[Case] = [
    Case("anthropic.model", PLAIN, drop("model")),
    Case("anthropic.max_tokens", PLAIN, drop("max_tokens"), put("max_tokens", 1)),
    Case("anthropic.max_tokens", PLAIN, put("max_tokens", 0)),
    Case("anthropic.max_tokens", PLAIN, put("max_tokens", True)),
    Case(
        "anthropic.max_tokens.budget",
        PLAIN,
        put("thinking", {"type": "enabled", "budget_tokens": 100}),
        put("thinking", {"type": "enabled", "budget_tokens": 99}),
    ),
    Case(
        "anthropic.thinking.mode",
        {**PLAIN, "model": "claude-opus-5-5"},
        put("thinking", {"type": "disabled"}),
        put("thinking", {"type": "adaptive"}),
    ),
    Case(
        "anthropic.thread",
        PLAIN,
        put("thread", {"type": "continue", "previous_message_id": "msg_none"}),
        put("thread", {"type": "continue", "previous_message_id": "msg_1"}),
        said=SAID,
    ),
    Case("anthropic.tool.name", PLAIN, put("tools.0.name", "look.up"), put("tools.0.name", "l" * 64)),
    Case("anthropic.tool.name", PLAIN, put("tools.0.name", "l" * 65)),
    Case("anthropic.tool.twice", PLAIN, add("tools", TOOL), add("tools", {**TOOL, "name": "other"})),
    Case("anthropic.tool.schema", PLAIN, put("tools.0.input_schema", {"type": "array"})),
    Case("anthropic.tool.schema", PLAIN, drop("tools.0.input_schema")),
    Case(
        "anthropic.tool.strict",
        PLAIN,
        put("tools.0.strict", True),
        each(put("tools.0.strict", True), put("tools.0.input_schema", SCHEMA)),
    ),
    Case(
        "anthropic.tool.strict",
        PLAIN,
        each(
            put("tools.0.strict", True),
            put("tools.0.input_schema", {**SCHEMA, "properties": {"a": {"type": "array", "items": LOOSE}}}),
        ),
    ),
    Case("anthropic.toolset", PLAIN, add("tools", {**BROWSER, "strict": True}), add("tools", BROWSER)),
    Case("anthropic.toolset", PLAIN, each(add("tools", BROWSER), put("tool_choice", {"type": "tool", "name": "click"}))),
    Case("anthropic.tool_choice.alone", PLAIN, each(drop("tools"), put("tool_choice", {"type": "none"})), drop("tools")),
    Case(
        "anthropic.tool_choice.forced",
        {**PLAIN, "model": "claude-sonnet-5-5"},
        put("tool_choice", {"type": "any"}),
        put("tool_choice", {"type": "auto"}),
    ),
    Case(
        "anthropic.tool_choice.thinking",
        {**PLAIN, "thinking": {"type": "enabled", "budget_tokens": 10}},
        put("tool_choice", {"type": "any"}),
        put("tool_choice", {"type": "auto"}),
    ),
    Case(
        "anthropic.tool_choice.unknown",
        PLAIN,
        put("tool_choice", {"type": "tool", "name": "loook"}),
        put("tool_choice", {"type": "tool", "name": "look"}),
    ),
    Case(
        "anthropic.tool.conflict",
        PLAIN,
        add("messages", {"role": "system", "content": [{"type": "tool_addition", "tool": TOOL}]}),
        add("messages", {"role": "system", "content": [{"type": "tool_addition", "tool": {**TOOL, "name": "more"}}]}),
    ),
    Case(
        "anthropic.tool.reference",
        ROUND,
        put("messages.2.content.0.content", [{"type": "tool_reference", "tool_name": "gone"}]),
        put("messages.2.content.0.content", [{"type": "tool_reference", "tool_name": "look"}]),
    ),
    Case("anthropic.messages", PLAIN, put("messages", [])),
    Case("anthropic.messages.many", PLAIN, put("messages", [HI] * 100_001)),
    Case("anthropic.role", PLAIN, put("messages.0.role", "tool"), add("messages", {"role": "system", "content": "be brief"})),
    Case("anthropic.content", PLAIN, put("messages.0.content", [])),
    Case("anthropic.content", PLAIN, add("messages", assistant(), HI), add("messages", assistant(text("a")), HI)),
    Case("anthropic.text", PLAIN, put("messages.0.content", [text("")]), put("messages.0.content", [text(".")])),
    Case("anthropic.text", PLAIN, add("messages", assistant(text(" \n")), HI)),
    Case("anthropic.tools", ROUND, drop("tools")),
    Case("anthropic.tools", ROUND, put("tools", [])),
    Case("anthropic.id", ROUND, each(put("messages.1.content.1.id", "a b"), put("messages.2.content.0.tool_use_id", "a b"))),
    Case(
        "anthropic.id.twice",
        talk(assistant(use("a"), use("b")), user(result("a"), result("b"))),
        put("messages.1.content.1.id", "a"),
    ),
    Case("anthropic.input", ROUND, put("messages.1.content.1.input", '{"a":1}'), put("messages.1.content.1.input", {"a": 1})),
    Case("anthropic.result.missing", ROUND, drop("messages.2")),
    Case("anthropic.result.missing", ROUND, drop("messages.2.content.1")),
    Case("anthropic.result.missing", ROUND, put("messages.2", HI)),
    Case(
        "anthropic.result.missing",
        talk(assistant(use("a")), user(result("a")), assistant(text("x")), HI),
        each(drop("messages.2"), add("messages", assistant(text("y")), user(result("a")))),
    ),
    Case(
        "anthropic.result.first",
        ROUND,
        put("messages.2.content", [text("here:"), result("a"), result("b")]),
        put("messages.2.content", [result("b"), result("a"), text("that was it")]),
    ),
    Case("anthropic.result.orphan", PLAIN, add("messages", user(result("a")))),
    Case("anthropic.result.orphan", ROUND, add("messages", assistant(text("x")), user(result("a")))),
    Case("anthropic.result.twice", ROUND, add("messages.2.content", result("a"))),
    Case(
        "anthropic.result.error",
        ROUND,
        each(
            put("messages.2.content.0.is_error", True), put("messages.2.content.0.content", [{"type": "image", "source": {}}])
        ),
        each(put("messages.2.content.0.is_error", True), put("messages.2.content.0.content", [text("no")])),
    ),
    Case(
        "anthropic.result.toolset",
        ROUND,
        put("messages.1.content.1.toolset_name", "browser"),
        each(put("messages.1.content.1.toolset_name", "browser"), put("messages.2.content.0.toolset_name", "browser")),
    ),
    Case("anthropic.programmatic", PROGRAM, add("messages.2.content", text("go on"))),
    Case("anthropic.container", PROGRAM, drop("container")),
    Case("anthropic.server.extra", MIXED, add("messages.2.content", text("and?"))),
    Case(
        "anthropic.server.extra",
        talk(assistant(HOSTED, FOUND), HI, tools=[SEARCH]),
        drop("messages.1.content.1"),
    ),
    Case(
        "anthropic.server.result",
        MIXED,
        add("messages", assistant(text("x")), HI),
        add("messages", assistant(FOUND, text("x")), HI),
    ),
    Case("anthropic.server.tool", MIXED, drop("tools.1")),
    Case(
        "anthropic.server.tool",
        talk(assistant(HOSTED), tools=[SEARCH]),
        put("tools", [TOOL]),
    ),
    Case(
        "anthropic.compaction",
        talk(assistant({"type": "compaction", "content": None}), HI),
        put("messages.1.content.0.content", ""),
        put("messages.1.content.0.content", "what was said"),
    ),
    Case(
        "anthropic.prefill",
        PLAIN,
        add("messages", assistant(text("I"))),
        each(put("model", "claude-sonnet-4-5"), add("messages", assistant(text("I")))),
    ),
    Case(
        "anthropic.prefill",
        PLAIN,
        add("messages", assistant(text("other"))),
        add("messages", assistant(*SEARCHING["content"])),  # type: ignore[arg-type]
        said=[(PLAIN, SEARCHING)],
    ),
    Case(
        "anthropic.text.space",
        {**PLAIN, "model": "claude-3-haiku"},
        add("messages", assistant(text("I "))),
        add("messages", assistant(text("I"))),
    ),
    Case("anthropic.thinking.edited", THINKING, put("messages.1.content.0.thinking", "about z"), said=SAID),
    Case("anthropic.thinking.edited", THINKING, put("messages.1.content.0.signature", "sig_z"), said=SAID),
    Case("anthropic.thinking.edited", LATER, put("messages.1.content.2.thinking", "about z"), said=SAID),
    Case(
        "anthropic.thinking.moved",
        THINKING,
        put("messages.1.content", [thought("y"), use("a"), thought("x"), use("b")]),
        said=SAID,
    ),
    Case(
        "anthropic.thinking.moved",
        THINKING,
        put("messages.1.content", [thought("x"), thought("y"), use("a"), use("b")]),
        said=SAID,
    ),
    Case("anthropic.thinking.dropped", THINKING, drop("messages.1.content.0"), said=SAID),
    Case("anthropic.thinking.dropped", THINKING, put("messages.1.content", [use("a"), use("b")]), said=SAID),
    Case(
        "anthropic.thinking.dropped",
        LATER,
        drop("messages.1.content.0"),
        put("messages.1.content", [use("a"), use("b")]),
        said=SAID,
    ),
    Case(
        "anthropic.thinking.first",
        {**ROUND, "thinking": {"type": "enabled", "budget_tokens": 10}},
        put("messages.1.content.0", text("first")),
        put("messages.1.content.0", thought("q")),
    ),
    Case(
        "anthropic.thinking.last",
        talk(assistant(thought("q"), text("so")), HI),
        put("messages.1.content", [text("so"), thought("q")]),
    ),
    Case("anthropic.thinking.last", talk(assistant(text("so")), HI), put("messages.1.content", [thought("q")])),
    Case(
        "anthropic.thinking.last",
        PLAIN,
        add("messages", assistant(thought("q")), HI),
        add("messages", assistant(thought("q"))),
        said=[(PLAIN, {"id": "msg_3", "stop_reason": "pause_turn", "content": [thought("q")]})],
    ),
    Case("anthropic.thinking.bound", BOUND, put("system", "other"), said=[({**PLAIN, "model": "claude-opus-5-5"}, THOUGHT_OF)]),
    Case("anthropic.thinking.bound", BOUND, put("messages.0.content", "ho"), put("messages.0", user(text("hi"))), said=SAID),
    Case(
        "anthropic.thinking.bound",
        BOUND,
        put("tools.0.description", "e"),
        each(
            put("tools.0.description", "e"),
            put("thinking", {"type": "adaptive", "block_binding": {"prefix_mismatch_behavior": "drop_block"}}),
        ),
        said=SAID,
    ),
]
