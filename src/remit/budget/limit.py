"""Budgets as data: checked, written as JSON text, and as the limits of a conditional update."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import fields
from datetime import UTC, datetime
from decimal import ROUND_FLOOR, Decimal, InvalidOperation
from typing import cast

from remit.errors import InputError
from remit.types.budget import Budget

__all__ = ["budget_from_json", "budget_to_json", "deadline_ms", "limits_of", "per_tool", "usd_micros"]

_COUNTS = ("turns", "calls", "tokens", "consecutive_errors", "repeats", "approvals")
_MICROS = Decimal(1_000_000)


def _wrong(name: str, problem: str) -> InputError:
    return InputError(f"budget {name}: {problem}", code="budget.invalid", budget=name)


def usd_micros(budget: Budget) -> int | None:
    """The limit in millionths of a dollar, rounded down; None is no bound.

    Raises:
        InputError: `budget.invalid`.
    """
    if budget.usd is None:
        return None
    if isinstance(budget.usd, float):
        raise _wrong("usd", "is a Decimal or a decimal string, for example '0.50', not a float")
    try:
        amount = Decimal(budget.usd)
        if amount.is_finite() and amount >= 0:
            return int((amount * _MICROS).to_integral_value(ROUND_FLOOR))
    except (InvalidOperation, ValueError, TypeError):
        pass
    raise _wrong("usd", "is an amount of 0 or more, for example '0.50'")


def deadline_ms(budget: Budget) -> int | None:
    """The deadline as wall clock milliseconds; None is no bound.

    Raises:
        InputError: `budget.invalid`: it has no time zone.
    """
    if budget.deadline is None:
        return None
    if budget.deadline.tzinfo is None:
        raise _wrong("deadline", "needs a time zone")
    return int(budget.deadline.timestamp() * 1000)


def _check(budget: Budget) -> None:
    for name in _COUNTS:
        value: object = getattr(budget, name)
        if value is not None and not _is_count(value):
            raise _wrong(name, "is a whole number of 0 or more, or None")
    per_tool = budget.calls_per_tool
    for value in per_tool.values() if isinstance(per_tool, Mapping) else [] if per_tool is None else [per_tool]:
        if not _is_count(value):
            raise _wrong("calls_per_tool", "is a whole number of 0 or more, for all tools or by tool name")
    if budget.seconds is not None and not 0 <= budget.seconds < float("inf"):
        raise _wrong("seconds", "is a time of 0 or more, or None")
    usd_micros(budget)
    deadline_ms(budget)


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def budget_to_json(budget: Budget) -> str:
    """JSON text of a budget, with its keys in order: equal budgets are equal text.

    Raises:
        InputError: `budget.invalid`: a limit that cannot be one; the message names it.
    """
    _check(budget)
    plain: dict[str, object] = {one.name: getattr(budget, one.name) for one in fields(budget)}
    if budget.deadline is not None:
        plain["deadline"] = budget.deadline.astimezone(UTC).isoformat()
    if budget.usd is not None:
        plain["usd"] = format(Decimal(budget.usd).normalize(), "f")
    if isinstance(budget.calls_per_tool, Mapping):
        plain["calls_per_tool"] = dict(budget.calls_per_tool)
    return json.dumps(plain, sort_keys=True, separators=(",", ":"))


def budget_from_json(text: str) -> Budget:
    """The budget that `budget_to_json` wrote.

    Raises:
        InputError: `budget.invalid`.
    """
    try:
        plain = cast("dict[str, object]", json.loads(text))
        if plain.get("deadline") is not None:
            plain["deadline"] = datetime.fromisoformat(str(plain["deadline"]))
        budget = Budget(**plain)  # pyright: ignore[reportArgumentType]
    except (ValueError, TypeError, AttributeError):
        raise _wrong("text", "is not a budget") from None
    _check(budget)
    return budget


def limits_of(budget: Budget) -> tuple[tuple[str, int], ...]:
    """The limits that a store can hold, by the names of `Spent`.

    Raises:
        InputError: `budget.invalid`.
    """
    limits = {
        "turns": budget.turns,
        "calls": budget.calls,
        "tokens": budget.tokens,
        "usd_micros": usd_micros(budget),
        "approvals": budget.approvals,
        "active_ms": None if budget.seconds is None else int(budget.seconds * 1000),
    }
    return tuple((name, limit) for name, limit in limits.items() if limit is not None)


def per_tool(budget: Budget, tool: str) -> int | None:
    """How often this tool may be called; None is no bound."""
    limits = budget.calls_per_tool
    return limits.get(tool) if isinstance(limits, Mapping) else limits
