"""A call that another agent answers: its run begins, and what becomes of that is what becomes of the call.

Knows the journal and the delegate, no agent. Invariant: before a child begins, what made its call is durable; and a call
whose child has begun is never considered again, only joined.
"""

from __future__ import annotations

from dataclasses import replace
from typing import assert_never

from remit import ambient
from remit.gate.code import not_run, refuse, unknown
from remit.gate.delegate import ChildEnd, ChildWaits
from remit.gate.desk import Desk
from remit.gate.note import end
from remit.gate.result import shorten
from remit.gate.scene import Plan, Proposal, Scene
from remit.gate.tell import shown_of, with_changes
from remit.tool import Arguments
from remit.types.change import Change, ConsumeApproval
from remit.types.event import ChildStarted, ChildWaiting
from remit.types.ident import ApprovalId, child_of
from remit.types.label import TRUSTED
from remit.types.outcome import Succeeded

__all__ = ["begin_child", "conclude", "delegated", "rejoin_child"]

_LONGEST = 40_000


async def delegated(desk: Desk, plan: Plan, scene: Scene, *, started_s: float) -> None:
    """Run a plan of a tool that is another agent, until its run ends or waits for people."""
    if scene.cancelled.is_set():
        found: ChildEnd | ChildWaits = ChildEnd(outcome=not_run("cancelled"), label=TRUSTED)
    else:
        found = await desk.runner.child(desk, plan, scene)
    await conclude(desk, plan.proposal, scene, found, started_s=started_s)


async def begin_child(desk: Desk, plan: Plan, scene: Scene) -> ChildEnd | ChildWaits:
    """Have the child begin, or join the one that is there."""
    if desk.delegate is None:
        return ChildEnd(outcome=refuse("agent.absent"), label=TRUSTED)
    child = child_of(scene.run, plan.call)
    if await desk.ledger.run(child) is None:
        ambient.reach("child.before")
        await scene.journal.idle()  # until the commit nobody else tells the ledger what the run has used
        await scene.journal.commit(ChildStarted(call=plan.call, child=child), changes=scene.book())
        ambient.reach("child.after")
    else:
        await scene.journal.flush()
    return await desk.delegate.start(scene, plan)


async def rejoin_child(
    desk: Desk, proposal: Proposal, scene: Scene, *, stop: bool, below: tuple[ApprovalId, ...] | None = None
) -> bool:
    """Answer a call from the child that has begun for it; False if it came to nothing more than its announcement.

    Args:
        below: what the journal says that it waits for: the same is not said again; None: say it.
    """
    started_s, delegate = ambient.monotonic_s(), desk.delegate
    if await desk.ledger.run(child_of(scene.run, proposal.call)) is None:
        return False
    if delegate is None:
        found: ChildEnd | ChildWaits = ChildEnd(outcome=unknown("unknown"), label=TRUSTED)
    else:
        found = await (delegate.stop(scene, proposal.call) if stop else delegate.join(scene, proposal.call))
    if not (isinstance(found, ChildWaits) and found.approvals == below):
        await conclude(desk, proposal, scene, found, started_s=started_s)
    return True


async def conclude(
    desk: Desk, proposal: Proposal, scene: Scene, found: ChildEnd | ChildWaits, *, started_s: float | None
) -> None:
    """Note what the child came to."""
    match found:
        case ChildWaits(approvals=approvals, expires_ms=expires_ms):
            child = child_of(scene.run, proposal.call)
            waiting = ChildWaiting(call=proposal.call, child=child, approvals=approvals, expires_ms=expires_ms)
            scene.journal.note(waiting)
            ambient.reach("child.waits")
        case ChildEnd(outcome=outcome):
            tool = desk.tools.get(proposal.name)
            rows = await desk.ledger.approvals(run=scene.run, call=proposal.call, state=("approved",), limit=None)
            changes: tuple[Change, ...] = tuple(ConsumeApproval(row.id) for row in rows)
            if isinstance(outcome, Succeeded):
                clean = replace(outcome, value=desk.redaction.value(outcome.value))
                shaped = shorten(clean, _LONGEST if tool is None else tool.max_result_chars)
                outcome, changes = shaped.outcome, (*changes, *shaped.changes)
            edited = rows[-1].edited if rows else None
            if edited is not None and tool is not None:
                outcome = with_changes(shown_of(desk, tool, Arguments(edited)), outcome)
            end(
                scene,
                proposal,
                outcome,
                label=found.label,
                wrote=found.changed,
                started_s=started_s,
                detail=found.detail,
                changes=changes,
            )
        case _:
            assert_never(found)
