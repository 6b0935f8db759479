"""What the Anthropic Messages API refuses in a transcript.

Source: the provider's pages on tool use, stop reasons and thinking, its SDK's docstrings, and the wording that
clients report. Invariant: pure data and pure checks; one reply's answers are looked for in the next turn only.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

from remit.testing.provider.asked import Asked, Placed, Turn, canonical, member, objects, string
from remit.testing.provider.memory import Memory
from remit.testing.provider.rule import Check, Found, Rule

__all__ = ["ANTHROPIC_TURN"]

_ID = re.compile(r"[a-zA-Z0-9_-]+")
_PREFILLED = re.compile(r"claude-(2|3|instant)|claude-(opus|sonnet|haiku)-4(-[0-5])?(-\d{8})?$|claude-haiku-4-5")
_SERVER_CALLS = ("server_tool_use", "mcp_tool_use")
_ROLES = ("user", "assistant", "system")


def _rule(code: str, message: str, check: Check) -> Rule:
    return Rule(code=f"anthropic.{code}", protocol="anthropic", message=message, check=check)


def _pairs(asked: Asked) -> Iterator[tuple[Turn, Turn | None]]:
    """Each assistant turn, with the turn after it."""
    turns = asked.turns
    for index, turn in enumerate(turns):
        if turn.role == "assistant":
            yield turn, turns[index + 1] if index + 1 < len(turns) else None


def _leading(turn: Turn | None) -> list[Placed]:
    """The results at the head of a turn."""
    found: list[Placed] = []
    for block in turn.blocks if turn else ():
        if block.kind != "tool_result":
            break
        found.append(block)
    return found


def _waiting(turn: Turn) -> list[Placed]:
    """Provider-run calls that have no result in their turn."""
    done = {block.text("tool_use_id") for block in turn.blocks if block.kind.endswith("tool_result")}
    return [block for block in turn.of(*_SERVER_CALLS) if block.text("id") not in done]


def _role(asked: Asked, _: Memory) -> Found:
    for message in asked.messages:
        if message.text("role") not in _ROLES:
            return {"role": message.text("role")}
    return None


def _no_content(asked: Asked, _: Memory) -> Found:
    for message in asked.messages[:-1] if asked.turns and asked.turns[-1].role == "assistant" else asked.messages:
        if not message.value.get("content"):
            return {"place": message.place}
    return None


def _empty_text(asked: Asked, _: Memory) -> Found:
    for turn in asked.turns:
        for block in turn.of("text"):
            if not block.text("text"):
                return {"why": "text content blocks must be non-empty"}
            if not block.text("text").strip():
                return {"why": "text content blocks must contain non-whitespace text"}
    return None


def _prefilled(asked: Asked, memory: Memory) -> Turn | None:
    """The last turn, where it is an assistant's that the provider is not itself to go on with."""
    last = asked.turns[-1] if asked.turns else None
    if last is None or last.role != "assistant" or last.of(*_SERVER_CALLS, "compaction"):
        return None
    content = [dict(block) for block in objects(asked.messages[-1].value, "content")]
    return None if canonical([*content]) in memory.paused else last


def _prefill(asked: Asked, memory: Memory) -> Found:
    return {} if _prefilled(asked, memory) and not _PREFILLED.match(asked.model) else None


def _last_space(asked: Asked, memory: Memory) -> Found:
    last = _prefilled(asked, memory)
    text = last.blocks[-1].text("text") if last and last.blocks else ""
    return {} if text != text.rstrip() else None


def _id_pattern(asked: Asked, _: Memory) -> Found:
    for turn in asked.turns:
        for block in turn.of("tool_use"):
            if not _ID.fullmatch(block.text("id")):
                return {"place": block.place}
    return None


def _ids_twice(asked: Asked, _: Memory) -> Found:
    for turn in asked.turns:
        seen: set[str] = set()
        for block in turn.of("tool_use", *_SERVER_CALLS):
            if block.text("id") in seen:
                return {"place": block.place}
            seen.add(block.text("id"))
    return None


