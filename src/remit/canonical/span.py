"""Where the parts of a JSON text are, so that they can be cut out and kept verbatim.

Knows no protocol. The scanning is the standard library's C scanner; nothing is written again, and no number
is converted, however long it is.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from json.decoder import scanstring as _scanstring  # pyright: ignore
from typing import NoReturn, TypeVar, cast

from remit.errors import InputError

__all__ = ["item_spans", "member_spans"]


def _constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON value")


_string = cast("Callable[[str, int], tuple[str, int]]", _scanstring)
_decoder = json.JSONDecoder(parse_int=str, parse_float=cast("Callable[[str], float]", str), parse_constant=_constant)
_scan = cast("Callable[[str, int], tuple[object, int]]", _decoder.scan_once)  # pyright: ignore
T = TypeVar("T")
_space = re.compile(r"[ \t\n\r]*").match
_key = re.compile(r'[ \t\n\r]*"([^"\\\x00-\x1f]*)"[ \t\n\r]*:[ \t\n\r]*').match
"""A key without escapes, up to its value: most keys, in one step."""


def member_spans(text: str) -> dict[str, tuple[int, int]]:
    """The spans of the values of the object that `text` is: `text[start:end]` is a value as it was written.

    Raises:
        InputError: `json.invalid`: not one JSON object, or a key is given twice.
    """
    return _guarded(_members, text, 0)


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


def _members(text: str, at: int) -> dict[str, tuple[int, int]]:
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
    if _past(text, at + 1) != len(text):
        raise _invalid(at + 1)
    return spans


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
    found = _space(text, at)
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
