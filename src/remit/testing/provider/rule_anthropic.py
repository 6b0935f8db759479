"""What the Anthropic Messages API refuses in a request: heads, tools, settings.

Source: the provider's pages on tool use and on each model, its SDK's types, and the wording that clients report.
The transcript's own rules are in `rule_anthropic_turn`. Invariant: pure data and pure checks.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from remit.testing.provider.asked import Asked, Object, Placed, blocks, member, objects, string
from remit.testing.provider.memory import Memory
from remit.testing.provider.rule import Check, Found, Rule
from remit.types.ident import Json

__all__ = ["ANTHROPIC_HEAD"]

_BOUND = re.compile(r"(opus|sonnet)-5-5|(fable|mythos)-5-1")
_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_MOST = 100_000
_TOOLSETS = ("computer_toolset", "browser_toolset")


def _rule(code: str, message: str, check: Check) -> Rule:
    return Rule(code=f"anthropic.{code}", protocol="anthropic", message=message, check=check)


def _unreadable(asked: Asked, _: Memory) -> Found:
    return None if asked.readable else {}


def _no_model(asked: Asked, _: Memory) -> Found:
    return None if asked.model else {}


def _max_tokens(asked: Asked, _: Memory) -> Found:
    cap = asked.body.get("max_tokens")
    if cap is None:
        return {"why": "Field required"}
    if not isinstance(cap, int) or isinstance(cap, bool):
        return {"why": "Input should be a valid integer"}
    return {"why": "Input should be greater than or equal to 1"} if cap < 1 else None


def _no_messages(asked: Asked, _: Memory) -> Found:
    return None if asked.messages else {}


def _too_many(asked: Asked, _: Memory) -> Found:
    return {} if len(asked.messages) > _MOST else None


def _budget(asked: Asked, _: Memory) -> Found:
    budget, cap = member(asked.body, "thinking").get("budget_tokens"), asked.body.get("max_tokens")
    return {} if isinstance(budget, int) and isinstance(cap, int) and budget >= cap else None


def _thinking_mode(asked: Asked, _: Memory) -> Found:
    mode = string(member(asked.body, "thinking"), "type")
    return {"mode": mode} if "opus-5-5" in asked.model and mode in ("disabled", "enabled") else None


def _thread(asked: Asked, memory: Memory) -> Found:
    thread = member(asked.body, "thread")
    known = string(thread, "previous_message_id") in memory.message_ids
    return {} if string(thread, "type") == "continue" and not known else None


def _tool_name(asked: Asked, _: Memory) -> Found:
    for tool in asked.tools:
        if "input_schema" in tool.value and not _NAME.fullmatch(tool.text("name")):
            return {"place": tool.place}
    return None


def _tool_names(asked: Asked, _: Memory) -> Found:
    names = [tool.text("name") for tool in asked.tools if tool.text("name")]
    return None if len(names) == len(set(names)) else {}


def _schema_root(asked: Asked, _: Memory) -> Found:
    for tool in asked.tools:
        schema = tool.value.get("input_schema")
        if "type" not in tool.value and not isinstance(schema, dict):
            return {"place": f"{tool.place}.custom.input_schema", "why": "Field required"}
        if isinstance(schema, dict) and schema.get("type") != "object":
            return {"place": f"{tool.place}.custom.input_schema.type", "why": "Input should be 'object'"}
    return None


def _strict(asked: Asked, _: Memory) -> Found:
    for tool in asked.tools:
        if tool.value.get("strict") is True:
            for schema in _objects_in(tool.value.get("input_schema")):
                if schema.get("additionalProperties") is not False:
                    return {"place": tool.place}
    return None


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


def _toolset(asked: Asked, _: Memory) -> Found:
    sets = [tool for tool in asked.tools if tool.kind.startswith(_TOOLSETS)]
    for tool in sets:
        for key in ("strict", "input_examples"):
            if key in tool.value:
                return {"place": f"{tool.place}.{key}"}
    named = string(member(asked.body, "tool_choice"), "type") == "tool"
    return {"place": "tool_choice"} if sets and named and _chosen(asked) not in _declared(asked) else None


def _choice_alone(asked: Asked, _: Memory) -> Found:
    return {} if member(asked.body, "tool_choice") and not asked.tools else None


def _choice_forced(asked: Asked, _: Memory) -> Found:
    return {} if _BOUND.search(asked.model) and _forces(asked) else None


def _choice_thinking(asked: Asked, _: Memory) -> Found:
    thinks = string(member(asked.body, "thinking"), "type") == "enabled"
    return {} if thinks and _forces(asked) else None


def _choice_unknown(asked: Asked, _: Memory) -> Found:
    chosen = _chosen(asked)
    return {"name": chosen} if chosen and chosen not in _declared(asked) else None


def _forces(asked: Asked) -> bool:
    return string(member(asked.body, "tool_choice"), "type") in ("any", "tool")


def _chosen(asked: Asked) -> str:
    return string(member(asked.body, "tool_choice"), "name")


def _declared(asked: Asked) -> set[str]:
    return {tool.text("name") for tool in asked.tools}


def _tool_changes(asked: Asked) -> Iterator[Placed]:
    for message in asked.messages:
        if message.text("role") == "system":
            yield from (block for block in blocks(message) if block.kind in ("tool_addition", "tool_removal"))


def _addition(asked: Asked, _: Memory) -> Found:
    known = {tool.text("name") for tool in asked.tools if tool.value.get("defer_loading") is not True}
    for change in _tool_changes(asked):
        name = string(member(change.value, "tool"), "name")
        if change.kind == "tool_removal":
            known.discard(name)
        elif name in known and "input_schema" in member(change.value, "tool"):
            return {"place": change.place, "name": name}
        else:
            known.add(name)
    return None


def _reference(asked: Asked, _: Memory) -> Found:
    known = _declared(asked) | {string(member(one.value, "tool"), "name") for one in _tool_changes(asked)}
    for turn in asked.turns:
        for result in turn.of("tool_result"):
            for block in objects(result.value, "content"):
                if string(block, "type") == "tool_reference" and string(block, "tool_name") not in known:
                    return {"name": string(block, "tool_name")}
    return None


ANTHROPIC_HEAD: tuple[Rule, ...] = (
    _rule("body", "The request body is not valid JSON: expected a JSON object", _unreadable),
    _rule("model", "model: Field required", _no_model),
    _rule("max_tokens", "max_tokens: {why}", _max_tokens),
    _rule("messages", "messages: at least one message is required", _no_messages),
    _rule("messages.many", "messages: at most 100000 messages are allowed", _too_many),
    _rule("max_tokens.budget", "`max_tokens` must be greater than `thinking.budget_tokens`.", _budget),
    _rule("thinking.mode", "thinking: type `{mode}` is not supported for this model.", _thinking_mode),
    _rule("thread", "thread_not_found: no message to continue from", _thread),
    _rule("tool.name", "{place}.custom.name: String should match pattern '^[a-zA-Z0-9_-]{{1,64}}$'", _tool_name),
    _rule("tool.twice", "tools: Tool names must be unique.", _tool_names),
    _rule("tool.schema", "{place}: {why}", _schema_root),
    _rule(
        "tool.strict",
        "{place}.custom: For 'object' type, 'additionalProperties' must be explicitly set to false",
        _strict,
    ),
    _rule("toolset", "{place}: not supported with a toolset", _toolset),
    _rule("tool_choice.alone", "tool_choice may only be specified while providing tools.", _choice_alone),
    _rule(
        "tool_choice.forced",
        'tool_choice: type "tool" and "any" are not supported for this model.',
        _choice_forced,
    ),
    _rule("tool_choice.thinking", "Thinking may not be enabled when tool_choice forces tool use.", _choice_thinking),
    _rule("tool_choice.unknown", "Tool '{name}' not found in provided tools", _choice_unknown),
    _rule("tool.conflict", "tool_name_conflict: {place}: a tool named '{name}' is available already", _addition),
    _rule("tool.reference", "tool_reference_unresolved: Tool reference '{name}' not found in available tools", _reference),
)
