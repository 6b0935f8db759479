"""What must be true of every play, whatever went wrong in it: read from the ledger, and from the world's own books.

Knows events, rows and books; nothing of how they came about. Invariant: a check reads, and never writes.
"""

from __future__ import annotations

from collections.abc import Callable

from remit.testing.explorer.check.answer import answers
from remit.testing.explorer.check.back import taken_back
from remit.testing.explorer.check.budget import budgets
from remit.testing.explorer.check.effect import effects
from remit.testing.explorer.check.flow import flow
from remit.testing.explorer.check.permit import permits
from remit.testing.explorer.check.record import Record, read
from remit.testing.explorer.check.secret import secrets
from remit.testing.explorer.check.settle import settled

__all__ = ["CHECKS", "Record", "broken", "read"]

CHECKS: dict[str, Callable[[Record], list[str]]] = {
    "at most once": effects,
    "authorized and approved": permits,
    "settled or named unknown": settled,
    "answered once": answers,
    "within budget": budgets,
    "taken back or named": taken_back,
    "no secret": secrets,
    "non-interference": flow,
}
"""The promises, each with what finds where it is broken."""


def broken(record: Record) -> list[str]:
    """Every promise that does not hold, each with where."""
    return [f"{promise}: {found}" for promise, check in CHECKS.items() for found in check(record)]
