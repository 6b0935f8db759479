"""A ledger as a recorded run found it when it began: what was before it, and the run itself as one that is to start.

Knows records and ledgers, no agent and no owner. Invariant: nothing of the run itself is there but its request.
"""

from __future__ import annotations

from dataclasses import replace

from remit.cli.replay.record import Earlier, Record
from remit.types.change import Change, Create, FreeConversation, HoldConversation, MoveOperation, OpenOperation
from remit.types.event import RunStarted
from remit.types.ident import RunId
from remit.types.label import Label
from remit.types.ledger import Append, Ledger, Stamped
from remit.types.operation import Operation
from remit.types.run import RunRow, RunStatus

__all__ = ["seed"]


async def seed(ledger: Ledger, record: Record) -> None:
    """Put what the run could see when it began into the ledger, and the run itself as one that is to start."""
    for one in (*record.others, *record.before):
        await _seed_run(ledger, one, record.started.label)
    row = replace(_fresh(record.row, "queued"), parent=None)  # of a child: as if somebody had asked for it directly
    create = Create(row, record.request)
    await ledger.commit(Append(run=row.id, create=create, changes=record.blobs, status="queued", release=True))


async def _seed_run(ledger: Ledger, earlier: Earlier, context: Label) -> None:
    row = _fresh(earlier.row, "active")
    append = Append(
        run=row.id,
        events=tuple(Stamped(one.at_ms, one.event) for one in earlier.events),
        create=Create(row, "{}"),
        changes=(*_held(earlier, context), *(change for one in earlier.operations for change in _opened(one))),
        status="ended",
        release=True,
    )
    await ledger.commit(append)


def _fresh(row: RunRow, status: RunStatus) -> RunRow:
    return replace(row, status=status, owner=None, epoch=0, sequence=0, head="", expires_ms=None)


def _held(earlier: Earlier, context: Label) -> tuple[Change, ...]:
    """The conversation as that run left it."""
    row = earlier.row
    first = earlier.events[0].event if earlier.events else None
    if row.conversation is None or not isinstance(first, RunStarted):
        return ()
    hold = HoldConversation(row.conversation, row.tenant, row.subject, row.agent, first.after or RunId(""))
    return (hold, FreeConversation(row.conversation, context))


def _opened(row: Operation) -> tuple[Change, ...]:
    """An operation that holds its key, by the moves that lead there."""
    plain = replace(row, state="dispatched", closed=None, owner=None, approval=None, outcome=None, settled_by=None, evidence=())
    opened = OpenOperation(replace(plain, attempt=max(1, row.attempt)))
    if row.state == "dispatched":
        return (opened,)
    on = "returned" if row.state == "succeeded" else "in_doubt"
    moved = MoveOperation(
        operation=row.id, on=on, state="dispatched", attempt=max(1, row.attempt), outcome=row.outcome, settled_by=row.settled_by
    )
    return (opened, moved)
