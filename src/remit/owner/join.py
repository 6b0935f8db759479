"""Waiting for a run to stand still: ended, or paused with nothing decided; whoever drives it.

Knows rows and the ledger's counter of changes. Invariant: the one who waits never changes the run,
but takes it up where nobody alive does.
"""

from __future__ import annotations

from remit.errors import Conflict, RunOwned
from remit.gate.tree import below
from remit.loop import Driver, RunState
from remit.owner.drive import closed_here, outcome_of
from remit.owner.follow import row_of
from remit.owner.record import take_or_record
from remit.owner.standing import standing_with_children, whole
from remit.owner.state import Driven, State
from remit.owner.take import is_due, is_owned
from remit.types.ident import RunId
from remit.types.principal import Principal
from remit.types.run import Paused, RunRow, Standing, Submitted

__all__ = ["moves_below", "resume", "until_still"]

_LOOK_S = 1.0


async def until_still(state: State, run: RunId, caller: Principal | None = None, *, here: bool = False) -> Standing:
    """How the run stands once it stands still.

    Args:
        here: it is not waited for where another process drives it.

    Raises:
        NotFound: there is no such run for the caller.
        RunOwned: `here`, and another living process owns it.
        RemitError: it is driven here and that ended in an error, or this owner closed.
    """
    while True:
        seen = await state.ledger.changed(-1, timeout_s=0)
        live = state.live.get(run)
        if live is None and state.closing:
            raise closed_here()
        if live is not None:
            standing = await _standing_here(state, run, live, caller=caller, seen=seen)
            if standing is not None:
                return standing
            continue
        row = await row_of(state.ledger, run, caller)
        owned = await is_owned(state, row)
        if not owned and await _can_take(state, row) and await is_due(state, row):
            if await take_or_record(state, row, caller):
                continue
        elif owned and here and run not in state.live:
            raise _elsewhere(run)
        elif not owned:
            still = await _still(state, row, caller)
            if still is not None:
                return still
        await state.ledger.changed(seen, timeout_s=_LOOK_S)


async def _standing_here(state: State, run: RunId, live: Driven, *, caller: Principal | None, seen: int) -> Standing | None:
    """How a run stands once its task here is over; None where another was faster, or where it goes on by itself."""
    try:
        standing = await outcome_of(live)
    except RunOwned:
        return None
    except Conflict as lost:
        if lost.code != "journal.sequence":
            raise
        return None
    ran = live.driver.state if isinstance(live.driver, Driver) else None  # a workflow's standing is whole
    if isinstance(standing, Paused) and await _goes_on(state, run, ran, caller):
        await state.ledger.changed(seen, timeout_s=_LOOK_S)
        return None
    return standing if ran is None else await whole(state.ledger, ran, standing)


async def _goes_on(state: State, run: RunId, ran: RunState | None, caller: Principal | None) -> bool:
    """Whether a run that has just paused here is moved already: from below, or a workflow by what was decided meanwhile."""
    if ran is not None:
        return bool(ran.children) and await moves_below(state, run, caller)
    return await moves_below(state, run, caller) or await is_due(state, await row_of(state.ledger, run))


async def resume(state: State, run: RunId, caller: Principal | None) -> Standing:
    """Take a run up and wait for it.

    Raises:
        RunOwned: another living process owns it.
    """
    row = await row_of(state.ledger, run, caller)
    if run not in state.live and await is_owned(state, row):
        raise _elsewhere(run)
    return await until_still(state, run, caller, here=True)


def _elsewhere(run: RunId) -> RunOwned:
    return RunOwned("the run is owned by another living process; follow it, or wait with run_to_end", run=run)


async def _can_take(state: State, row: RunRow) -> bool:
    return row.agent in state.names and not state.closing


async def _still(state: State, row: RunRow, caller: Principal | None) -> Standing | None:
    """The standing of a run that nobody drives, or None where that will change by itself."""
    if row.status == "queued" and not await _behind_paused(state, row):
        return None
    standing, has_children = await standing_with_children(state, row)
    if has_children and row.status == "paused" and (await moves_below(state, row.id, caller) or await is_due(state, row)):
        return None
    return None if isinstance(standing, Submitted) else standing


async def moves_below(state: State, run: RunId, caller: Principal | None) -> bool:
    """Whether a run that answers its calls, or one below that, goes on. What may go on, and nobody alive drives, is taken up.

    Raises:
        RemitError: a run below cannot be taken up; who waits would wait for ever.
    """
    for row in await below(state.ledger, run):
        if row.status == "ended":
            continue
        if await is_owned(state, row):
            return True
        if await _can_take(state, row) and await is_due(state, row):
            if row.id not in state.lost:  # that one is tried again after a while
                await take_or_record(state, row, caller)
            return True
    return False


async def _behind_paused(state: State, row: RunRow) -> bool:
    """Whether the run that holds the conversation waits for people."""
    conversation = None if row.conversation is None else await state.ledger.conversation(row.conversation, tenant=row.tenant)
    if conversation is None or conversation.holder is None:
        return False
    holder = await state.ledger.run(conversation.holder)
    return holder is not None and holder.status == "paused" and not await is_due(state, holder)