def _input(asked: Asked, _: Memory) -> Found:
    for turn in asked.turns:
        for block in turn.of("tool_use", "server_tool_use"):
            if not isinstance(block.value.get("input"), dict):
                return {"place": f"{block.place}.{block.kind}"}
    return None


def _missing(asked: Asked, _: Memory) -> Found:
    for turn, after in _pairs(asked):
        done = {block.text("tool_use_id") for block in (after.of("tool_result") if after else ())}
        open_ids = [block.text("id") for block in turn.of("tool_use") if block.text("id") not in done]
        if open_ids:
            return {"place": turn.place, "ids": ", ".join(open_ids)}
    return None


def _not_first(asked: Asked, _: Memory) -> Found:
    for turn, after in _pairs(asked):
        done = {block.text("tool_use_id") for block in _leading(after)}
        late = [block.text("id") for block in turn.of("tool_use") if block.text("id") not in done]
        if late:
            return {"place": turn.place, "ids": ", ".join(late)}
    return None


def _orphan(asked: Asked, _: Memory) -> Found:
    asked_for: set[str] = set()
    for turn in asked.turns:
        for block in turn.of("tool_result"):
            if block.text("tool_use_id") not in asked_for:
                return {"place": block.place, "id": block.text("tool_use_id")}
        asked_for = {block.text("id") for block in turn.of("tool_use")} if turn.role == "assistant" else set()
    return None


def _answered_twice(asked: Asked, _: Memory) -> Found:
    for turn in asked.turns:
        seen: set[str] = set()
        for block in turn.of("tool_result"):
            if block.text("tool_use_id") in seen:
                return {"place": block.place, "id": block.text("tool_use_id")}
            seen.add(block.text("tool_use_id"))
    return None


def _error_content(asked: Asked, _: Memory) -> Found:
    for turn in asked.turns:
        for block in turn.of("tool_result"):
            kinds = {string(one, "type") for one in objects(block.value, "content")}
            if block.value.get("is_error") is True and kinds - {"text"}:
                return {"place": block.place}
    return None


def _toolset_name(asked: Asked, _: Memory) -> Found:
    for turn, after in _pairs(asked):
        named = {block.text("id"): block.text("toolset_name") for block in turn.of("tool_use")}
        for block in after.of("tool_result") if after else ():
            if named.get(block.text("tool_use_id"), "") != block.text("toolset_name"):
                return {"place": block.place}
    return None


def _unresolved(asked: Asked, _: Memory) -> Found:
    for turn, after in _pairs(asked):
        for call in _waiting(turn) if after else ():
            extra = [block for block in (after.blocks if after else ()) if block.kind != "tool_result"]
            if extra or not turn.of("tool_use"):
                return {"name": call.text("name"), "id": call.text("id")}
    return None


def _never_resolved(asked: Asked, _: Memory) -> Found:
    for (turn, _after), (later, _last) in pairwise(_pairs(asked)):
        done = {block.text("tool_use_id") for block in later.blocks}
        for call in _waiting(turn):
            if call.text("id") not in done:
                return {"name": call.text("name"), "id": call.text("id")}
    return None


def _dropped(asked: Asked, _: Memory) -> Found:
    last = next((turn for turn in reversed(asked.turns) if turn.role == "assistant"), None)
    kinds = [f"{tool.kind} {tool.text('name')} {tool.text('mcp_server_name')}" for tool in asked.tools]
    # Code that waits in its container for calls of its own goes on without its tool being declared again.
    for call in _waiting(last) if last and not _programmatic(last) else ():
        name = call.text("server_name") if call.kind == "mcp_tool_use" else call.text("name")
        family = re.sub(r"^(bash|text_editor)_(?=code_execution)", "", name)
        if not any(family in kind for kind in kinds):
            return {"name": name, "id": call.text("id")}
    return None


