"""A call that a former owner left: considered again, answered from its operation's row, or recovered.

Knows rows; starts no new operation. Invariant: what was dispatched is never executed again from a
plan, only recovered.
"""

from __future__ import annotations

from dataclasses import replace

from remit import ambient
from remit.gate.attempt import Tried, note
from remit.gate.consider import consider
from remit.gate.desk import Desk
from remit.gate.draft import Draft
from remit.gate.execute import execute, finish
from remit.gate.lookup import answer_of
from remit.gate.note import end, moved
from remit.gate.reconsider import reconsider
from remit.gate.scene import Plan, Proposal, Scene
from remit.gate.tell import shown_of
from remit.label import result_label
from remit.tool import Arguments
from remit.types.approval import Approval
from remit.types.ident import OperationId
from remit.types.label import UNTRUSTED
from remit.types.operation import HOLDING, Operation

__all__ = ["consider_again", "recover_call"]

_ALL = 100_000


async def consider_again(desk: Desk, proposal: Proposal, scene: Scene) -> Plan | None:
    """Steps 1 to 6 once more, for a call that a former owner considered: what a person was asked stands."""
    if proposal.joined is None:
        asked = await desk.ledger.approvals(run=scene.run, state=("pending", "approved", "answered"), limit=_ALL)
        mine = [row for row in asked if row.call == proposal.call]
        if mine and mine[-1].state == "pending":
            return _still_waits(desk, proposal, scene, mine[-1])
        if mine:
            return await reconsider(desk, proposal, mine[-1], scene)
    return await consider(desk, proposal, scene)


def _still_waits(desk: Desk, proposal: Proposal, scene: Scene, row: Approval) -> None:
    arguments = Arguments.restore(row.arguments)
    draft = Draft(desk, scene, proposal, desk.tools.get(proposal.name), arguments, author=row.author)
    code = "question.asked" if row.kind == "question" else "approval.needed"
    scene.journal.note(draft.considered("waiting", "approve", code, operation=row.operation, approval=row.id))


async def recover_call(desk: Desk, proposal: Proposal, operation: OperationId, scene: Scene) -> None:
    """Give the call its answer from the operation, recovering it first if it is in doubt."""
    row = await desk.ledger.operation(operation)
    if row is None or row.call != proposal.call or row.run != scene.run:
        plan = await consider(desk, replace(proposal, again=True), scene)
        if plan is not None:
            await execute(desk, plan, scene)
        return
    tool = desk.tools.get(row.tool)
    if row.state in ("succeeded", "failed", "closed") or tool is None:
        row = _left(scene, row) if tool is None else row
        label = result_label(UNTRUSTED if tool is None else tool.label, proposal.label)
        end(scene, proposal, answer_of(row), label=label, wrote=row.state in HOLDING, operation=row.id)
        return
    row = _left(scene, row)
    plan = Plan(
        proposal=proposal,
        tool=tool,
        arguments=Arguments.restore(row.arguments),
        key=row.key,
        once_per=row.once_per,
        author=row.author,
    )
    if row.author is not None:
        plan = replace(plan, shown=shown_of(desk, tool, plan.arguments))
    await finish(desk, plan, scene, Tried(row, None), started_s=ambient.monotonic_s())


def _left(scene: Scene, row: Operation) -> Operation:
    """Dispatched by an owner that is gone: it is not known what came of it."""
    if row.state != "dispatched":
        return row
    return note(scene, row, moved(row, "in_doubt", by="owner_gone", evidence="its owner is gone"))
