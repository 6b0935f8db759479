"""Limits of a run or a conversation, and what has been spent of them. The rules are in `remit.budget`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """Tokens of model requests, as the provider counted them; `cost_usd_micros` is list price, None if unknown."""

    input_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    output_tokens: int = 0
    reasoning_tokens: int = 0
    cost_usd_micros: int | None = None

    def __add__(self, other: Usage) -> Usage:
        known = self.cost_usd_micros is not None and other.cost_usd_micros is not None
        return Usage(
            input_tokens=self.input_tokens + other.input_tokens,
            cache_read_tokens=self.cache_read_tokens + other.cache_read_tokens,
            cache_write_tokens=self.cache_write_tokens + other.cache_write_tokens,
            output_tokens=self.output_tokens + other.output_tokens,
            reasoning_tokens=self.reasoning_tokens + other.reasoning_tokens,
            cost_usd_micros=(self.cost_usd_micros or 0) + (other.cost_usd_micros or 0) if known else None,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Spent:
    """Amounts that add up: what is reserved, spent or given back."""

    turns: int = 0
    calls: int = 0
    tokens: int = 0
    usd_micros: int = 0
    approvals: int = 0
    active_ms: int = 0
