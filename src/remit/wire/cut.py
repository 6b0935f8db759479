"""One part of a provider's text cut out as it was written, and the values of all the rest.

Knows no protocol. A reply is read on the loop's account, so the text is gone over once: what comes before the part is
passed over by a pattern, the part is scanned, and what is left of the text is parsed without it. Invariant: what the
pattern does not take is walked member by member, with the same result.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import NamedTuple, NoReturn, cast

import orjson

from remit.canonical import item_spans, member_spans
from remit.errors import InputError
from remit.types.ident import Json
from remit.wire.text import Node, unread

__all__ = ["Cut", "cut_out", "raw_members"]

Path = tuple[str | int, ...]


def _constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON value")


_decoder = json.JSONDecoder(parse_constant=_constant)
_scan = cast("Callable[[str, int], tuple[Json, int]]", _decoder.scan_once)  # pyright: ignore
_SPACE = r"[ \t\n\r]*+"
_STRING = r'"[^"\\]*+(?:\\.[^"\\]*+)*+"'
_PLAIN = rf"(?:{_STRING}|[-+.0-9a-zA-Z]++)"
_FLAT = rf"\{{{_SPACE}(?:{_STRING}{_SPACE}:{_SPACE}{_PLAIN}{_SPACE},?+{_SPACE})*+\}}"
_EMPTY = "0"
"""What stands in the rest in place of the part."""


class Cut(NamedTuple):
    """A text, a part of it, and the rest."""

    text: str
    rest: Mapping[str, Json]
    """The values of the whole, with a 0 in place of the part."""
    value: Json
    """The part's."""
    start: int
    end: int


def cut_out(body: bytes, path: Path, what: str) -> Cut:
    """Cut out the part that `path` names by members and places; the first step is a member.

    Args:
        what: what the body is then found not to be, for the message.

    Raises:
        ProtocolError: it is no JSON object, has no such part, or two.
    """
    try:
        return _quickly(body, path) or _walked(body, path, what)
    except (ValueError, StopIteration, RecursionError, LookupError, TypeError):
        return _walked(body, path, what)


def _quickly(body: bytes, path: Path) -> Cut | None:
    text = body.decode()
    found = _leading(path).match(text)
    if found is None:
        return None
    start = found.end()
    value, end = _scan(text, start)
    rest = orjson.loads(f"{text[:start]}{_EMPTY}{text[end:]}")
    part = rest
    for step in path:
        part = part[step]
    return Cut(text, rest, value, start, end) if part == 0 and type(part) is int else None


@cache
def _leading(path: Path) -> re.Pattern[str]:
    """Everything before a part, where that is members without structure of their own."""
    pattern = _SPACE
    for step in path:
        if isinstance(step, int):
            pattern += rf"\[{_SPACE}"
            continue
        other = rf'(?!"{step}"){_STRING}{_SPACE}:{_SPACE}(?:{_PLAIN}|{_FLAT}|\[\]){_SPACE},{_SPACE}'
        pattern += rf'\{{{_SPACE}(?:{other})*+"{step}"{_SPACE}:{_SPACE}'
    return re.compile(pattern)


def _walked(body: bytes, path: Path, what: str) -> Cut:
    """The same, step by step."""
    node = Node.of(body)
    text, start, end = node.text, 0, len(node.text)
    try:
        for step in path:
            if isinstance(step, int):
                start, end = item_spans(text, start)[step]
            else:
                first, last = member_spans(text[start:end])[step]
                start, end = start + first, start + last
    except LookupError:
        raise unread("response", f"is not {what}") from None
    except InputError:
        raise unread("response", "cannot be cut up: a member is given twice, or is no JSON") from None
    rest = Node.of(f"{text[:start]}{_EMPTY}{text[end:]}".encode())
    part = Node.of(f'{{"part":{text[start:end]}}}'.encode())
    return Cut(text, rest.values, part.value("part"), start, end)


def raw_members(cut: Cut, key: str, holders: Sequence[Mapping[str, Json]]) -> list[str] | None:
    """A member of each of the part's objects that have it, in their order, as it was written.

    None where that cannot be told in one step: the key occurs elsewhere too.
    """
    text, raws, at = cut.text, list[str](), cut.start
    match = _keyed(key).search
    for holder in holders:
        found = match(text, at, cut.end)
        if found is None:
            return None
        start = found.end()
        value, at = _scan(text, start)
        if value != holder[key]:
            return None
        raws.append(text[start:at])
    return raws if match(text, at, cut.end) is None else None


@cache
def _keyed(key: str) -> re.Pattern[str]:
    """A member's name: inside a string its first quote would be escaped."""
    return re.compile(rf'(?<!\\)"{key}"{_SPACE}:{_SPACE}')
