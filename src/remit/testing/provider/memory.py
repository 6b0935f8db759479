"""What a provider remembers of its replies: its thoughts and what was before them, reasoning and what it led to.

Knows no rule. Invariant: only what was said here is remembered; a thought or an item from elsewhere is taken as it is.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256
from itertools import pairwise

from remit.testing.provider.asked import Asked, Object, Placed, blocks, canonical, objects, string, strings

__all__ = ["Memory", "Spoken", "Thought", "flat", "heading", "is_thought", "seal", "shape"]


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

    def said(self, asked: Asked, reply: Object) -> None:
        """Remember a reply to a request."""
        if asked.protocol == "anthropic":
            self._message(asked, reply)
        elif asked.protocol == "openai-responses":
            self._response(asked, reply)

    def _message(self, asked: Asked, reply: Object) -> None:
        kept = [block for block in objects(reply, "content") if not _says_nothing(block)]
        if string(reply, "stop_reason") in ("pause_turn", "compaction"):
            self.paused.add(canonical([dict(block) for block in kept]))
        if string(reply, "id"):
            self.message_ids.add(string(reply, "id"))
        if not any(is_thought(block) for block in kept):
            return
        *_, before = heading(asked)
        for place, block in enumerate(kept):
            if is_thought(block):
                self.thoughts[seal(block)] = Thought(canonical(dict(block)), before, place)
        while kept and is_thought(kept[-1]):
            kept.pop()  # it cannot be taken back, so it need not come back
        # An id that the reply gives twice stands for its first call: the other comes back under another.
        spoken = Spoken(tuple(dict.fromkeys(shape(kept))))
        for block in kept:
            if string(block, "type") == "tool_use":
                self.spoken[string(block, "id")] = spoken

    def _response(self, asked: Asked, reply: Object) -> None:
        output = objects(reply, "output")
        if asked.body.get("store") is not False:
            self.responses.add(string(reply, "id"))
            self.items.update(strings(output, "id"))
        for reasoning, item in pairwise(output):
            if string(reasoning, "type") == "reasoning" and string(item, "type") != "reasoning" and string(item, "id"):
                self.reasons[string(item, "id")] = string(reasoning, "id")


def is_thought(block: Object) -> bool:
    """Whether a block is one that must come back as it was."""
    return string(block, "type") in ("thinking", "redacted_thinking")


def seal(block: Object) -> str:
    """What a thought is known by."""
    return string(block, "signature") or string(block, "data")


def shape(found: list[Object]) -> Iterator[str]:
    """Thoughts and ids of calls in their order."""
    for block in found:
        if is_thought(block):
            yield canonical(dict(block))
        elif string(block, "type") == "tool_use":
            yield string(block, "id")


def heading(asked: Asked) -> Iterator[str]:
    """For each block of the request the digest of all that is before it; the last is that of the whole."""
    said = asked.body.get("system") or None
    text: Object = {"type": "text", "text": said} if isinstance(said, str) else {}
    state = sha256(canonical([[dict(text)] if text else said, asked.body.get("tools")]).encode())
    for block in flat(asked):
        yield state.hexdigest()
        state.update(f"{block.place}{canonical(dict(block.value))}".encode())
    yield state.hexdigest()


def flat(asked: Asked) -> Iterator[Placed]:
    """All blocks of the request with the role that says them, but for texts that say nothing."""
    for message in asked.messages:
        for block in blocks(message):
            if not _says_nothing(block.value):
                yield Placed(message.text("role"), block.value)


def _says_nothing(block: Object) -> bool:
    return string(block, "type") == "text" and not string(block, "text").strip()
