"""Budgets as data: written as JSON text, and as the limits of a conditional update."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import fields
from datetime import UTC, datetime
from decimal import ROUND_FLOOR, Decimal
from typing import cast

from remit.errors import InputError
from remit.types.budget import Budget

__all__ = ["admission_of", "budget_from_json", "budget_to_json", "deadline_ms", "limits_of", "per_tool", "usd_micros"]

_MICROS = Decimal(1_000_000)


def usd_micros(budget: Budget) -> int | None:
    """The limit in millionths of a dollar, rounded down; None is no bound."""
    return None if budget.usd is None else int((Decimal(budget.usd) * _MICROS).to_integral_value(ROUND_FLOOR))


def deadline_ms(budget: Budget) -> int | None:
    """The deadline as wall clock milliseconds; None is no bound."""
    return None if budget.deadline is None else int(budget.deadline.timestamp() * 1000)


def budget_to_json(budget: Budget) -> str:
    """JSON text of a budget, with its keys in order: equal budgets are equal text."""
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
        return Budget(**plain)  # pyright: ignore[reportArgumentType]
    except (ValueError, TypeError, AttributeError):
        raise InputError("the text is not a budget", code="budget.invalid") from None


def limits_of(budget: Budget) -> tuple[tuple[str, int], ...]:
    """The limits that a store can hold, by the names of `Spent`."""
    limits = {
        "turns": budget.turns,
        "calls": budget.calls,
        "tokens": budget.tokens,
        "usd_micros": usd_micros(budget),
        "approvals": budget.approvals,
        "active_ms": None if budget.seconds is None else int(budget.seconds * 1000),
    }
    return tuple((name, limit) for name, limit in limits.items() if limit is not None)


def admission_of(budget: Budget) -> tuple[tuple[str, int], ...]:
    """The limits of calls and of requests to people."""
    return tuple(limit for limit in limits_of(budget) if limit[0] in ("calls", "approvals"))


def per_tool(budget: Budget, tool: str) -> int | None:
    """How often this tool may be called; None is no bound."""
    limits = budget.calls_per_tool
    return limits.get(tool) if isinstance(limits, Mapping) else limits
