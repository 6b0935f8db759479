"""A request as the rules look at it: its messages with their places, Anthropic's merged into turns, what was said before.

Knows no rule. Invariant: whatever the body is, looking at it raises nothing; what is missing or of another type
is read as empty.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import sha256

from remit.testing.provider.memory import Memory, says_nothing
from remit.testing.provider.value import Object, canonical, member, objects, string
from remit.types.ident import Json
from remit.types.model import ProtocolName

__all__ = ["Asked", "Placed", "Turn", "repeated"]

_LISTED = {"anthropic": "messages", "openai-chat": "messages", "openai-responses": "input"}
_BOUND = re.compile(r"(opus|sonnet)-5-5|(fable|mythos)-5-1")


@dataclass(frozen=True, slots=True)
class Placed:
    """A message, item or block, with the path under which an error names it."""

    place: str
    value: Object

    @property
    def kind(self) -> str:
        """Its `type`."""
        return string(self.value, "type")

    def text(self, key: str) -> str:
        """A member that is a string."""
        return string(self.value, key)


@dataclass(frozen=True, slots=True)
class Turn:
    """Neighbouring Anthropic messages of one role, which count as one."""

    place: str
    role: str
    blocks: list[Placed] = field(default_factory=list[Placed])

    def of(self, *kinds: str) -> list[Placed]:
        """Its blocks of these types."""
        return [block for block in self.blocks if block.kind in kinds]

    def values(self) -> list[Object]:
        """Its blocks without their places."""
        return [block.value for block in self.blocks]


class Asked:
    """One request of a protocol.

    Args:
        protocol: by its path.
        raw: the body as it came.
        memory: what the provider said before it.
    """

    def __init__(self, protocol: ProtocolName, raw: bytes, memory: Memory) -> None:
        self.protocol: ProtocolName = protocol
        self.memory = memory
        try:
            whole: Json = json.loads(raw)
        except (ValueError, RecursionError):
            whole = None
        self.readable = isinstance(whole, dict)
        self.body: Object = whole if isinstance(whole, dict) else {}

    @property
    def model(self) -> str:
        """The model's name, empty where there is none."""
        return string(self.body, "model")

    @property
    def binds_thinking(self) -> bool:
        """Whether the model is one that takes its thoughts back only behind what they were thought after."""
        return _BOUND.search(self.model) is not None

    @cached_property
    def messages(self) -> tuple[Placed, ...]:
        """The messages (Responses: input items; a text is one message)."""
        listed = _LISTED[self.protocol]
        value = self.body.get(listed)
        if isinstance(value, str):
            said: Object = {"type": "message", "role": "user", "content": value}
            return (Placed(listed, said),)
        mark = "{}.{}" if self.protocol == "anthropic" else "{}[{}]"
        return tuple(
            Placed(mark.format(listed, index), one if isinstance(one, dict) else {})
            for index, one in enumerate(value if isinstance(value, list) else [])
        )

    @cached_property
    def tools(self) -> tuple[Placed, ...]:
        """The tools that the request declares."""
        mark = "tools.{}" if self.protocol == "anthropic" else "tools[{}]"
        return tuple(Placed(mark.format(index), one) for index, one in enumerate(objects(self.body, "tools")))

    @cached_property
    def functions(self) -> tuple[Placed, ...]:
        """The functions among OpenAI's tools."""
        found = [tool for tool in self.tools if tool.kind == "function"]
        if self.protocol == "openai-chat":
            return tuple(Placed(f"{tool.place}.function", member(tool.value, "function")) for tool in found)
        return tuple(found)

    @cached_property
    def turns(self) -> tuple[Turn, ...]:
        """Anthropic's messages, merged; those of role `system` between them stand in no turn."""
        turns: list[Turn] = []
        for message in self.messages:
            role = message.text("role")
            if role == "system":
                continue
            if not turns or turns[-1].role != role:
                turns.append(Turn(message.place, role))
            turns[-1].blocks.extend(_blocks(message))
        return tuple(turns)

    @property
    def replies(self) -> Iterator[tuple[Turn, Turn]]:
        """Each assistant turn with the turn after it, which is empty where there is none."""
        for turn, after in zip(self.turns, [*self.turns[1:], Turn("", "")], strict=False):
            if turn.role == "assistant":
                yield turn, after

    @property
    def last_reply(self) -> Turn:
        """The last assistant turn, empty where there is none."""
        return next((turn for turn in reversed(self.turns) if turn.role == "assistant"), Turn("", ""))

    @property
    def changes(self) -> Iterator[Placed]:
        """Tools that are added and removed between the messages."""
        for message in self.messages:
            if message.text("role") == "system":
                yield from (block for block in _blocks(message) if block.kind in ("tool_addition", "tool_removal"))

    @cached_property
    def said(self) -> tuple[tuple[str, Object], ...]:
        """All blocks with the role that says them, but for texts that say nothing."""
        every = ((message.text("role"), block.value) for message in self.messages for block in _blocks(message))
        return tuple((role, block) for role, block in every if not says_nothing(block))

    @cached_property
    def prefixes(self) -> tuple[str, ...]:
        """For each block of `said` the digest of all that is before it; the last is that of the whole."""
        system = self.body.get("system") or None
        text: Object = {"type": "text", "text": system} if isinstance(system, str) else {}
        state = sha256(canonical([[dict(text)] if text else system, self.body.get("tools")]).encode())
        found = [state.hexdigest()]
        for role, block in self.said:
            state.update(f"{role}{canonical(dict(block))}".encode())
            found.append(state.hexdigest())
        return tuple(found)

    def answered(self, reply: Object) -> None:
        """Let the provider remember its reply to this request."""
        if self.protocol == "anthropic":
            self.memory.message(reply, lambda: self.prefixes[-1])
        elif self.protocol == "openai-responses":
            self.memory.response(reply, stored=self.body.get("store") is not False)


def repeated(found: Iterable[Placed], key: str) -> Iterator[Placed]:
    """Those of which an earlier one has the same text under `key`."""
    seen: set[str] = set()
    for one in found:
        if one.text(key) in seen:
            yield one
        seen.add(one.text(key))


def _blocks(message: Placed) -> Iterator[Placed]:
    """The blocks of an Anthropic message; a text is one block."""
    content = message.value.get("content")
    if isinstance(content, str):
        said: Object = {"type": "text", "text": content}
        yield Placed(f"{message.place}.content", said)
        return
    for index, block in enumerate(content if isinstance(content, list) else []):
        yield Placed(f"{message.place}.content.{index}", block if isinstance(block, dict) else {})
