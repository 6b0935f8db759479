"""A provider's JSON text, read without being written again.

Knows no protocol. Invariant: what is not spliced stays as it was written, byte for byte.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import NoReturn, cast

import orjson

from remit.canonical import item_spans, member_spans, part_span
from remit.errors import InputError, ProtocolError
from remit.types.ident import Json
from remit.wire.write import storable

__all__ = [
    "Node",
    "Splices",
    "count_of",
    "is_object",
    "object_of",
    "objects_of",
    "string_of",
    "unread",
]

_DIGITS = 4000
"""Python refuses to read longer integers. None that is read here is as long; a tool's arguments are read elsewhere."""


def _integer(digits: str) -> int:
    return int(digits) if len(digits) < _DIGITS else 0


def _constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON value")


_read = cast("Callable[[str], Json]", json.JSONDecoder(parse_int=_integer, parse_constant=_constant).decode)


def _values(text: str) -> Json:
    """The quick parser rounds what no reply counts with, and refuses what the other one can say more about."""
    try:
        return orjson.loads(text)
    except ValueError:
        return _read(text)


_MOST_TOKENS = 10**12


def unread(place: str, why: str) -> ProtocolError:
    """The error for a text that is not of its protocol's shape; `place` is a path, never content."""
    return ProtocolError(f"{place} {why}", place=place)


def is_object(text: str) -> bool:
    """Whether `text` is one whole JSON object."""
    try:
        member_spans(text)
    except InputError:
        return False
    return True


def string_of(values: Mapping[str, Json], key: str, place: str) -> str:
    """A member's text, empty where it is absent or null.

    Raises:
        ProtocolError: it is something else.
    """
    value = values.get(key)
    if isinstance(value, str):
        return value if value.isascii() else storable(value)
    if value is None:
        return ""
    raise unread(f"{place}.{key}", "is not a string")


def count_of(values: Mapping[str, Json], key: str, place: str) -> int:
    """A member that counts tokens: 0 where it is absent, negative or no whole number.

    Raises:
        ProtocolError: no reply can have so many.
    """
    value = values.get(key)
    if not isinstance(value, (int, float)) or isinstance(value, bool) or value < 0:
        return 0
    if value > _MOST_TOKENS:
        raise unread(f"{place}.{key}", "is more tokens than a reply can have")
    return value if isinstance(value, int) else 0


def object_of(values: Mapping[str, Json], key: str, place: str) -> Mapping[str, Json] | None:
    """A member that is an object, None where it is absent or null.

    Raises:
        ProtocolError: it is something else.
    """
    value = values.get(key)
    if value is None or isinstance(value, dict):
        return value
    raise unread(f"{place}.{key}", "is not an object")


def objects_of(value: Json, place: str) -> list[dict[str, Json]]:
    """The objects in an array, none where it is null.

    Raises:
        ProtocolError: it is something else, or holds something else.
    """
    if value is None:
        return []
    if not isinstance(value, list):
        raise unread(place, "is not an array")
    for index, one in enumerate(value):
        if not isinstance(one, dict):
            raise unread(f"{place}[{index}]", "is not an object")
    return cast("list[dict[str, Json]]", value)


