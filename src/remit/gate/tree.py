"""The runs below a run: those that answer its calls, those that answer theirs, and so on.

Knows rows alone. Invariant: whatever is asked of a tree is asked of every run in it, at any depth.
"""

from __future__ import annotations

from remit.types.approval import Approval
from remit.types.budget import Spent
from remit.types.event import RunStarted
from remit.types.ident import ConversationId, OperationId, RunId
from remit.types.ledger import Ledger
from remit.types.operation import Operation, OperationState
from remit.types.run import RunRow

__all__ = ["below", "conversation_of", "open_below", "operations_of", "pending_below", "uncounted"]


async def below(ledger: Ledger, run: RunId) -> list[RunRow]:
    """The rows of all runs below this one."""
    found: list[RunRow] = []
    above = [run]
    while above:
        rows = await ledger.runs(parent=above.pop(), limit=None)
        found += rows
        above += [row.id for row in rows]
    return found


async def conversation_of(ledger: Ledger, run: RunStarted | RunRow) -> ConversationId | None:
    """The conversation that a run, or the one at the root of its tree, is part of: what a child does is done in it as well."""
    if run.parent is None:
        return run.conversation
    root = await ledger.run(run.root)
    return None if root is None else root.conversation


async def pending_below(ledger: Ledger, run: RunId) -> list[Approval]:
    """What people are asked by the runs below this one."""
    rows = [row for row in await below(ledger, run) if row.status != "ended"]
    return [one for row in rows for one in await ledger.approvals(run=row.id, state=("pending",), limit=None)]


async def operations_of(ledger: Ledger, run: RunId, *, state: tuple[OperationState, ...]) -> list[Operation]:
    """The operations of a run and of all below it."""
    runs = [run, *(row.id for row in await below(ledger, run))]
    return [one for name in runs for one in await ledger.operations(run=name, state=state, limit=None)]


async def open_below(ledger: Ledger, run: RunId) -> tuple[OperationId, ...]:
    """The operations of the runs below this one of which it is not known whether they happened."""
    rows = await below(ledger, run)
    found = [await ledger.operations(run=row.id, state=("dispatched", "unknown"), limit=None) for row in rows]
    return tuple(one.id for some in found for one in some)


async def uncounted(ledger: Ledger, run: RunId, counted: Spent) -> Spent:
    """Calls and requests to people that a former owner took in the ledger, and died before it recorded them.

    Args:
        counted: what the run's events say that it took itself.
    """
    spent = await ledger.spent(f"run:{run}")  # before those below: what they take meanwhile makes this less, never more
    calls, approvals = spent.calls - counted.calls, spent.approvals - counted.approvals
    for row in await ledger.runs(parent=run, limit=None):
        taken = await ledger.spent(f"run:{row.id}")
        calls, approvals = calls - taken.calls, approvals - taken.approvals
    return Spent(calls=max(0, calls), approvals=max(0, approvals))
