"""What the Anthropic Messages API refuses in a transcript.

Source: the provider's pages on tool use, stop reasons and thinking, its SDK's docstrings, and the wording that
clients report. Invariant: pure checks; one reply's answers are looked for in the next turn only.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise, takewhile

from remit.testing.provider.asked import Asked, Placed, Turn, repeated
from remit.testing.provider.rule import Found, Rule, at, rule
from remit.testing.provider.value import canonical, member, objects, string, strings

__all__ = ["ANTHROPIC_TURN"]

_ID = re.compile(r"[a-zA-Z0-9_-]+")
_PREFILLED = re.compile(r"claude-(2|3|instant)|claude-(opus|sonnet|haiku)-4(-[0-5])?(-\d{8})?$|claude-haiku-4-5")
_SERVER_CALLS = ("server_tool_use", "mcp_tool_use")
_ROLES = ("user", "assistant", "system")
_UNANSWERED = (
    "{place}: `tool_use` ids were found without `tool_result` blocks immediately after: {ids}. Each `tool_use` block "
    "must have a corresponding `tool_result` block in the next message."
)
_UNRESOLVED = "`{name}` tool use with id `{id}` was found without a corresponding `{name}_tool_result` block"


def _every(asked: Asked, *kinds: str) -> Iterator[Placed]:
    """The blocks of these types in all turns."""
    for turn in asked.turns:
        yield from turn.of(*kinds)


def _without(turn: Turn, results: list[Placed]) -> Iterator[Found]:
    """The calls of a turn that have none of these results, as one breach."""
    done = {block.text("tool_use_id") for block in results}
    open_ids = [block.text("id") for block in turn.of("tool_use") if block.text("id") not in done]
    if open_ids:
        yield at(turn, ids=", ".join(open_ids))


def _waiting(turn: Turn) -> list[Placed]:
    """Provider-run calls that have no result in their turn."""
    done = {block.text("tool_use_id") for block in turn.blocks if block.kind.endswith("tool_result")}
    return [block for block in turn.of(*_SERVER_CALLS) if block.text("id") not in done]


def _named(call: Placed) -> Found:
    return {"name": call.text("name"), "id": call.text("id")}


def _programmatic(turn: Turn) -> bool:
    """Whether code at the provider made calls of ours in it, and waits for them."""
    callers = [string(member(one.value, "caller"), "type") for one in turn.of("tool_use")]
    return any(caller.startswith("code_execution") for caller in callers)


def _prefilled(asked: Asked) -> Turn | None:
    """The last turn, where it is an assistant's that the provider is not itself to go on with."""
    last = asked.turns[-1] if asked.turns else None
    if last is None or last.role != "assistant" or last.of(*_SERVER_CALLS, "compaction"):
        return None
    content = [dict(block) for block in objects(asked.messages[-1].value, "content")]
    return None if canonical([*content]) in asked.memory.paused else last


@rule("role", 'messages: Unexpected role "{role}". Allowed roles are "user", "assistant" and "system".')
def _role(asked: Asked) -> Iterator[Found]:
    yield from ({"role": one.text("role")} for one in asked.messages if one.text("role") not in _ROLES)


@rule("content", "{place}: all messages must have non-empty content except for the optional final assistant message")
def _content(asked: Asked) -> Iterator[Found]:
    prefilled = asked.turns and asked.turns[-1].role == "assistant"
    messages = asked.messages[:-1] if prefilled else asked.messages
    yield from (at(message) for message in messages if not message.value.get("content"))


@rule("text", "messages: text content blocks must {what}")
def _text(asked: Asked) -> Iterator[Found]:
    for block in _every(asked, "text"):
        if not block.text("text").strip():
            yield {"what": "contain non-whitespace text" if block.text("text") else "be non-empty"}


@rule("tools", "Requests which include `tool_use` or `tool_result` blocks must define tools")
def _no_tools(asked: Asked) -> Iterator[Found]:
    if not asked.tools:
        yield from (at(block) for block in _every(asked, "tool_use", "tool_result"))


@rule("id", "{place}.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'")
def _id(asked: Asked) -> Iterator[Found]:
    yield from (at(block) for block in _every(asked, "tool_use") if not _ID.fullmatch(block.text("id")))


@rule("id.twice", "{place}: `tool_use` ids must be unique")
def _ids_twice(asked: Asked) -> Iterator[Found]:
    for turn in asked.turns:
        yield from map(at, repeated(turn.of("tool_use", *_SERVER_CALLS), "id"))


@rule("input", "{place}.{kind}.input: Input should be a valid dictionary")
def _input(asked: Asked) -> Iterator[Found]:
    for block in _every(asked, "tool_use", "server_tool_use"):
        if not isinstance(block.value.get("input"), dict):
            yield at(block, kind=block.kind)


@rule("result.missing", _UNANSWERED)
def _missing(asked: Asked) -> Iterator[Found]:
    for turn, after in asked.replies:
        yield from _without(turn, after.of("tool_result"))


