"""What an application passes, looked at before it is used: counts, times, ids, and names that were misspelt.

Knows no option by name. Invariant: a bool is no number, and an id is text that a ledger can hold.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import TypeGuard

from remit.errors import InputError

__all__ = ["given_bool", "given_id", "given_text", "is_count", "is_number", "meant"]


def is_count(value: object, least: int = 0) -> TypeGuard[int]:
    """Whether it is a whole number of at least `least`."""
    return isinstance(value, int) and not isinstance(value, bool) and value >= least


def is_number(value: object) -> TypeGuard[float]:
    """Whether it is a finite number, that a float can hold."""
    return isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) <= sys.float_info.max


def meant(name: object, known: Iterable[str]) -> str:
    """The end of a message about an unknown name: what it may have meant, or what there is."""
    import difflib

    names = sorted(known)
    near = difflib.get_close_matches(str(name)[:128], names, n=3)
    if near:
        return f"; did you mean {' or '.join(map(repr, near))}?"
    return f"; there is {', '.join(names)}" if names else ""


def given_id(value: object, place: str, mend: str) -> str:
    """An id as text.

    Raises:
        InputError: `input.id`: it is no text, is empty, or holds what UTF-8 cannot; the message names `place` and `mend`.
    """
    text = _text(value, place, mend, "input.id")
    if not text.strip():
        raise InputError(f"{place} is empty; {mend}", code="input.id", place=place)
    return text


def given_text(value: object, place: str) -> str:
    """Text that may be empty.

    Raises:
        InputError: `input.text`: it is no text, or holds what UTF-8 cannot.
    """
    return _text(value, place, "give text that can be stored", "input.text")


def given_bool(value: object, place: str) -> bool:
    """True or False, and nothing that only counts as one.

    Raises:
        InputError: `input.bool`.
    """
    if not isinstance(value, bool):
        raise InputError(f"{place} is True or False, not {type(value).__name__}", code="input.bool", place=place)
    return value


def _text(value: object, place: str, mend: str, code: str) -> str:
    if not isinstance(value, str):
        raise InputError(f"{place} is text, not {type(value).__name__}; {mend}", code=code, place=place)
    try:
        value.encode()
    except UnicodeEncodeError:
        message = f"{place} holds half a character (a surrogate), which cannot be stored; {mend}"
        raise InputError(message, code=code, place=place) from None
    return value
