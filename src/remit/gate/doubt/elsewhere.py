"""Recovering an operation of a run that nobody alive owns: claim it, journal what came of it, release it.

Knows another run's journal; starts no call of it. Invariant: the run is claimed before the first
move and released after the last, and its status stays what it was.
"""

from __future__ import annotations

import asyncio

from remit.errors import Conflict, RunOwned
from remit.gate.attempt import after
from remit.gate.desk import Desk
from remit.gate.doubt.recover import Case, recover
from remit.gate.note import moved
from remit.gate.scene import Scene
from remit.ledger.journal import Journal
from remit.types.change import Change, Notify
from remit.types.delivery import LateReport
from remit.types.event import CallEnded, Recorded
from remit.types.ident import CallId, RunId, is_of_request
from remit.types.operation import Operation
from remit.types.outcome import Failed, Outcome, Succeeded
from remit.types.principal import Principal
from remit.types.run import RunRow

__all__ = ["answered", "notices", "recover_elsewhere"]


async def recover_elsewhere(desk: Desk, operation: Operation, *, like: Scene | None, waits: bool) -> bool:
    """Do what may be done about an operation of another run, dispatched by a dead owner or unknown.

    Args:
        like: the run whose call waits; None if none does.

    Returns:
        Whether the operation stands elsewhere now. False also if somebody alive owns its run.
    """
    run = await desk.ledger.run(operation.run)
    if run is None or (run.owner is not None and await desk.ledger.alive(run.owner)):
        return False
    scene = _scene(desk, run, operation, like)
    try:
        operation = await _claim(scene, operation)
    except (RunOwned, Conflict):
        return False
    return await desk.shielded(_recover(desk, scene, operation, waits=waits))


def _scene(desk: Desk, run: RunRow, operation: Operation, like: Scene | None) -> Scene:
    principal = Principal(operation.subject, operation.tenant)
    if like is not None and like.principal.same_as(principal):
        principal = like.principal
    journal = Journal(desk.ledger, run.id, _unfolded, epoch=run.epoch, sequence=run.sequence, last_ms=run.updated_ms)
    return Scene(
        run=run.id,
        root=run.root,
        agent=run.agent,
        conversation=operation.conversation,
        principal=principal,
        journal=journal,
        recorded={},
        admit=lambda tool, digest: None,
        may_ask=lambda: None,
        cancelled=asyncio.Event() if like is None else like.cancelled,
    )


def _unfolded(recorded: Recorded) -> None:
    """Nobody drives this run: whoever takes it up folds its events."""
    del recorded


async def _claim(scene: Scene, operation: Operation) -> Operation:
    if operation.state != "dispatched":
        await scene.journal.commit(claim=True)
        return operation
    step = moved(operation, "in_doubt", by="owner_gone", evidence="its owner was found dead")
    await scene.journal.commit(step.event, changes=(step.change,), claim=True)
    return after(operation, step)


async def _recover(desk: Desk, scene: Scene, operation: Operation, *, waits: bool) -> bool:
    try:
        tried = await recover(Case(desk, scene, waits=waits, allowed=_passed), operation)
    except (RunOwned, Conflict):  # its run was taken up meanwhile: whoever has it recovers it
        return False
    settled = tried.operation.state != "unknown"
    changes: tuple[Change, ...] = ()
    if settled and tried.outcome is not None:
        changes = await notices(desk, operation, tried.outcome)
    try:
        await scene.journal.commit(changes=changes, release=True)
    except (RunOwned, Conflict):
        if isinstance(tried.outcome, Succeeded | Failed):
            report = LateReport(operation=operation.id, attempt=tried.operation.attempt, outcome=tried.outcome)
            desk.ledger.post_late(operation.run, report)
    return settled


async def _passed() -> bool:
    """The call that waits has passed the gate; without one nothing is dispatched."""
    return True


async def answered(desk: Desk, run: RunId, call: CallId) -> CallEnded | None:
    """The answer that a call was given, if it was given one."""
    for recorded in reversed(await desk.ledger.read(run)):
        event = recorded.event
        if isinstance(event, CallEnded) and event.call == call:
            return event
    return None


async def notices(desk: Desk, operation: Operation, outcome: Outcome) -> tuple[Change, ...]:
    """What the conversation must be told, if the operation's call had its answer before its end was known."""
    if operation.conversation is None:
        return ()
    if not is_of_request(operation.call) and await answered(desk, operation.run, operation.call) is None:
        return ()
    return (
        Notify(
            conversation=operation.conversation,
            run=operation.run,
            call=operation.call,
            tool=operation.tool,
            operation=operation.id,
            outcome=outcome,
        ),
    )
