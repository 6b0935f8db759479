"""What a provider remembers of its replies: its thoughts and what was before them, reasoning and what it led to.

Knows no request and no rule. Invariant: only what was said here is remembered; a thought or an item from elsewhere is
taken as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import pairwise

from remit.testing.provider.value import Object, canonical, objects, string, strings

__all__ = ["Memory", "Spoken", "Thought", "is_thought", "says_nothing", "seal", "shape"]


@dataclass(frozen=True, slots=True)
class Thought:
    """A thinking block: what it was, and the digest of everything before its reply, with its place in that."""

    block: str
    before: str
    place: int


@dataclass(frozen=True, slots=True)
class Spoken:
    """An Anthropic reply with thoughts, as its thoughts and the ids of its calls in their order."""

    shape: tuple[str, ...]

    @property
    def thoughts(self) -> tuple[str, ...]:
        """The thoughts alone."""
        return tuple(one for one in self.shape if one.startswith("{"))


class Memory:
    """Of one provider; it grows with each reply."""

    def __init__(self) -> None:
        self.thoughts: dict[str, Thought] = {}
        """By their signature."""
        self.spoken: dict[str, Spoken] = {}
        """By the id of each of its calls."""
        self.paused: set[str] = set()
        """Content of the replies after which the provider itself goes on."""
        self.responses: set[str] = set()
        """Ids of the stored responses."""
        self.message_ids: set[str] = set()
        """Ids of Anthropic messages."""
        self.reasons: dict[str, str] = {}
        """Item id -> the reasoning that it needs before it."""
        self.items: set[str] = set()
        """Ids of stored items."""

    def message(self, reply: Object, prefix: Callable[[], str]) -> None:
        """Remember an Anthropic reply.

        Args:
            prefix: the digest of what it answers.
        """
        kept = [block for block in objects(reply, "content") if not says_nothing(block)]
        if string(reply, "stop_reason") in ("pause_turn", "compaction"):
            self.paused.add(canonical([dict(block) for block in kept]))
        if string(reply, "id"):
            self.message_ids.add(string(reply, "id"))
        for place, block in enumerate(kept):
            if is_thought(block):
                self.thoughts[seal(block)] = Thought(canonical(dict(block)), prefix(), place)
        if not any(map(is_thought, kept)):
            return
        while kept and is_thought(kept[-1]):
            kept.pop()  # it cannot be taken back, so it need not come back
        # An id that the reply gives twice stands for its first call: the other comes back under another.
        spoken = Spoken(tuple(dict.fromkeys(shape(kept))))
        for block in kept:
            if string(block, "type") == "tool_use":
                self.spoken[string(block, "id")] = spoken

    def response(self, reply: Object, *, stored: bool) -> None:
        """Remember an OpenAI response."""
        output = objects(reply, "output")
        if stored:
            self.responses.add(string(reply, "id"))
            self.items.update(strings(output, "id"))
        for reasoning, item in pairwise(output):
            if string(reasoning, "type") == "reasoning" and string(item, "type") != "reasoning" and string(item, "id"):
                self.reasons[string(item, "id")] = string(reasoning, "id")


def is_thought(block: Object) -> bool:
    """Whether a block is one that must come back as it was."""
    return string(block, "type") in ("thinking", "redacted_thinking")


def says_nothing(block: Object) -> bool:
    """Whether a block is a text without a word."""
    return string(block, "type") == "text" and not string(block, "text").strip()


def seal(block: Object) -> str:
    """What a thought is known by."""
    return string(block, "signature") or string(block, "data")


def shape(found: Iterable[Object]) -> list[str]:
    """Thoughts and ids of calls in their order."""
    kept = [one for one in found if is_thought(one) or string(one, "type") == "tool_use"]
    return [canonical(dict(one)) if is_thought(one) else string(one, "id") for one in kept]