def _programmatic(turn: Turn) -> list[Placed]:
    return [one for one in turn.of("tool_use") if string(member(one.value, "caller"), "type").startswith("code_execution")]


def _programmatic_extra(asked: Asked, _: Memory) -> Found:
    for turn, after in _pairs(asked):
        if _programmatic(turn) and any(block.kind != "tool_result" for block in (after.blocks if after else ())):
            return {}
    return None


def _container(asked: Asked, _: Memory) -> Found:
    last = next((turn for turn in reversed(asked.turns) if turn.role == "assistant"), None)
    pending = last is not None and _programmatic(last) and _waiting(last)
    return {} if pending and not asked.body.get("container") else None


def _no_tools(asked: Asked, _: Memory) -> Found:
    used = any(turn.of("tool_use", "tool_result") for turn in asked.turns)
    return {} if used and not asked.tools else None


def _compaction(asked: Asked, _: Memory) -> Found:
    for turn in asked.turns:
        for block in turn.of("compaction"):
            if block.value.get("content") == "":
                return {"place": block.place}
    return None


ANTHROPIC_TURN: tuple[Rule, ...] = (
    _rule("role", 'messages: Unexpected role "{role}". Allowed roles are "user", "assistant" and "system".', _role),
    _rule(
        "content",
        "{place}: all messages must have non-empty content except for the optional final assistant message",
        _no_content,
    ),
    _rule("text", "messages: {why}", _empty_text),
    _rule("tools", "Requests which include `tool_use` or `tool_result` blocks must define tools", _no_tools),
    _rule("id", "{place}.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'", _id_pattern),
    _rule("id.twice", "{place}: `tool_use` ids must be unique", _ids_twice),
    _rule("input", "{place}.input: Input should be a valid dictionary", _input),
    _rule(
        "result.missing",
        "{place}: `tool_use` ids were found without `tool_result` blocks immediately after: {ids}. Each `tool_use` block "
        "must have a corresponding `tool_result` block in the next message.",
        _missing,
    ),
    _rule(
        "result.first",
        "{place}: `tool_use` ids were found without `tool_result` blocks immediately after: {ids}. Each `tool_use` block "
        "must have a corresponding `tool_result` block in the next message.",
        _not_first,
    ),
    _rule(
        "result.orphan",
        "{place}: unexpected `tool_use_id` found in `tool_result` blocks: {id}. Each `tool_result` block must have a "
        "corresponding `tool_use` block in the previous message.",
        _orphan,
    ),
    _rule(
        "result.twice",
        "{place}: each tool_use must have a single result. Found multiple `tool_result` blocks with id: {id}",
        _answered_twice,
    ),
    _rule("result.error", '{place}.tool_result: all content must be type "text" if "is_error" is true', _error_content),
    _rule("result.toolset", "{place}.tool_result: toolset_name must be that of the `tool_use` block", _toolset_name),
    _rule(
        "programmatic",
        "messages: a response to programmatic tool calls may contain `tool_result` blocks only",
        _programmatic_extra,
    ),
    _rule(
        "server.extra",
        "`{name}` tool use with id `{id}` was found without a corresponding `{name}_tool_result` block",
        _unresolved,
    ),
    _rule(
        "server.result",
        "`{name}` tool use with id `{id}` was found without a corresponding `{name}_tool_result` block",
        _never_resolved,
    ),
    _rule("server.tool", "`{name}` tool use with id `{id}` was found, but no `{name}` tool was provided", _dropped),
    _rule(
        "container",
        "container_id is required when there are pending tool uses generated by code execution with tools.",
        _container,
    ),
    _rule("compaction", "{place}.compaction.content: must not be empty", _compaction),
    _rule(
        "prefill",
        "This model does not support assistant message prefill. The conversation must end with a user message.",
        _prefill,
    ),
    _rule("text.space", "messages: final assistant content cannot end with trailing whitespace", _last_space),
)
