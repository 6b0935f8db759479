"""Ending a call that has not started: withdrawn, cancelled, or held back by another call.

Knows awaiting operations and pending questions. Invariant: nothing that was dispatched is touched,
and an approval of what will not start is void, unless a person has said no first: then that is what is journaled.
"""

from __future__ import annotations

from collections.abc import Sequence

from remit.errors import Conflict
from remit.gate.code import not_run, refuse
from remit.gate.desk import Desk
from remit.gate.note import Moved, moved
from remit.gate.scene import Plan, Proposal, Scene
from remit.types.approval import Approval, ApprovalState
from remit.types.change import Change, VoidApproval
from remit.types.delivery import Withdrawal
from remit.types.event import ApprovalDecided, CallEnded, Event
from remit.types.ident import CallId, OperationId
from remit.types.label import TRUSTED
from remit.types.operation import Operation
from remit.types.outcome import NotRun, Outcome, Succeeded

__all__ = ["close_withdrawn", "stop_call", "withdraw"]

_STANDING: tuple[ApprovalState, ...] = ("pending", "approved", "answered", "denied")


async def stop_call(desk: Desk, proposal: Proposal, scene: Scene, code: str) -> None:
    """Answer a call that has not started `NotRun(code)`; what waits for it is closed."""
    call, ledger = proposal.call, desk.ledger
    while True:
        rows = await scene.journal.current(lambda: ledger.operations(run=scene.run, call=call, limit=None))
        row = rows[-1] if rows else None
        if row is not None and row.closed is not None and row.closed != "superseded":
            return  # whoever closed it has answered the call
        waiting = row if row is not None and row.state == "awaiting_approval" else None
        asked = await ledger.approvals(run=scene.run, call=call, state=_STANDING, limit=None)
        outcome = not_run(code, operation=None if waiting is None else waiting.id)
        ended = _ended(call, proposal.name, outcome)
        if waiting is None and not asked:
            scene.journal.note(ended)
            return
        step = None if waiting is None else moved(waiting, "cancelled", outcome=outcome, by="run")
        if await _committed(desk, scene, step, ended, asked=asked, by="run"):
            return


async def close_withdrawn(desk: Desk, operation: OperationId, scene: Scene, *, by: str, taken: tuple[int, ...] = ()) -> bool:
    """Close an operation of this run that still waits, answer its call, and void its approval.

    Returns:
        False if it does not wait any more; nothing is journaled then. A no that was said first stands.
    """
    while True:
        row = await scene.journal.current(lambda: desk.ledger.operation(operation))
        if row is None or row.run != scene.run or row.state != "awaiting_approval":
            return False
        asked = None if row.approval is None else await desk.ledger.approval(row.approval)
        if asked is not None and asked.state == "denied":
            return False
        outcome = not_run("withdrawn", operation=row.id)
        ended = _ended(row.call, row.tool, outcome)
        step = moved(row, "withdrawn", outcome=outcome, by=by)
        if await _committed(desk, scene, step, ended, asked=[] if asked is None else [asked], by=by, taken=taken):
            return True


def _ended(call: CallId, tool: str, outcome: NotRun) -> CallEnded:
    return CallEnded(call=call, tool=tool, outcome=outcome, label=TRUSTED, changed=False, operation=outcome.operation)


async def _committed(
    desk: Desk,
    scene: Scene,
    step: Moved | None,
    ended: CallEnded,
    *,
    asked: Sequence[Approval],
    by: str,
    taken: tuple[int, ...] = (),
) -> bool:
    """End a call in one commit with the decision that stands; False if a person decided at the same moment."""
    moves: tuple[Event, ...] = () if step is None else (step.event,)
    changes: tuple[Change, ...] = () if step is None else (step.change,)
    void = tuple(VoidApproval(row.id, was=row.state) for row in asked if row.state != "denied")
    decided = [_decided(row, by, desk.redaction.text(row.reason)) for row in asked]
    try:
        await scene.journal.commit(*moves, ended, *decided, changes=(*changes, *void), taken=taken)
    except Conflict as conflict:
        if conflict.code not in ("operation.moved", "approval.moved"):
            raise
        return False
    return True


def _decided(row: Approval, by: str, reason: str) -> ApprovalDecided:
    """What is journaled of an approval whose call will not start: a no that a person said, else that it is void."""
    if row.state == "denied":
        return ApprovalDecided(approval=row.id, call=row.call, verdict="denied", by=row.decided_by or by, reason=reason)
    return ApprovalDecided(approval=row.id, call=row.call, verdict="void", by=by)


async def withdraw(desk: Desk, plan: Plan, scene: Scene) -> Outcome:
    """The built-in tool `withdraw`: an operation of the same requester that still waits does not start."""
    operation = OperationId(str(plan.arguments.get("operation", "")))
    row = await desk.ledger.operation(operation)
    if row is None or not _same_place(row, scene):
        return refuse("owner.denied")
    by = scene.principal.subject
    waits = row.state == "awaiting_approval"
    if row.run == scene.run:
        waits = await close_withdrawn(desk, operation, scene, by=by)
    elif waits:
        await desk.ledger.post(row.run, Withdrawal(operation=operation, by=by))
    return Succeeded(value="Withdrawn: it will not start." if waits else "It no longer waits; nothing was withdrawn.")


def _same_place(row: Operation, scene: Scene) -> bool:
    if (row.tenant, row.subject) != (scene.principal.tenant, scene.principal.subject):
        return False
    return row.run == scene.run or (scene.conversation is not None and row.conversation == scene.conversation)
