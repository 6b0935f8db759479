"""Asking about effects in doubt: `remit recover`, and `Remit.recover`.

Knows operations and who owns their runs. It does not know how a tool recovers. Invariant: nothing is
dispatched here; what a system of record says is journaled, what nobody can tell stays unknown.
"""

from __future__ import annotations

import asyncio

from remit.errors import LedgerError, RemitError
from remit.owner.follow import row_of
from remit.owner.record import record, take_or_record
from remit.owner.state import State, recorder_for
from remit.owner.take import is_due, is_owned
from remit.types.operation import Operation
from remit.types.run import RunRow

__all__ = ["recover"]

_PATIENCE_S = 60.0
"""For runs that were taken up and do not stand still."""


async def recover(state: State) -> list[Operation]:
    """Recover what can be; give back what is still in doubt and that nobody drives."""
    for operation in await _in_doubt(state):
        row = await row_of(state.ledger, operation.run)
        if not await is_owned(state, row):
            try:
                await _recover_one(state, row, operation)
            except RemitError as error:  # a run that cannot go on leaves no other one in doubt
                if isinstance(error, LedgerError) and error.code != "ledger.altered":
                    raise
                recorder_for(state.secrets).log_error(error, run=row.id)
    await _stand_still(state)
    return [one for one in await _in_doubt(state) if await _is_nobodys(state, one)]


async def _stand_still(state: State) -> None:
    """Wait for the runs that were taken up here: what they make of their doubts is known once they stand still."""
    if state.live:
        await asyncio.wait([live.task for live in state.live.values()], timeout=_PATIENCE_S)


async def _is_nobodys(state: State, operation: Operation) -> bool:
    if operation.run in state.live:
        return operation.state == "unknown"
    return not await is_owned(state, await row_of(state.ledger, operation.run))


async def _recover_one(state: State, row: RunRow, operation: Operation) -> None:
    """A run that may go on recovers its own; else the operation alone is asked about, after what its run was told."""
    if row.status != "ended" and await is_due(state, row):
        await take_or_record(state, row)
        return
    await record(state, row.id)
    now = await state.ledger.operation(operation.id)
    if now is not None and now.state in ("dispatched", "unknown"):
        await state.gate_of(row.agent).recover_unowned(now)


async def _in_doubt(state: State) -> list[Operation]:
    """Operations in doubt of runs whose agents are here."""
    found = await state.ledger.operations(state=("dispatched", "unknown"), limit=None)
    return [one for one in found if (await row_of(state.ledger, one.run)).agent in state.names]