@rule("result.first", _UNANSWERED)
def _not_first(asked: Asked) -> Iterator[Found]:
    """Results stand at the head of their turn."""
    for turn, after in asked.replies:
        yield from _without(turn, [*takewhile(lambda block: block.kind == "tool_result", after.blocks)])


@rule(
    "result.orphan",
    "{place}: unexpected `tool_use_id` found in `tool_result` blocks: {id}. Each `tool_result` block must have a "
    "corresponding `tool_use` block in the previous message.",
)
def _orphan(asked: Asked) -> Iterator[Found]:
    known: set[str] = set()
    for turn in asked.turns:
        ids = ((block, block.text("tool_use_id")) for block in turn.of("tool_result"))
        yield from (at(block, id=one) for block, one in ids if one not in known)
        known = {block.text("id") for block in turn.of("tool_use")} if turn.role == "assistant" else set()


@rule("result.twice", "{place}: each tool_use must have a single result. Found multiple `tool_result` blocks with id: {id}")
def _answered_twice(asked: Asked) -> Iterator[Found]:
    for turn in asked.turns:
        again = repeated(turn.of("tool_result"), "tool_use_id")
        yield from (at(block, id=block.text("tool_use_id")) for block in again)


@rule("result.error", '{place}.tool_result: all content must be type "text" if "is_error" is true')
def _error(asked: Asked) -> Iterator[Found]:
    for block in _every(asked, "tool_result"):
        parts = objects(block.value, "content")
        if block.value.get("is_error") is True and any(string(one, "type") != "text" for one in parts):
            yield at(block)


@rule("result.toolset", "{place}.tool_result: toolset_name must be that of the `tool_use` block")
def _toolset(asked: Asked) -> Iterator[Found]:
    for turn, after in asked.replies:
        named = {block.text("id"): block.text("toolset_name") for block in turn.of("tool_use")}
        for block in after.of("tool_result"):
            if named.get(block.text("tool_use_id"), "") != block.text("toolset_name"):
                yield at(block)


@rule("programmatic", "messages: a response to programmatic tool calls may contain `tool_result` blocks only")
def _programmatic_extra(asked: Asked) -> Iterator[Found]:
    for turn, after in asked.replies:
        if _programmatic(turn):
            yield from (at(block) for block in after.blocks if block.kind != "tool_result")


@rule("server.extra", _UNRESOLVED)
def _unresolved(asked: Asked) -> Iterator[Found]:
    """Only answers to calls beside it may come before its own result."""
    for turn, after in asked.replies:
        extra = any(block.kind != "tool_result" for block in after.blocks)
        if after.role and (extra or not turn.of("tool_use")):
            yield from map(_named, _waiting(turn))


@rule("server.result", _UNRESOLVED)
def _never_resolved(asked: Asked) -> Iterator[Found]:
    for (turn, _after), (later, _last) in pairwise(asked.replies):
        done = strings(later.values(), "tool_use_id")
        yield from (_named(call) for call in _waiting(turn) if call.text("id") not in done)


@rule("server.tool", "`{name}` tool use with id `{id}` was found, but no `{name}` tool was provided")
def _undeclared(asked: Asked) -> Iterator[Found]:
    last = asked.last_reply
    kinds = [f"{tool.kind} {tool.text('name')} {tool.text('mcp_server_name')}" for tool in asked.tools]
    # Code that waits in its container for calls of its own goes on without its tool being declared again.
    for call in () if _programmatic(last) else _waiting(last):
        name = call.text("server_name") if call.kind == "mcp_tool_use" else call.text("name")
        family = re.sub(r"^(bash|text_editor)_(?=code_execution)", "", name)
        if not any(family in kind for kind in kinds):
            yield {"name": name, "id": call.text("id")}


@rule("container", "container_id is required when there are pending tool uses generated by code execution with tools.")
def _container(asked: Asked) -> Iterator[Found]:
    if _programmatic(asked.last_reply) and _waiting(asked.last_reply) and not asked.body.get("container"):
        yield {}


@rule("compaction", "{place}.compaction.content: must not be empty")
def _compaction(asked: Asked) -> Iterator[Found]:
    yield from (at(block) for block in _every(asked, "compaction") if block.value.get("content") == "")


@rule("prefill", "This model does not support assistant message prefill. The conversation must end with a user message.")
def _prefill(asked: Asked) -> Iterator[Found]:
    if _prefilled(asked) and not _PREFILLED.match(asked.model):
        yield {}


@rule("text.space", "messages: final assistant content cannot end with trailing whitespace")
def _space(asked: Asked) -> Iterator[Found]:
    last = _prefilled(asked)
    text = last.blocks[-1].text("text") if last and last.blocks else ""
    if text != text.rstrip():
        yield {}


ANTHROPIC_TURN: tuple[Rule, ...] = (
    _role,
    _content,
    _text,
    _no_tools,
    _id,
    _ids_twice,
    _input,
    _missing,
    _not_first,
    _orphan,
    _answered_twice,
    _error,
    _toolset,
    _programmatic_extra,
    _unresolved,
    _never_resolved,
    _undeclared,
    _container,
    _compaction,
    _prefill,
    _space,
)
"""In the order in which it looks."""
