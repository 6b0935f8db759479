"""JSON values of which nothing is known: what is missing or of another type is empty.

Knows no protocol. Invariant: reading raises nothing, whatever the value is.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import NoReturn

from remit.canonical import item_spans, member_spans
from remit.errors import InputError
from remit.types.ident import Json

__all__ = ["Object", "Page", "listed", "load", "member", "objects", "pointer", "steps", "string"]

Object = Mapping[str, Json]
"""A JSON object."""

_DIGITS = 4000
"""Python refuses to read longer integers; nothing that is read here depends on their value."""


def _integer(digits: str) -> int:
    return int(digits) if len(digits) < _DIGITS else 0


def _constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON value")


_DECODER = json.JSONDecoder(parse_int=_integer, parse_constant=_constant)


def load(text: str) -> Json:
    """The JSON value of a text.

    Raises:
        InputError: `json.invalid`: it is none.
    """
    try:
        return _DECODER.decode(text)
    except json.JSONDecodeError as error:
        raise InputError(f"not valid JSON at character {error.pos}", code="json.invalid", position=error.pos) from None
    except (ValueError, RecursionError):
        raise InputError("not valid JSON", code="json.invalid", position=None) from None


def string(value: Object, key: str) -> str:
    """A member that is a string, else empty."""
    found = value.get(key)
    return found if isinstance(found, str) else ""


def member(value: Object, *keys: str) -> Object:
    """A member that is an object, else an empty one; several keys lead inwards."""
    for key in keys:
        found = value.get(key)
        value = found if isinstance(found, dict) else {}
    return value


def listed(value: Json) -> Sequence[Json]:
    """An array's items, none where it is no array."""
    return value if isinstance(value, list) else ()


def objects(value: Json) -> list[tuple[int, Object]]:
    """The objects in an array, each with its place."""
    return [(index, one) for index, one in enumerate(listed(value)) if isinstance(one, dict)]


def pointer(*parts: str | int, base: str = "") -> str:
    """A JSON Pointer (RFC 6901) to these keys and places."""
    return base + "".join("/" + str(part).replace("~", "~0").replace("/", "~1") for part in parts)


def steps(place: str, value: Json) -> list[str | int]:
    """The keys and places of a JSON Pointer into `value`."""
    found: list[str | int] = []
    at = value
    for part in place.split("/")[1:]:
        key = part.replace("~1", "/").replace("~0", "~")
        if isinstance(at, list) and key.isdigit():
            found.append(int(key))
            at = at[int(key)] if int(key) < len(at) else None
        else:
            found.append(key)
            at = at.get(key) if isinstance(at, dict) else None
    return found


class Page:
    """A JSON text with its value, and where its parts are, each of which is looked for once."""

    __slots__ = ("_items", "_members", "text", "value")

    def __init__(self, text: str, value: Json) -> None:
        self.text = text
        self.value = value
        self._items: dict[int, list[tuple[int, int]]] = {}
        self._members: dict[int, dict[str, tuple[int, int]]] = {}

    def span(self, place: str) -> tuple[int, int]:
        """Where the value at a place stands.

        Raises:
            InputError: the text cannot be cut there: a key is given twice.
            LookupError: there is no such place.
        """
        at, end = len(self.text) - len(self.text.lstrip(_BLANK)), len(self.text.rstrip())
        for step in steps(place, self.value):
            at, end = self.items(at)[step] if isinstance(step, int) else self.members(at)[step]
        return at, end

    def items(self, at: int) -> list[tuple[int, int]]:
        """The spans of the items of the array that starts there."""
        if at not in self._items:
            self._items[at] = item_spans(self.text, at)
        return self._items[at]

    def members(self, at: int) -> dict[str, tuple[int, int]]:
        """The spans of the values of the object that starts there."""
        if at not in self._members:
            self._members[at] = member_spans(self.text, at)
        return self._members[at]

    def cut(self, place: str, value: Json) -> str:
        """The text at a place, as it was written; that of `value`, where it cannot be cut out."""
        try:
            start, end = self.span(place)
        except (InputError, LookupError):
            return json.dumps(value, ensure_ascii=False)
        return self.text[start:end]


_BLANK = " \t\r\n\ufeff"
