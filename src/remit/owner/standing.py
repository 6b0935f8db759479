"""How a run stands, by what the ledger has of it, whoever drives it.

Knows rows, events and pending approvals. It drives nothing. Invariant: it says the same in every process.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TypeVar

from remit.gate.tree import open_below, pending_below
from remit.loop import RunState, fold, standing_of
from remit.owner.state import State
from remit.types.ledger import Ledger
from remit.types.run import Finished, Paused, RunRow, Standing, Submitted

__all__ = ["standing_of_row", "standing_with_children", "whole"]

Stands = TypeVar("Stands", bound=Standing | Submitted)


async def standing_of_row(state: State, row: RunRow) -> Standing | Submitted:
    """How a run stands by its events, whoever drives it."""
    return (await standing_with_children(state, row))[0]


async def standing_with_children(state: State, row: RunRow) -> tuple[Standing | Submitted, bool]:
    """The same, and whether it has calls that other runs answer and have not answered yet."""
    ledger = state.ledger
    if row.status == "queued":
        conversation = None if row.conversation is None else await ledger.conversation(row.conversation, tenant=row.tenant)
        holder = None if conversation is None else conversation.holder
        pending = [] if holder is None else await ledger.approvals(run=holder, state=("pending",))
        if holder is not None and not pending:
            pending = await pending_below(ledger, holder)
        queued = Paused(
            id=row.id,
            queued=True,
            reason="queued",
            conversation=row.conversation,
            approvals=tuple(one for one in pending if one.kind == "approval"),
            questions=tuple(one for one in pending if one.kind == "question"),
            durable=ledger.durable,
        )
        return queued, False
    state_of_run = fold(await ledger.read(row.id))
    pending = await ledger.approvals(run=row.id, state=("pending",))
    standing = await whole(ledger, state_of_run, standing_of(state_of_run, approvals=pending, durable=ledger.durable))
    started = state_of_run.started
    hosts = started is not None and started.host and any(tool.effect == "agent" for tool in started.tools)
    return standing, hosts or state_of_run.children > 0


async def whole(ledger: Ledger, state: RunState, standing: Stands) -> Stands:
    """The same, with what is waited for and what is open in the runs that answer its calls.

    Args:
        state: of the run, whose own standing that is.
    """
    started = state.started
    if started is None or not any(tool.effect == "agent" for tool in started.tools):
        return standing
    unsure = tuple(dict.fromkeys((*standing.open_operations, *await open_below(ledger, state.run))))
    standing = replace(standing, open_operations=unsure)
    match standing:
        case Paused() if state.children or started.host:
            pending = await pending_below(ledger, state.run)
            return replace(
                standing,
                approvals=(*standing.approvals, *(one for one in pending if one.kind == "approval")),
                questions=(*standing.questions, *(one for one in pending if one.kind == "question")),
            )
        case Finished():
            return replace(standing, verified=standing.verified and not unsure)
        case _:
            return standing
