"""What a call is told whose key another operation holds: wait for it, recover it, or say that it is not known.

Knows holders; starts no new operation. Invariant: only the owner of a run moves its operations, so
another run's operation is recovered only by claiming that run while nobody alive has it.
"""

from __future__ import annotations

from remit.gate.code import unknown
from remit.gate.desk import Desk
from remit.gate.doubt.elsewhere import recover_elsewhere
from remit.gate.doubt.recover import Case, give_up, recover
from remit.gate.draft import Stop
from remit.gate.patience import Patience
from remit.gate.scene import Plan, Scene
from remit.gate.step.lookup import conflict, repeat_of
from remit.types.delivery import OwnerGone
from remit.types.ident import OperationId
from remit.types.operation import HOLDING, Operation

__all__ = ["follow"]

_LOOK_S = 0.5


async def follow(desk: Desk, plan: Plan, scene: Scene, holder: OperationId) -> Stop | None:
    """The answer that the holder of the key gives; None once the key is free.

    Waits at most for the tool's timeout, if somebody alive is at it.
    """
    with Patience(plan.tool.timeout_s) as patience:
        while True:
            await scene.journal.flush()  # the holder may be this run's own, and its end only noted
            seen = await desk.ledger.changed(-1, timeout_s=0)
            row = await desk.ledger.operation(holder)
            if row is None or row.state not in HOLDING:
                return None
            if not await desk.ledger.matches(row.arguments_digest, plan.arguments.digest):
                return Stop("lookup", conflict(row, plan.arguments.text), operation=row.id)
            if row.state == "succeeded":
                return Stop("lookup", repeat_of(row, scene), operation=row.id)
            if await _recovered(desk, row, scene):
                continue
            if row.state == "unknown" and row.id not in desk.at_work.recovering:
                return Stop("lookup", unknown("unknown", operation=row.id), operation=row.id)
            if patience.over:
                return Stop("lookup", unknown("in_progress", operation=row.id), operation=row.id)
            await patience.wait(scene.woken.heard(_LOOK_S), _changed(desk, seen))


async def _recovered(desk: Desk, row: Operation, scene: Scene) -> bool:
    """Try to recover what nobody is at. True if the holder stands elsewhere now."""
    if row.id in desk.at_work.recovering:
        return False
    if row.state == "dispatched":
        if row.owner is not None and await desk.ledger.alive(row.owner):
            return False
        if row.run == scene.run:
            if row.id in desk.at_work.recovering:
                return False
            await give_up(scene, row)
            return True
        await desk.ledger.post(row.run, OwnerGone(operation=row.id, attempt=row.attempt))
    if row.run != scene.run:
        return await recover_elsewhere(desk, row, like=scene, waits=True)
    tried = await recover(Case(desk, scene, waits=True, allowed=_passed), row)
    await scene.journal.flush()
    return tried.operation.state != "unknown"


async def _passed() -> bool:
    """The call that waits has just passed the gate."""
    return True


async def _changed(desk: Desk, seen: int) -> None:
    await desk.ledger.changed(seen, timeout_s=_LOOK_S)
