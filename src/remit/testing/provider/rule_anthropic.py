"""What the Anthropic Messages API refuses in a request: heads, tools, settings.

Source: the provider's pages on tool use and on each model, its SDK's types, and the wording that clients report.
The transcript's own rules are in `rule_anthropic_turn`. Invariant: pure checks.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from remit.testing.provider.asked import Asked, repeated
from remit.testing.provider.rule import Found, Rule, at, rule
from remit.testing.provider.value import Object, member, objects, string
from remit.types.ident import Json

__all__ = ["ANTHROPIC_HEAD"]

_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_MOST = 100_000
_TOOLSETS = ("computer_toolset", "browser_toolset")


def _forces(asked: Asked) -> bool:
    return string(member(asked.body, "tool_choice"), "type") in ("any", "tool")


def _chosen(asked: Asked) -> str:
    return string(member(asked.body, "tool_choice"), "name")


def _declared(asked: Asked) -> set[str]:
    return {tool.text("name") for tool in asked.tools}


def _objects_in(schema: Json) -> Iterator[Object]:
    """The schemas of objects in a schema, itself included."""
    if isinstance(schema, list):
        for one in schema:
            yield from _objects_in(one)
    elif isinstance(schema, dict):
        if schema.get("type") == "object" and isinstance(schema.get("properties", {}), dict):
            yield schema
        for one in schema.values():
            yield from _objects_in(one)


@rule("body", "The request body is not valid JSON: expected a JSON object")
def _body(asked: Asked) -> Iterator[Found]:
    if not asked.readable:
        yield {}


@rule("model", "model: Field required")
def _model(asked: Asked) -> Iterator[Found]:
    if not asked.model:
        yield {}


@rule("max_tokens", "max_tokens: {why}")
def _cap(asked: Asked) -> Iterator[Found]:
    cap = asked.body.get("max_tokens")
    if cap is None:
        yield {"why": "Field required"}
    elif not isinstance(cap, int) or isinstance(cap, bool):
        yield {"why": "Input should be a valid integer"}
    elif cap < 1:
        yield {"why": "Input should be greater than or equal to 1"}


@rule("messages", "messages: at least one message is required")
def _no_messages(asked: Asked) -> Iterator[Found]:
    if not asked.messages:
        yield {}


@rule("messages.many", "messages: at most 100000 messages are allowed")
def _too_many(asked: Asked) -> Iterator[Found]:
    if len(asked.messages) > _MOST:
        yield {}


@rule("max_tokens.budget", "`max_tokens` must be greater than `thinking.budget_tokens`.")
def _budget(asked: Asked) -> Iterator[Found]:
    budget, cap = member(asked.body, "thinking").get("budget_tokens"), asked.body.get("max_tokens")
    if isinstance(budget, int) and isinstance(cap, int) and budget >= cap:
        yield {}


@rule("thinking.mode", "thinking: type `{mode}` is not supported for this model.")
def _mode(asked: Asked) -> Iterator[Found]:
    mode = string(member(asked.body, "thinking"), "type")
    if "opus-5-5" in asked.model and mode in ("disabled", "enabled"):
        yield {"mode": mode}


@rule("thread", "thread_not_found: no message to continue from")
def _thread(asked: Asked) -> Iterator[Found]:
    thread = member(asked.body, "thread")
    known = string(thread, "previous_message_id") in asked.memory.message_ids
    if string(thread, "type") == "continue" and not known:
        yield {}


@rule("tool.name", "{place}.custom.name: String should match pattern '^[a-zA-Z0-9_-]{{1,64}}$'")
def _tool_name(asked: Asked) -> Iterator[Found]:
    custom = [tool for tool in asked.tools if "input_schema" in tool.value]
    yield from (at(tool) for tool in custom if not _NAME.fullmatch(tool.text("name")))


@rule("tool.twice", "tools: Tool names must be unique.")
def _tool_twice(asked: Asked) -> Iterator[Found]:
    yield from (at(tool) for tool in repeated(asked.tools, "name") if tool.text("name"))


@rule("tool.schema", "{place}.custom.input_schema{why}")
def _schema(asked: Asked) -> Iterator[Found]:
    for tool in asked.tools:
        schema = tool.value.get("input_schema")
        if "type" not in tool.value and not isinstance(schema, dict):
            yield at(tool, why=": Field required")
        if isinstance(schema, dict) and schema.get("type") != "object":
            yield at(tool, why=".type: Input should be 'object'")


@rule("tool.strict", "{place}.custom: For 'object' type, 'additionalProperties' must be explicitly set to false")
def _strict(asked: Asked) -> Iterator[Found]:
    for tool in asked.tools:
        schemas = _objects_in(tool.value.get("input_schema")) if tool.value.get("strict") is True else ()
        yield from (at(tool) for schema in schemas if schema.get("additionalProperties") is not False)


@rule("toolset", "{place}: not supported with a toolset")
def _toolset(asked: Asked) -> Iterator[Found]:
    sets = [tool for tool in asked.tools if tool.kind.startswith(_TOOLSETS)]
    for tool in sets:
        yield from ({"place": f"{tool.place}.{key}"} for key in ("strict", "input_examples") if key in tool.value)
    named = string(member(asked.body, "tool_choice"), "type") == "tool"
    if sets and named and _chosen(asked) not in _declared(asked):
        yield {"place": "tool_choice"}


@rule("tool_choice.alone", "tool_choice may only be specified while providing tools.")
def _choice_alone(asked: Asked) -> Iterator[Found]:
    if member(asked.body, "tool_choice") and not asked.tools:
        yield {}


@rule("tool_choice.forced", 'tool_choice: type "tool" and "any" are not supported for this model.')
def _choice_forced(asked: Asked) -> Iterator[Found]:
    if asked.binds_thinking and _forces(asked):
        yield {}


@rule("tool_choice.thinking", "Thinking may not be enabled when tool_choice forces tool use.")
def _choice_thinking(asked: Asked) -> Iterator[Found]:
    if string(member(asked.body, "thinking"), "type") == "enabled" and _forces(asked):
        yield {}


@rule("tool_choice.unknown", "Tool '{name}' not found in provided tools")
def _choice_unknown(asked: Asked) -> Iterator[Found]:
    if _chosen(asked) and _chosen(asked) not in _declared(asked):
        yield {"name": _chosen(asked)}


@rule("tool.conflict", "tool_name_conflict: {place}: a tool named '{name}' is available already")
def _conflict(asked: Asked) -> Iterator[Found]:
    known = {tool.text("name") for tool in asked.tools if tool.value.get("defer_loading") is not True}
    for change in asked.changes:
        tool = member(change.value, "tool")
        name = string(tool, "name")
        if change.kind == "tool_removal":
            known.discard(name)
        elif name in known and "input_schema" in tool:
            yield at(change, name=name)
        else:
            known.add(name)


@rule("tool.reference", "tool_reference_unresolved: Tool reference '{name}' not found in available tools")
def _reference(asked: Asked) -> Iterator[Found]:
    known = _declared(asked) | {string(member(one.value, "tool"), "name") for one in asked.changes}
    results = [result.value for turn in asked.turns for result in turn.of("tool_result")]
    parts = (part for result in results for part in objects(result, "content") if string(part, "type") == "tool_reference")
    yield from ({"name": string(part, "tool_name")} for part in parts if string(part, "tool_name") not in known)


ANTHROPIC_HEAD: tuple[Rule, ...] = (
    _body,
    _model,
    _cap,
    _no_messages,
    _too_many,
    _budget,
    _mode,
    _thread,
    _tool_name,
    _tool_twice,
    _schema,
    _strict,
    _toolset,
    _choice_alone,
    _choice_forced,
    _choice_thinking,
    _choice_unknown,
    _conflict,
    _reference,
)
"""In the order in which it looks."""
