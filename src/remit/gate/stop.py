"""Ending a call that has not started: withdrawn, cancelled, or held back by another call.

Knows awaiting operations and pending questions. Invariant: nothing that was dispatched is touched,
and an approval of what will not start is void.
"""

from __future__ import annotations

from typing import Literal

from remit.gate.code import not_run, refuse
from remit.gate.desk import Desk
from remit.gate.note import moved
from remit.gate.scene import Plan, Proposal, Scene
from remit.types.approval import Approval
from remit.types.event import ApprovalDecided, CallEnded, Event
from remit.types.ident import ApprovalId, CallId, OperationId
from remit.types.label import TRUSTED
from remit.types.ledger import Change, VoidApproval, Withdrawal
from remit.types.operation import Operation
from remit.types.outcome import NotRun, Outcome, Succeeded

__all__ = ["close_awaiting", "stop_call", "withdraw"]


async def stop_call(desk: Desk, proposal: Proposal, scene: Scene, code: str) -> None:
    """Answer a call that has not started `NotRun(code)`; what waits for it is closed."""
    rows = await desk.ledger.operations(run=scene.run, call=proposal.call, state=("awaiting_approval",))
    if rows:
        close_awaiting(scene, rows[-1], "cancelled", not_run(code, operation=rows[-1].id), by="run")
        return
    asked = await desk.ledger.approvals(run=scene.run, state=("pending", "approved", "answered"), limit=100_000)
    void = [row for row in asked if row.call == proposal.call]
    ended = _ended(proposal.call, proposal.name, not_run(code), None)
    scene.journal.note(ended, *(_void(row) for row in void), changes=tuple(VoidApproval(row.id) for row in void))


def close_awaiting(
    scene: Scene,
    row: Operation,
    on: Literal["cancelled", "withdrawn"],
    outcome: NotRun,
    *,
    by: str,
    taken: tuple[int, ...] = (),
) -> None:
    """Close an awaiting operation, answer its call, and void its approval."""
    step = moved(row, on, outcome=outcome, by=by)
    events: list[Event] = [step.event, _ended(row.call, row.tool, outcome, row.id)]
    changes: list[Change] = [step.change]
    if row.approval is not None:
        events.append(ApprovalDecided(approval=row.approval, call=row.call, verdict="void", by=by))
        changes.append(VoidApproval(row.approval))
    scene.journal.note(*events, changes=tuple(changes), taken=taken)


async def withdraw(desk: Desk, plan: Plan, scene: Scene) -> Outcome:
    """The built-in tool `withdraw`: an operation of the same requester that still waits does not start."""
    operation = OperationId(str(plan.arguments.get("operation", "")))
    row = await desk.ledger.operation(operation)
    if row is None or not _same_place(row, scene):
        return refuse("owner.denied")
    if row.state != "awaiting_approval":
        return Succeeded(value="It no longer waits; nothing was withdrawn.")
    if row.run == scene.run:
        close_awaiting(scene, row, "withdrawn", not_run("withdrawn", operation=row.id), by=scene.principal.subject)
    else:
        await desk.ledger.post(row.run, Withdrawal(operation=operation, by=scene.principal.subject))
    return Succeeded(value="Withdrawn: it will not start.")


def _same_place(row: Operation, scene: Scene) -> bool:
    if (row.tenant, row.subject) != (scene.principal.tenant, scene.principal.subject):
        return False
    return row.run == scene.run or (scene.conversation is not None and row.conversation == scene.conversation)


def _ended(call: CallId, tool: str, outcome: Outcome, operation: OperationId | None) -> CallEnded:
    return CallEnded(call=call, tool=tool, outcome=outcome, label=TRUSTED, changed=False, operation=operation)


def _void(row: Approval) -> ApprovalDecided:
    return ApprovalDecided(approval=ApprovalId(row.id), call=row.call, verdict="void", by="run")
