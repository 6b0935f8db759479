"""Where the parts of a JSON text are, so that they can be cut out and kept verbatim.

Knows no protocol. The scanning is the standard library's C scanner; nothing is written again, and no number
is converted, however long it is.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from functools import partial
from json.decoder import scanstring as _scanstring  # pyright: ignore
from typing import NoReturn, TypeVar, cast

from remit.errors import InputError

__all__ = ["item_spans", "member_spans", "part_span"]


def _constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON value")


_string = cast("Callable[[str, int], tuple[str, int]]", _scanstring)
_decoder = json.JSONDecoder(parse_int=str, parse_float=cast("Callable[[str], float]", str), parse_constant=_constant)
_scan = cast("Callable[[str, int], tuple[object, int]]", _decoder.scan_once)  # pyright: ignore
T = TypeVar("T")
_SPACE = r"[ \t\n\r]*+"
_STRING = r'"[^"\\\x00-\x1f]*+"'
_FLAT = rf"{_STRING}|-?+(?:0|[1-9][0-9]*+)(?:\.[0-9]++)?+(?:[eE][-+]?+[0-9]++)?+|true|false|null"
_space = re.compile(_SPACE).match
_KEY = rf'{_SPACE}"([^"\\\x00-\x1f]*+)"{_SPACE}:{_SPACE}'
_FLAT_MEMBERS = rf"(?:{_SPACE}{_STRING}{_SPACE}:{_SPACE}(?:{_FLAT}){_SPACE},)*+"
_key = re.compile(_KEY).match
"""A key without escapes, up to its value: most keys, in one step."""
_flat_members = re.compile(_FLAT_MEMBERS).match
"""Members whose values have no parts, up to the next one: most members, in one step."""
_next_member = re.compile(_FLAT_MEMBERS + _KEY).match
"""The same, up to the next one's value."""


def member_spans(text: str, at: int | None = None) -> dict[str, tuple[int, int]]:
    """The spans of an object's values: `text[start:end]` is a value as it was written.

    Args:
        at: where the object starts; left out, the text is the object and nothing else.

    Raises:
        InputError: `json.invalid`: no JSON object is there, or a key is given twice.
    """
    if at is not None:
        return _guarded(_members, text, at)[0]
    spans, end = _guarded(_members, text, 0)
    if _past(text, end) != len(text):
        raise _invalid(end)
    return spans


def part_span(text: str, path: Sequence[str | int], at: int = 0) -> tuple[int, int]:
    """The span of an array or object inside the one at `at`, which `path` names by keys and places, in one pass.

    Raises:
        InputError: `json.invalid`: no such part is there, or a key on the way has two arrays or objects.
    """
    span, _ = _guarded(partial(_part, path=path), text, at)
    if span is None:
        raise _invalid(at)
    return span


def item_spans(text: str, at: int = 0) -> list[tuple[int, int]]:
    """The spans of the items of the array that starts at `at`.

    Raises:
        InputError: `json.invalid`: no JSON array starts there.
    """
    return _guarded(_items, text, at)


def _guarded(scan: Callable[[str, int], T], text: str, at: int) -> T:
    try:
        return scan(text, at)
    except InputError:
        raise
    except json.JSONDecodeError as error:
        raise _invalid(error.pos) from None
    except StopIteration as error:
        raise _invalid(cast("int", error.value)) from None
    except (ValueError, RecursionError):
        raise InputError("not valid JSON", code="json.invalid", position=None) from None


def _members(text: str, at: int) -> tuple[dict[str, tuple[int, int]], int]:
    """The spans, and where the object has ended."""
    spans: dict[str, tuple[int, int]] = {}
    at = _past(text, _sign(text, at, "{") + 1)
    closed = text.startswith("}", at)
    while not closed:
        found = _key(text, at)
        key, start = (found[1], found.end()) if found is not None else _spelt_key(text, at)
        at = _scan(text, start)[1]
        if key in spans:
            raise _invalid(start)
        spans[key] = (start, at)
        at = _sign(text, at, ",}")
        closed = text[at] == "}"
        at += not closed
    return spans, at + 1


_Part = tuple[tuple[int, int] | None, int]
"""A part's span, None where there is none, and where what holds it has ended."""


def _part(text: str, at: int, path: Sequence[str | int]) -> _Part:
    if not path:
        end = _scan(text, at)[1]
        return (at, end), end
    step, rest = path[0], path[1:]
    return _part_of_object(text, at, step, rest) if isinstance(step, str) else _part_of_array(text, at, step, rest)


def _part_of_object(text: str, at: int, step: str, rest: Sequence[str | int]) -> _Part:
    span: tuple[int, int] | None = None
    at = _past(text, _sign(text, at, "{") + 1)
    closed = text.startswith("}", at)
    while not closed:
        found = _next_member(text, at)
        key, start = (found[1], found.end()) if found is not None else _spelt_key(text, _past_all(_flat_members, text, at))
        if key != step or text[start : start + 1] not in ("[", "{"):
            at = _scan(text, start)[1]
        elif span is None:
            span, at = _part(text, start, rest)
        else:
            raise _invalid(start)
        at = _sign(text, at, ",}")
        closed = text[at] == "}"
        at += not closed
    return span, at + 1


def _part_of_array(text: str, at: int, step: int, rest: Sequence[str | int]) -> _Part:
    span: tuple[int, int] | None = None
    at = _past(text, _sign(text, at, "[") + 1)
    closed = text.startswith("]", at)
    place = 0
    while not closed:
        if place == step:
            span, at = _part(text, at, rest)
        else:
            at = _scan(text, at)[1]
        at = _sign(text, at, ",]")
        closed = text[at] == "]"
        at = at if closed else _past(text, at + 1)
        place += 1
    return span, at + 1


def _spelt_key(text: str, at: int) -> tuple[str, int]:
    """A key with escapes, and the place of its value."""
    key, at = _string(text, _sign(text, at, '"') + 1)
    return key, _past(text, _sign(text, at, ":") + 1)


def _items(text: str, at: int) -> list[tuple[int, int]]:
    spans: list[tuple[int, int]] = []
    at = _past(text, _sign(text, at, "[") + 1)
    closed = text.startswith("]", at)
    while not closed:
        start, at = at, _scan(text, at)[1]
        spans.append((start, at))
        at = _sign(text, at, ",]")
        closed = text[at] == "]"
        at = at if closed else _past(text, at + 1)
    return spans


def _past(text: str, at: int) -> int:
    """The next place that is not white space."""
    return _past_all(_space, text, at)


def _past_all(match: Callable[[str, int], re.Match[str] | None], text: str, at: int) -> int:
    found = match(text, at)
    return found.end() if found is not None else at


def _sign(text: str, at: int, signs: str) -> int:
    """Where one of the signs stands, after white space only."""
    if text[at : at + 1] not in signs or at >= len(text):
        at = _past(text, at)
        if at >= len(text) or text[at] not in signs:
            raise _invalid(at)
    return at


def _invalid(position: int) -> InputError:
    return InputError(f"not valid JSON at character {position}", code="json.invalid", position=position)
