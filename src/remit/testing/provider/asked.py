"""A request as the rules look at it: its messages with their places, Anthropic's merged into turns.

Knows no rule. Invariant: whatever the body is, looking at it raises nothing; what is missing or of another type
is read as empty.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import cast

from remit.types.ident import Json
from remit.types.model import ProtocolName

__all__ = ["Asked", "Object", "Placed", "Turn", "canonical", "member", "objects", "string", "strings"]

Object = Mapping[str, Json]
"""A JSON object."""

_LISTED = {"anthropic": "messages", "openai-chat": "messages", "openai-responses": "input"}


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


class Asked:
    """One request of a protocol.

    Args:
        protocol: by its path.
        raw: the body as it came.
    """

    def __init__(self, protocol: ProtocolName, raw: bytes) -> None:
        self.protocol: ProtocolName = protocol
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
    def turns(self) -> tuple[Turn, ...]:
        """Anthropic's messages, merged; those of role `system` between them stand in no turn."""
        turns: list[Turn] = []
        for message in self.messages:
            role = message.text("role")
            if role == "system":
                continue
            if not turns or turns[-1].role != role:
                turns.append(Turn(message.place, role))
            turns[-1].blocks.extend(blocks(message))
        return tuple(turns)


def blocks(message: Placed) -> Iterator[Placed]:
    """The blocks of an Anthropic message; a text is one block."""
    content = message.value.get("content")
    if isinstance(content, str):
        said: Object = {"type": "text", "text": content}
        yield Placed(f"{message.place}.content", said)
        return
    for index, block in enumerate(content if isinstance(content, list) else []):
        yield Placed(f"{message.place}.content.{index}", block if isinstance(block, dict) else {})


def string(value: Object, key: str) -> str:
    """A member that is a string, else empty."""
    found = value.get(key)
    return found if isinstance(found, str) else ""


def member(value: Object, key: str) -> Object:
    """A member that is an object, else an empty one."""
    found = value.get(key)
    return found if isinstance(found, dict) else {}


def objects(value: Object, key: str) -> list[Object]:
    """The objects in a member that is an array."""
    found = value.get(key)
    return [one for one in found if isinstance(one, dict)] if isinstance(found, list) else []


def strings(values: Sequence[Object], key: str) -> list[str]:
    """A member of each that is a string, where it is one."""
    return [found for one in values if isinstance(found := one.get(key), str)]


def canonical(value: Json) -> str:
    """One text for equal values; cache marks say nothing."""
    return json.dumps(_unmarked(value), sort_keys=True, separators=(",", ":"))


def _unmarked(value: Json) -> Json:
    match value:
        case dict():
            return {key: _unmarked(one) for key, one in value.items() if key != "cache_control"}
        case list():
            return [_unmarked(one) for one in value]
        case _:
            return cast("Json", value)
