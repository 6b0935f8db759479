"""What a commit spends of one scope, as one conditional statement.

Knows amounts and limits; not what they bound. Invariant: the result is that of spending one after
the other, each against its own limits.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import fields
from operator import add, attrgetter

from remit.errors import BudgetExceeded, InputError
from remit.ledger.sql import Database, execute, locked
from remit.types.budget import Spent
from remit.types.change import Spend

__all__ = ["pay"]

_AMOUNTS = tuple(field.name for field in fields(Spent))
_amounts_of = attrgetter(*_AMOUNTS)
_PLACE = {name: place for place, name in enumerate(_AMOUNTS)}
_MOST = 2**63 - 1
_SPENT = f"SELECT {', '.join(_AMOUNTS)} FROM remit_spent WHERE scope = ?"
_ADD = (
    f"UPDATE remit_spent SET {', '.join(f'{name} = {name} + ?' for name in _AMOUNTS)}"
    f" WHERE scope = ? AND {' AND '.join(f'{name} <= ?' for name in _AMOUNTS)}"
)


def pay(db: Database, scope: str, bill: Sequence[Spend]) -> None:
    """Add all of the bill to what the scope has spent.

    Raises:
        BudgetExceeded: an amount that grows would pass its limit; nothing was added.
        InputError: a limit names no amount (`budget.unknown`).
    """
    sums, bounds = _sums(bill)
    values = (*sums, scope, *bounds)
    execute(db, _ADD, values)
    if db.changes():
        return
    execute(db, "INSERT INTO remit_spent (scope) VALUES (?) ON CONFLICT DO NOTHING", (scope,))
    if db.changes():
        execute(db, _ADD, values)
        if db.changes():
            return
    spent = locked(db, _SPENT, scope)
    passed = next(_passed(spent or (), bill), None)
    if passed is None:  # another process has made the scope, or given back, since it was looked at
        execute(db, _ADD, values)
        return
    budget, limit = passed
    raise BudgetExceeded(f"the budget of {budget} is spent", code=f"budget.{budget}", budget=budget, limit=limit)


def _sums(bill: Sequence[Spend]) -> tuple[list[int], list[int]]:
    """All that is added, and what may at most have been spent before it."""
    sums, bounds = [0] * len(_AMOUNTS), [_MOST] * len(_AMOUNTS)
    for spend in bill:
        amounts: tuple[int, ...] = _amounts_of(spend.amounts)
        for budget, limit in spend.limits:
            place = _PLACE.get(budget)
            if place is None:
                raise InputError(f"there is no amount named {budget}", code="budget.unknown")
            if amounts[place] > 0:
                bounds[place] = min(bounds[place], limit - sums[place] - amounts[place])
        sums = list(map(add, sums, amounts))
    return sums, bounds


def _passed(spent: Sequence[int], bill: Sequence[Spend]) -> Iterator[tuple[str, int]]:
    """The limits that would be passed."""
    for spend in bill:
        amounts: tuple[int, ...] = _amounts_of(spend.amounts)
        for budget, limit in spend.limits:
            place = _PLACE[budget]
            if amounts[place] > 0 and spent[place] + amounts[place] > limit:
                yield budget, limit
        spent = list(map(add, spent, amounts))
