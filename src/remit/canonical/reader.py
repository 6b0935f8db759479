"""Reading JSON exactly: no rounding, no duplicate keys, no constants that JSON does not have.

Knows no schema. Invariant: what `parse` returns, `encode` can write.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from decimal import Decimal
from typing import NoReturn, cast

from remit.canonical.number import Exact, exact_number, from_tag, held_by_float, read_integer, read_number
from remit.canonical.writer import MAX_DEPTH, TAG, is_tag_like
from remit.errors import InputError
from remit.types.ident import Json

__all__ = ["decode", "parse", "to_plain"]

_SHOWN = 64


class _Fault(ValueError):
    """What is wrong, where the scanner does not say at which position."""


def _constant(name: str) -> NoReturn:
    raise _Fault(f"{name} is not a JSON value")


def _members(pairs: list[tuple[str, Exact]]) -> Exact:
    members = dict(pairs)
    if len(members) != len(pairs):
        seen: set[str] = set()
        twice = next(key for key, _ in pairs if key in seen or seen.add(key))
        raise _Fault(f"the key {twice[:_SHOWN]!r} is given twice in one object")
    return members


def _untagged(pairs: list[tuple[str, Exact]]) -> Exact:
    if len(pairs) == 1 and is_tag_like(pairs[0][0]):
        key, value = pairs[0]
        return from_tag(value) if key == TAG else {key[1:]: value}
    return _members(pairs)


def _decoder(members: Callable[[list[tuple[str, Exact]]], Exact]) -> Callable[[str], object]:
    decoder = json.JSONDecoder(
        object_pairs_hook=cast("Callable[[list[tuple[str, object]]], object]", members),
        parse_int=read_integer,
        parse_float=cast("Callable[[str], float]", read_number),
        parse_constant=_constant,
    )
    return decoder.decode


_plain = _decoder(_members)
_tagged = _decoder(_untagged)


def parse(text: str) -> Exact:
    """Read JSON text: integral numbers as `int` of any size, all others as `Decimal`.

    Raises:
        InputError: `json.invalid`: not JSON, a key twice in one object, NaN or Infinity, text after the
            value, nested more than 100 deep, a number of more than 1000 digits. `details["position"]` is
            the offset, None where it is not known.
    """
    return _read(_plain, text)


def decode(text: str) -> Exact:
    """Read canonical text, as `encode` writes it, back to the exact value.

    Raises:
        InputError: `json.invalid` or `canonical.tag`.
    """
    return _read(_tagged, text)


def _read(decoder: Callable[[str], object], text: str) -> Exact:
    try:
        value = cast("Exact", decoder(text))
    except json.JSONDecodeError as error:
        message = f"not valid JSON at character {error.pos}: {error.msg}"
        raise InputError(message, code="json.invalid", position=error.pos) from None
    except InputError:
        raise
    except (ValueError, ArithmeticError) as error:
        reason = str(error) if isinstance(error, ValueError) else "a number is out of range"
        raise InputError(f"not valid JSON: {reason}", code="json.invalid", position=None) from None
    except RecursionError:
        raise _too_deep() from None
    if text.count("[") + text.count("{") > MAX_DEPTH and _depth(value) > MAX_DEPTH:
        raise _too_deep()
    return value


def _too_deep() -> InputError:
    return InputError(f"not valid JSON: nested more than {MAX_DEPTH} deep", code="json.invalid", position=None)


def _depth(value: Exact) -> int:
    """How many arrays and objects are inside each other."""
    deepest = 0
    waiting = [(value, 1)]
    while waiting:
        one, depth = waiting.pop()
        if isinstance(one, (dict, list)):
            deepest = max(deepest, depth)
            waiting += [(inner, depth + 1) for inner in (one.values() if isinstance(one, dict) else one)]
    return deepest


def to_plain(value: Exact) -> Json:
    """The value as handlers and policies get it: fresh containers, and no `Decimal`.

    A decimal that a float holds as written becomes that float; one that it does not hold becomes text,
    so that nothing computes with a rounded number unawares.
    """
    if isinstance(value, dict):
        return {key: to_plain(one) for key, one in value.items()}
    if isinstance(value, list):
        return [to_plain(one) for one in value]
    if isinstance(value, Decimal):
        exact = exact_number(value)
        return exact if isinstance(exact, int) else float(exact) if held_by_float(exact) else str(exact)
    return value
