"""What the Anthropic Messages API refuses about thinking blocks that come back.

Source: the docstrings of the SDK's `thinking_block_param`, the provider's pages on extended thinking and on the
models that bind it. Invariant: a block that was said here comes back as it was or, in an older turn, not at all.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from remit.testing.provider.asked import Asked, Turn, canonical, member, string
from remit.testing.provider.memory import Memory, Spoken, flat, heading, is_thought, seal, shape
from remit.testing.provider.rule import Check, Found, Rule

__all__ = ["THINKING"]

_BOUND = re.compile(r"(opus|sonnet)-5-5|(fable|mythos)-5-1")
_UNCHANGED = (
    "{place}: `thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified. These blocks "
    "must remain as they were in the original response."
)


def _rule(code: str, message: str, check: Check) -> Rule:
    return Rule(code=f"anthropic.thinking.{code}", protocol="anthropic", message=message, check=check)


def _edited(asked: Asked, memory: Memory) -> Found:
    for turn in asked.turns:
        known = {one for spoken in _spoken(turn, memory) for one in spoken.thoughts}
        for block in turn.blocks:
            if not is_thought(block.value):
                continue
            thought = memory.thoughts.get(seal(block.value))
            now = canonical(dict(block.value))
            if (thought is not None and thought.block != now) or (thought is None and known):
                return {"place": block.place}
    return None


def _moved(asked: Asked, memory: Memory) -> Found:
    """Thoughts that are there stand as they stood, among each other and among the calls."""
    for turn in asked.turns:
        now = list(shape([block.value for block in turn.blocks]))
        for spoken in _spoken(turn, memory):
            stood = [one for one in spoken.shape if one in now]
            if [one for one in now if one in spoken.shape] != stood:
                return {"place": turn.place}
    return None


def _dropped(asked: Asked, memory: Memory) -> Found:
    """In the turn that still works on the last message every thought is there; in older ones all of a reply's or none."""
    last = max((index for index, turn in enumerate(asked.turns) if _is_message(turn)), default=-1)
    for index, turn in enumerate(asked.turns):
        now = set(shape([block.value for block in turn.blocks]))
        for spoken in _spoken(turn, memory):
            missing = [one for one in spoken.thoughts if one not in now]
            if missing and (index > last or len(missing) < len(spoken.thoughts)):
                return {"place": turn.place}
    return None


def _not_first(asked: Asked, _: Memory) -> Found:
    """In the older mode a turn with calls begins with a thought."""
    if string(member(asked.body, "thinking"), "type") != "enabled":
        return None
    last = next((turn for turn in reversed(asked.turns) if turn.role == "assistant"), None)
    if last is None or not last.of("tool_use") or is_thought(last.blocks[0].value) or _is_message(asked.turns[-1]):
        return None
    return {"place": last.blocks[0].place, "kind": last.blocks[0].kind}


def _last(asked: Asked, memory: Memory) -> Found:
    """No assistant turn ends in a thought, unless the provider itself goes on from it."""
    for turn in asked.turns:
        if turn.role == "assistant" and turn.blocks and is_thought(turn.blocks[-1].value):
            content = [dict(block.value) for block in turn.blocks]
            if turn is not asked.turns[-1] or canonical([*content]) not in memory.paused:
                return {"place": turn.place, "kind": turn.blocks[-1].kind}
    return None


def _bound(asked: Asked, memory: Memory) -> Found:
    binding = member(member(asked.body, "thinking"), "block_binding")
    if not _BOUND.search(asked.model) or string(binding, "prefix_mismatch_behavior") == "drop_block":
        return None
    found = list(flat(asked))
    before = list(heading(asked)) if any(is_thought(block.value) for block in found) else []
    for index, block in enumerate(found):
        thought = memory.thoughts.get(seal(block.value)) if is_thought(block.value) else None
        if thought is not None and before[max(0, index - thought.place)] != thought.before:
            return {}
    return None


def _spoken(turn: Turn, memory: Memory) -> Iterator[Spoken]:
    """The replies of which the turn is made, as far as their calls tell."""
    seen: list[Spoken] = []
    for block in turn.of("tool_use"):
        spoken = memory.spoken.get(block.text("id"))
        if spoken is not None and spoken not in seen:
            seen.append(spoken)
            yield spoken


def _is_message(turn: Turn) -> bool:
    """Whether a turn says more than what came of calls."""
    return turn.role == "user" and any(block.kind != "tool_result" for block in turn.blocks)


THINKING: Sequence[Rule] = (
    _rule("edited", _UNCHANGED, _edited),
    _rule("moved", _UNCHANGED, _moved),
    _rule("dropped", _UNCHANGED, _dropped),
    _rule(
        "first",
        "{place}.type: Expected `thinking` or `redacted_thinking`, but found `{kind}`. When `thinking` is enabled, a final "
        "`assistant` message must start with a thinking block.",
        _not_first,
    ),
    _rule("last", "{place}: The final block in an assistant message cannot be `{kind}`.", _last),
    _rule("bound", "messages: a `thinking` block is bound to a prefix of the conversation that has changed", _bound),
)
