"""Waiting for a run to stand still: ended, or paused with nothing decided; whoever drives it.

Knows rows and the ledger's counter of changes. Invariant: the one who waits never changes the run,
but takes it up where nobody alive does.
"""

from __future__ import annotations

from remit.errors import RunOwned
from remit.owner.drive import closed_here, outcome_of
from remit.owner.follow import row_of
from remit.owner.record import take_or_record
from remit.owner.state import State
from remit.owner.take import is_due, is_owned, standing_of_row
from remit.types.ident import RunId
from remit.types.principal import Principal
from remit.types.run import RunRow, Standing, Submitted

__all__ = ["resume", "until_still"]

_LOOK_S = 1.0


async def until_still(state: State, run: RunId, caller: Principal | None = None) -> Standing:
    """How the run stands once it stands still.

    Raises:
        NotFound: there is no such run for the caller.
        RemitError: it is driven here and that ended in an error, or this owner closed.
    """
    while True:
        seen = await state.ledger.changed(-1, timeout_s=0)
        live = state.live.get(run)
        if live is None and state.closing:
            raise closed_here()
        if live is not None:
            try:
                return await outcome_of(live)
            except RunOwned:
                continue
        row = await row_of(state.ledger, run, caller)
        owned = await is_owned(state, row)
        if not owned and await _can_take(state, row) and await is_due(state, row):
            if await take_or_record(state, row, caller):
                continue
        elif not owned:
            still = await _still(state, row)
            if still is not None:
                return still
        await state.ledger.changed(seen, timeout_s=_LOOK_S)


async def resume(state: State, run: RunId, caller: Principal | None) -> Standing:
    """Take a run up and wait for it.

    Raises:
        RunOwned: another living process owns it.
    """
    row = await row_of(state.ledger, run, caller)
    if run not in state.live and await is_owned(state, row):
        raise RunOwned("the run is owned by another living process; follow it, or wait with run_to_end", run=run)
    return await until_still(state, run, caller)


async def _can_take(state: State, row: RunRow) -> bool:
    return row.agent in state.agents and not state.closing


async def _still(state: State, row: RunRow) -> Standing | None:
    """The standing of a run that nobody drives, or None where that will change by itself."""
    if row.status == "queued" and not await _behind_paused(state, row):
        return None
    standing = await standing_of_row(state, row)
    return None if isinstance(standing, Submitted) else standing


async def _behind_paused(state: State, row: RunRow) -> bool:
    """Whether the run that holds the conversation waits for people."""
    conversation = None if row.conversation is None else await state.ledger.conversation(row.conversation, tenant=row.tenant)
    if conversation is None or conversation.holder is None:
        return False
    holder = await state.ledger.run(conversation.holder)
    return holder is not None and holder.status == "paused" and not await is_due(state, holder)
