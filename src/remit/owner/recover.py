"""Asking about effects in doubt: `remit recover`, and `Remit.recover`.

Knows operations and who owns their runs. It does not know how a tool recovers. Invariant: nothing is
dispatched here; what a system of record says is journaled, what nobody can tell stays unknown.
"""

from __future__ import annotations

from remit.owner.follow import row_of
from remit.owner.join import until_still
from remit.owner.state import State
from remit.owner.take import is_due, is_owned, try_take_up
from remit.types.operation import Operation
from remit.types.run import RunRow

__all__ = ["recover"]

_MOST = 100_000


async def recover(state: State) -> list[Operation]:
    """Recover what can be; give back what is still in doubt and that nobody drives."""
    for operation in await _in_doubt(state):
        row = await row_of(state.ledger, operation.run)
        if not await is_owned(state, row):
            await _recover_one(state, row, operation)
    return [one for one in await _in_doubt(state) if not await is_owned(state, await row_of(state.ledger, one.run))]


async def _recover_one(state: State, row: RunRow, operation: Operation) -> None:
    """A run that may go on recovers its own; else the operation alone is asked about."""
    if row.status != "ended" and await is_due(state, row):
        if await try_take_up(state, row):
            await until_still(state, row.id)
        return
    now = await state.ledger.operation(operation.id)
    if now is not None and now.state in ("dispatched", "unknown"):
        await state.bound(row.agent).gate.recover_unowned(now)


async def _in_doubt(state: State) -> list[Operation]:
    """Operations in doubt of runs whose agents are here."""
    found = await state.ledger.operations(state=("dispatched", "unknown"), limit=_MOST)
    return [one for one in found if (await row_of(state.ledger, one.run)).agent in state.agents]
