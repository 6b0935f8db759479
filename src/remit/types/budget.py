"""Limits of a run or a conversation, and what has been spent of them. The rules are in `remit.budget`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal, InvalidOperation
from typing import cast

from remit.errors import DefinitionError
from remit.types.given import is_count, is_number
from remit.types.quick import quick

__all__ = ["Budget", "Spent", "Usage"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """Upper bounds; None is no bound.

    Args:
        turns: model requests.
        calls: proposals, in the model's order; beyond it each is refused.
        calls_per_tool: the same for each tool: one number for all, or by tool name.
        seconds: active time; waiting for people does not count.
        deadline: an absolute moment (aware datetime).
        tokens: input plus output; a reply may overshoot by at most itself.
        usd: list price, as a decimal string or Decimal; refused to start where the price is unknown.
        consecutive_errors: refused or failed calls in a row, over all tools.
        repeats: the same tool with the same canonical arguments.
        approvals: requests to people, questions included.

    Raises:
        DefinitionError: `budget.invalid`: a limit that cannot be one; the message names it and the mend.
    """

    turns: int | None = 24
    calls: int | None = 64
    calls_per_tool: int | Mapping[str, int] | None = None
    seconds: float | None = None
    deadline: datetime | None = None
    tokens: int | None = None
    usd: Decimal | str | None = None
    consecutive_errors: int | None = 8
    repeats: int | None = 4
    approvals: int | None = 16

    def __post_init__(self) -> None:
        for name in _COUNTS:
            value: object = getattr(self, name)
            _need(value is None or is_count(value), name, "give a whole number of 0 or more, or None for no bound")
        seconds, per_tool, deadline = self.seconds, self.calls_per_tool, self.deadline
        _need(seconds is None or (is_number(seconds) and seconds >= 0), "seconds", "give a time of 0 or more, or None")
        each = cast("Mapping[object, object]", per_tool) if isinstance(per_tool, Mapping) else {"": per_tool}
        counted = per_tool is None or all(isinstance(tool, str) and is_count(most) for tool, most in each.items())
        _need(counted, "calls_per_tool", "give a whole number of 0 or more, for all tools or by tool name")
        aware = isinstance(deadline, datetime) and deadline.tzinfo is not None
        _need(
            deadline is None or aware, "deadline", "give a datetime with a time zone, as datetime.now(UTC) + timedelta(hours=1)"
        )
        _need(
            self.usd is None or _is_amount(self.usd), "usd", "give a Decimal or decimal text of 0 or more, for example '0.50'"
        )


_COUNTS = ("turns", "calls", "tokens", "consecutive_errors", "repeats", "approvals")


def _need(holds: bool, name: str, mend: str) -> None:
    if not holds:
        raise DefinitionError(f"{name}= of Budget: {mend}", code="budget.invalid", budget=name)


def _is_amount(usd: object) -> bool:
    if not isinstance(usd, (Decimal, str)):
        return False
    try:
        amount = Decimal(usd)
    except InvalidOperation:
        return False
    return amount.is_finite() and amount >= 0


@quick
@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """Tokens of model requests, as the provider counted them; `cost_usd_micros` is list price, None if unknown.

    `reported`: the provider has counted; where it has not, the counts are 0 and say nothing.
    """

    input_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    output_tokens: int = 0
    reasoning_tokens: int = 0
    cost_usd_micros: int | None = None
    reported: bool = True

    def __add__(self, other: Usage) -> Usage:
        known = self.cost_usd_micros is not None and other.cost_usd_micros is not None
        return Usage(
            input_tokens=self.input_tokens + other.input_tokens,
            cache_read_tokens=self.cache_read_tokens + other.cache_read_tokens,
            cache_write_tokens=self.cache_write_tokens + other.cache_write_tokens,
            output_tokens=self.output_tokens + other.output_tokens,
            reasoning_tokens=self.reasoning_tokens + other.reasoning_tokens,
            cost_usd_micros=(self.cost_usd_micros or 0) + (other.cost_usd_micros or 0) if known else None,
            reported=self.reported and other.reported,
        )


@quick
@dataclass(frozen=True, slots=True, kw_only=True)
class Spent:
    """Amounts that add up: what is reserved, spent or given back."""

    turns: int = 0
    calls: int = 0
    tokens: int = 0
    usd_micros: int = 0
    approvals: int = 0
    active_ms: int = 0
