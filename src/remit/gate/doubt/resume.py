"""A call that a former owner left: considered again, answered from its operation's row, or recovered.

Knows rows; starts no new operation. Invariant: what was dispatched is never executed again from a
plan, only recovered.
"""

from __future__ import annotations

from dataclasses import replace

from remit import ambient
from remit.gate.consider import consider
from remit.gate.desk import Desk
from remit.gate.doubt.recover import give_up
from remit.gate.draft import Draft
from remit.gate.note import end
from remit.gate.reconsider import reconsider
from remit.gate.runner import Tried
from remit.gate.scene import Plan, Proposal, Scene
from remit.gate.step.execute import execute, finish
from remit.gate.step.lookup import answer_of
from remit.gate.tell import label_of, shown_of
from remit.tool import Arguments
from remit.types.approval import Approval
from remit.types.ident import OperationId
from remit.types.operation import HOLDING, Operation

__all__ = ["consider_again", "recover_call"]

_LOOK_S = 0.5


async def consider_again(desk: Desk, proposal: Proposal, scene: Scene) -> Plan | None:
    """Steps 1 to 6 once more, for a call that a former owner considered: what a person was asked stands."""
    if proposal.joined is None:
        standing = ("pending", "approved", "answered")
        mine = await scene.journal.current(
            lambda: desk.ledger.approvals(run=scene.run, call=proposal.call, state=standing, limit=None)
        )
        if mine and mine[-1].state == "pending":
            return _still_waits(desk, proposal, scene, mine[-1])
        if mine:
            return await reconsider(desk, proposal, mine[-1], scene)
    return await consider(desk, proposal, scene)


def _still_waits(desk: Desk, proposal: Proposal, scene: Scene, row: Approval) -> None:
    arguments = Arguments(row.arguments)
    draft = Draft(desk, scene, proposal, desk.tools.get(proposal.name), arguments, author=row.author)
    code = "question.asked" if row.kind == "question" else "approval.needed"
    scene.journal.note(draft.considered("waiting", "approve", code, operation=row.operation, approval=row.id))


async def recover_call(desk: Desk, proposal: Proposal, operation: OperationId, scene: Scene) -> None:
    """Give the call its answer from the operation, recovering it first if it is in doubt."""
    row = await _left(desk, operation, scene)
    if row is None or row.call != proposal.call or row.run != scene.run:
        plan = await consider(desk, replace(proposal, again=True), scene)
        if plan is not None:
            await execute(desk, plan, scene)
        return
    tool = desk.tools.get(row.tool)
    if row.state in ("succeeded", "failed", "closed") or tool is None:
        outcome = answer_of(row)
        label = label_of(desk, proposal.name, outcome, proposal.label, subject=scene.principal.subject)
        end(scene, proposal, outcome, label=label, wrote=row.state in HOLDING, operation=row.id)
        return
    plan = Plan(
        proposal=proposal,
        tool=tool,
        arguments=Arguments(row.arguments),
        key=row.key,
        once_per=row.once_per,
        author=row.author,
    )
    if row.author is not None:
        plan = replace(plan, shown=shown_of(desk, tool, plan.arguments))
    await finish(desk, plan, scene, Tried(row, None), started_s=ambient.monotonic_s())


async def _left(desk: Desk, operation: OperationId, scene: Scene) -> Operation | None:
    """The operation as its owner left it, in doubt if it was dispatched; once no other call here is recovering it."""
    while True:
        await scene.journal.flush()
        row = await desk.ledger.operation(operation)
        if operation in desk.at_work.recovering:
            await scene.woken.heard(_LOOK_S)
        elif row is None or row.run != scene.run or row.state != "dispatched":
            return row
        else:
            await give_up(scene, row)
