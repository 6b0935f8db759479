"""What the Anthropic Messages API refuses about thinking blocks that come back.

Source: the docstrings of the SDK's `thinking_block_param`, the provider's pages on extended thinking and on the
models that bind it. Invariant: a block that was said here comes back as it was or, in an older turn, not at all.
"""

from __future__ import annotations

from collections.abc import Iterator

from remit.testing.provider.asked import Asked, Turn
from remit.testing.provider.memory import Spoken, is_thought, seal, shape
from remit.testing.provider.rule import Found, Rule, at, rule
from remit.testing.provider.value import canonical, member, string

__all__ = ["THINKING"]

_UNCHANGED = (
    "{place}: `thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified. These blocks "
    "must remain as they were in the original response."
)


def _spoken(asked: Asked, turn: Turn) -> list[Spoken]:
    """The replies of which a turn is made, as far as their calls tell."""
    found = [asked.memory.spoken.get(block.text("id")) for block in turn.of("tool_use")]
    return [spoken for spoken in dict.fromkeys(found) if spoken is not None]


def _is_message(turn: Turn) -> bool:
    """Whether a turn says more than what came of calls."""
    return turn.role == "user" and any(block.kind != "tool_result" for block in turn.blocks)


@rule("thinking.edited", _UNCHANGED)
def _edited(asked: Asked) -> Iterator[Found]:
    for turn in asked.turns:
        known = any(spoken.thoughts for spoken in _spoken(asked, turn))
        for block in turn.of("thinking", "redacted_thinking"):
            thought = asked.memory.thoughts.get(seal(block.value))
            changed = known if thought is None else thought.block != canonical(dict(block.value))
            if changed:
                yield at(block)


@rule("thinking.moved", _UNCHANGED)
def _moved(asked: Asked) -> Iterator[Found]:
    """Thoughts that are there stand as they stood, among each other and among the calls."""
    for turn in asked.turns:
        now = shape(turn.values())
        for spoken in _spoken(asked, turn):
            if [one for one in now if one in spoken.shape] != [one for one in spoken.shape if one in now]:
                yield at(turn)


@rule("thinking.dropped", _UNCHANGED)
def _dropped(asked: Asked) -> Iterator[Found]:
    """In the turn that still works on the last message every thought is there; in older ones all of a reply's or none."""
    last = max((index for index, turn in enumerate(asked.turns) if _is_message(turn)), default=-1)
    for index, turn in enumerate(asked.turns):
        now = shape(turn.values())
        for spoken in _spoken(asked, turn):
            missing = [one for one in spoken.thoughts if one not in now]
            if missing and (index > last or len(missing) < len(spoken.thoughts)):
                yield at(turn)


@rule(
    "thinking.first",
    "{place}.type: Expected `thinking` or `redacted_thinking`, but found `{kind}`. When `thinking` is enabled, a final "
    "`assistant` message must start with a thinking block.",
)
def _not_first(asked: Asked) -> Iterator[Found]:
    """In the older mode a turn with calls begins with a thought."""
    last = asked.last_reply
    enabled = string(member(asked.body, "thinking"), "type") == "enabled"
    if enabled and last.of("tool_use") and not is_thought(last.blocks[0].value) and not _is_message(asked.turns[-1]):
        yield at(last.blocks[0], kind=last.blocks[0].kind)


@rule("thinking.last", "{place}: The final block in an assistant message cannot be `{kind}`.")
def _last(asked: Asked) -> Iterator[Found]:
    """No assistant turn ends in a thought, unless the provider itself goes on from it."""
    for turn, after in asked.replies:
        if turn.blocks and is_thought(turn.blocks[-1].value):
            content = canonical([dict(block) for block in turn.values()])
            if after.role or content not in asked.memory.paused:
                yield at(turn, kind=turn.blocks[-1].kind)


@rule("thinking.bound", "messages: a `thinking` block is bound to a prefix of the conversation that has changed")
def _bound(asked: Asked) -> Iterator[Found]:
    binding = member(asked.body, "thinking", "block_binding")
    if not asked.binds_thinking or string(binding, "prefix_mismatch_behavior") == "drop_block":
        return
    for index, (_role, block) in enumerate(asked.said):
        thought = asked.memory.thoughts.get(seal(block)) if is_thought(block) else None
        if thought is not None and asked.prefixes[max(0, index - thought.place)] != thought.before:
            yield {}


THINKING: tuple[Rule, ...] = (_edited, _moved, _dropped, _not_first, _last, _bound)
"""In the order in which it looks."""
