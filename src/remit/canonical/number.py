"""Numbers without rounding: which ones a float64 holds as they are written, and how each is spelt.

Knows nothing of objects or strings. Invariant: an integral number is an `int`, every other a
`Decimal`; and a number has exactly one spelling.
"""

from __future__ import annotations

from decimal import Decimal
from typing import TypeGuard

from remit.errors import InputError

__all__ = ["Exact", "exact_number", "from_tag", "held_by_float", "read_integer", "read_number", "tag_of", "written"]

Exact = None | bool | int | float | Decimal | str | list["Exact"] | dict[str, "Exact"]
"""JSON, with `Decimal` for the numbers that are not integral."""

_SAFE = 2**53
_MAX_DIGITS = 1000
_MAX_EXPONENT = 1000


def read_integer(text: str) -> int:
    """The integer that a JSON text spells with digits alone.

    Raises:
        ValueError: it has more than 1000 of them.
    """
    if len(text) > _MAX_DIGITS + 2:
        raise ValueError("a number is out of range" if len(text) <= 2 * _MAX_DIGITS else "a number has too many digits")
    return int(text)


def read_number(text: str) -> int | Decimal:
    """The number that a JSON text spells, exactly; 1.0 is the integer 1.

    Raises:
        ValueError: it has more than 1000 digits, or an exponent beyond 1000.
    """
    if len(text) > 2 * _MAX_DIGITS:
        raise ValueError("a number has too many digits")
    mantissa, _, exponent = text.lower().partition("e")
    if len(mantissa) > _MAX_DIGITS + 2 or len(exponent) > 6 or abs(int(exponent or "0")) > _MAX_EXPONENT:
        raise ValueError("a number is out of range")
    return int(text) if not exponent and "." not in mantissa else exact_number(Decimal(text))


def exact_number(value: Decimal) -> int | Decimal:
    """An integral decimal as an `int`, any other as it is.

    Raises:
        ValueError: it is not finite, or its exponent is beyond 1000.
    """
    if not value.is_finite():
        raise ValueError("a number is not finite")
    if not value:
        return 0
    if abs(value.adjusted()) > 2 * _MAX_EXPONENT:
        raise ValueError("a number is out of range")
    whole = int(value)
    return whole if whole == value else value


def held_by_float(value: int | Decimal) -> TypeGuard[int | Decimal]:
    """Whether a float64 reader gets back what is written: integers below 2**53, decimals that round-trip."""
    if isinstance(value, int):
        return -_SAFE < value < _SAFE
    return Decimal(repr(float(value))) == value


def written(value: int | Decimal) -> str:
    """The spelling of RFC 8785, for a number that a float holds."""
    if isinstance(value, int):
        return str(value)
    text = repr(float(value))
    mantissa, _, exponent = text.partition("e-")
    if not exponent:
        return text
    power = int(exponent)
    if power > 6:
        return f"{mantissa}e-{power}"
    sign = "-" if mantissa.startswith("-") else ""
    return f"{sign}0.{'0' * (power - 1)}{mantissa.lstrip('-').replace('.', '')}"


def tag_of(value: int | Decimal) -> str:
    """The spelling inside a tag, for a number that a float does not hold."""
    if isinstance(value, int):
        return str(value)
    sign, digits, exponent = value.as_tuple()
    letters = "".join(map(str, digits))
    stripped = letters.rstrip("0")
    power = int(exponent) + len(letters) - len(stripped)
    return f"{'-' if sign else ''}{stripped.lstrip('0')}e{power}"


def from_tag(text: Exact) -> int | Decimal:
    """The number in a tag.

    Raises:
        InputError: `canonical.tag`; the text is not one that `tag_of` writes.
    """
    if isinstance(text, str):
        try:
            value = read_number(text)
        except (ValueError, ArithmeticError):
            value = 0
        if not held_by_float(value) and tag_of(value) == text:
            return value
    raise InputError("a number's tag in canonical JSON is damaged", code="canonical.tag")