class Node:
    """An object inside a provider's text: its members' values, and where they are written.

    Values are read once, with the whole text; places only where they are asked for, which most are not.
    """

    __slots__ = ("_items", "_origin", "_parts", "_spans", "place", "text", "values")

    def __init__(self, text: str, values: Mapping[str, Json], place: str, origin: tuple[Node, str, int | None] | None) -> None:
        self.text = text
        """The whole text; all spans are places in it."""
        self.values = values
        self.place = place
        """Its path, for messages."""
        self._origin = origin
        self._spans: dict[str, tuple[int, int]] | None = None
        self._parts: dict[str, tuple[int, int]] = {}
        self._items: dict[str, list[tuple[int, int]]] = {}

    @classmethod
    def of(cls, body: bytes) -> Node:
        """The object that a response body is.

        Raises:
            ProtocolError: it is none.
        """
        try:
            text = body.decode("utf-8-sig")
            values = _values(text)
        except UnicodeDecodeError:
            raise unread("response", "is not UTF-8") from None
        except (ValueError, RecursionError):
            raise unread("response", "is not a JSON object") from None
        if not isinstance(values, dict):
            raise unread("response", "is not a JSON object")
        return cls(text, values, "response", None)

    @property
    def start(self) -> int:
        """Where the object begins."""
        return self._where()[0]

    @property
    def end(self) -> int:
        """Where the object has ended."""
        return self._where()[1]

    @property
    def spans(self) -> dict[str, tuple[int, int]]:
        """Where its members' values are."""
        if self._spans is None:
            try:
                self._spans = member_spans(self.text, None if self._origin is None else self._begin())
            except InputError:
                raise self._unfit() from None
        return self._spans

    def raw(self, key: str) -> str | None:
        """A member's text as it was written, None where it is absent."""
        if key not in self.values:
            return None
        start, end = self._span(key)
        return self.text[start:end]

    def part(self, *path: str | int) -> str:
        """The text, as it was written, of an array or object inside, which is there and named by keys and places."""
        start, end = self._part(*path)
        return self.text[start:end]

    def members(self) -> dict[str, str]:
        """The members in their order, their values as they were written."""
        return {key: self.text[start:end] for key, (start, end) in self.spans.items()}

    def value(self, key: str) -> Json:
        """A member's value, None where it is absent."""
        return self.values.get(key)

    def string(self, key: str) -> str:
        """A member's text, empty where it is absent or null.

        Raises:
            ProtocolError: it is something else.
        """
        return string_of(self.values, key, self.place)

    def child(self, key: str) -> Node | None:
        """A member that is an object, None where it is absent or null."""
        value = object_of(self.values, key, self.place)
        return Node(self.text, value, f"{self.place}.{key}", (self, key, None)) if value is not None else None

    def children(self, key: str) -> list[Node]:
        """The objects in a member that is an array, none where it is absent or null."""
        place = f"{self.place}.{key}"
        return [
            Node(self.text, one, f"{place}[{index}]", (self, key, index))
            for index, one in enumerate(objects_of(self.values.get(key), place))
        ]

    def count(self, key: str) -> int:
        """A member that counts tokens, as in `count_of`."""
        return count_of(self.values, key, self.place)

    def _span(self, key: str) -> tuple[int, int]:
        """Where a member is. What has parts is found without the others' places, which is twice as quick."""
        if not isinstance(self.values[key], (dict, list)):
            return self.spans[key]
        if key not in self._parts:
            self._parts[key] = self._part(key)
        return self._parts[key]

    def _part(self, *path: str | int) -> tuple[int, int]:
        try:
            return part_span(self.text, path, self._begin())
        except InputError:
            raise self._unfit() from None

    def _begin(self) -> int:
        """A place from which there is nothing but white space before the object: a first item's needs no end of it."""
        if self._origin is None:
            return 0
        parent, key, index = self._origin
        return parent._span(key)[0] + 1 if index == 0 else self._where()[0]

    def _where(self) -> tuple[int, int]:
        if self._origin is None:
            return 0, len(self.text)
        parent, key, index = self._origin
        span = parent._span(key)
        if index is None:
            return span
        if key not in parent._items:
            parent._items[key] = item_spans(self.text, span[0])
        return parent._items[key][index]

    def _unfit(self) -> ProtocolError:
        return unread(self.place, "cannot be cut out: a member is given twice, or is no JSON")


@dataclass(slots=True)
class Splices:
    """The few places of a text that change."""

    _changes: list[tuple[int, int, str]] = field(default_factory=list[tuple[int, int, str]])

    def put(self, start: int, end: int, text: str) -> None:
        """Replace a span; spans must not overlap."""
        self._changes.append((start, end, text))

    def member(self, node: Node, key: str, text: str) -> None:
        """Replace a member's value, or add the member in front of the others."""
        span = node.spans.get(key)
        if span is not None:
            self.put(*span, text)
        else:
            self.put(node.start + 1, node.start + 1, f'"{key}":{text},')

    def apply(self, text: str, start: int, end: int) -> str:
        """`text[start:end]` with the changes that lie in it."""
        pieces: list[str] = []
        for first, last, new in sorted(self._changes, key=lambda change: change[:2]):
            pieces += (text[start:first], new)
            start = last
        pieces.append(text[start:end])
        return "".join(pieces)
