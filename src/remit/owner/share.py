"""What a child may have of its parent's time: the rest is taken from the ledger's amounts as it is used.

Knows budgets and events. Invariant: a child's own deadline and seconds are at most what was left to its parent when it began;
since theirs had been made so too, to every run above.
"""

from __future__ import annotations

from dataclasses import replace

from remit import ambient
from remit.budget import Tally, budget_from_json, budget_to_json
from remit.types.budget import Budget
from remit.types.event import RunStarted
from remit.types.ident import RunId
from remit.types.ledger import Ledger

__all__ = ["narrowed"]


async def narrowed(ledger: Ledger, own: str, parent: RunId, started: RunStarted) -> str:
    """The child's budget as JSON text.

    Args:
        own: its agent's.
        parent, started: the run above, and how that began.
    """
    budget, above = budget_from_json(own), [budget_from_json(started.budget)]
    if started.conversation_budget is not None:
        above.append(budget_from_json(started.conversation_budget))
    active_s = await _active_s(ledger, parent) if any(one.seconds is not None for one in above) else 0.0
    for one in above:
        budget = _within(budget, one, active_s)
    return budget_to_json(budget)


async def _active_s(ledger: Ledger, run: RunId) -> float:
    tally = Tally()
    for recorded in await ledger.read(run):
        tally = tally.count(recorded)
    return tally.active_ms(ambient.now_ms()) / 1000


def _within(budget: Budget, above: Budget, active_s: float) -> Budget:
    if above.deadline is not None:
        budget = replace(budget, deadline=min(above.deadline, budget.deadline or above.deadline))
    if above.seconds is not None:
        left_s = max(0.0, above.seconds - active_s)
        budget = replace(budget, seconds=left_s if budget.seconds is None else min(left_s, budget.seconds))
    return budget
