"""Step 7, execute: key, approval and dispatch in one transaction, then the handler, then what is known.

Knows plans. Invariant: nothing starts that is not durable as dispatched, with a slot held; and every
plan ends with exactly one answer, or with a new request to a person.
"""

from __future__ import annotations

from dataclasses import replace
from enum import Enum
from typing import Literal

from remit import ambient
from remit.errors import Conflict, KeyTaken
from remit.gate.attempt import after
from remit.gate.child import delegated
from remit.gate.code import not_run, refuse
from remit.gate.consider import consider
from remit.gate.desk import Desk
from remit.gate.doubt.follow import follow
from remit.gate.doubt.recover import Case, recover
from remit.gate.draft import Draft, Stop
from remit.gate.note import Moved, end, moved
from remit.gate.reconsider import reconsider
from remit.gate.runner import Tried
from remit.gate.scene import Plan, Scene
from remit.gate.step.authorize import authorize
from remit.gate.step.lookup import doubts
from remit.gate.stop import withdraw
from remit.gate.tell import label_of
from remit.tool import Arguments
from remit.types.change import Change, ConsumeApproval, VoidApproval
from remit.types.event import OperationMoved
from remit.types.ident import OperationId
from remit.types.label import Label
from remit.types.operation import Operation
from remit.types.outcome import NotRun, Outcome, Refused, Succeeded, Unknown

__all__ = ["execute", "finish"]


async def execute(desk: Desk, plan: Plan, scene: Scene) -> None:
    """Run a plan to the end of its call."""
    started_s = ambient.monotonic_s()
    instead = desk.runner.instead(plan)
    if instead is not None:
        await _stopped(desk, plan, scene, Stop("execute", instead), started_s=started_s)
        return
    if plan.approval is not None:
        await _wait_for_rate(desk, plan, scene)
    if plan.tool.effect.kind == "ask":
        end(scene, plan.proposal, await withdraw(desk, plan, scene), started_s=started_s)
    elif plan.tool.effect.kind == "agent":
        await delegated(desk, plan, scene, started_s=started_s)
    elif plan.tool.effect.kind == "read":
        await _read(desk, plan, scene, started_s)
    else:
        await _write(desk, plan, scene, started_s)


async def _wait_for_rate(desk: Desk, plan: Plan, scene: Scene) -> None:
    """What a person has approved is not refused for coming too soon: it waits for its turn."""
    tool = plan.tool
    while tool.rate is not None and not scene.cancelled.is_set():
        wait_s = desk.rates.take(tool.rate, tool.name, scene.principal.tenant)
        if wait_s is None:
            return
        await ambient.sleep(wait_s)


# reads


async def _read(desk: Desk, plan: Plan, scene: Scene, started_s: float) -> None:
    async with desk.slots.taken(plan.tool.concurrency, read=True):
        if scene.cancelled.is_set():
            end(scene, plan.proposal, not_run("cancelled"), started_s=started_s)
            return
        absent = await _absent(desk, plan)
        if absent is not None:
            await _stopped(desk, plan, scene, absent, started_s=started_s)
            return
        ran = await desk.runner.read(desk, plan, scene)
    changes = ran.changes if plan.approval is None else (*ran.changes, ConsumeApproval(plan.approval.id))
    end(
        scene,
        plan.proposal,
        desk.runner.told(plan, ran.outcome),
        label=_label(desk, plan, scene, ran.outcome),
        started_s=started_s,
        detail=ran.detail,
        changes=changes,
    )


async def _absent(desk: Desk, plan: Plan) -> Stop | None:
    """A sandbox that is declared and not there is a refusal."""
    why = await desk.runner.absent(plan.tool)
    return None if why is None else Stop("execute", refuse("sandbox.absent"), detail=desk.redaction.text(why))


# writes


async def _write(desk: Desk, plan: Plan, scene: Scene, started_s: float) -> None:
    holder = plan.follow
    while True:
        if holder is not None:
            stop = await follow(desk, plan, scene, holder)
            if stop is not None:
                await _stopped(desk, plan, scene, stop, started_s=started_s)
                return
            if plan.follow is not None:
                again = await _once_more(desk, plan, scene)
                if again is None:
                    return
                plan = again
            holder = plan.follow
            if holder is not None:
                continue
        tried = await _dispatch_and_try(desk, plan, scene)
        if isinstance(tried, Stop):
            await _stopped(desk, plan, scene, tried, started_s=started_s)
            return
        if isinstance(tried, Tried):
            await finish(desk, plan, scene, tried, started_s=started_s)
            return
        if tried is _Not.ANSWERED:
            return
        if tried is _Not.DOUBTED:
            again = await _once_more(desk, plan, scene)
            if again is None:
                return
            plan, holder = again, again.follow
        else:
            holder = tried


class _Not(Enum):
    """Why a plan was not dispatched: its operation was withdrawn, and the call has that answer; or the tool was put in
    doubt since the plan was made."""

    ANSWERED = "answered"
    DOUBTED = "doubted"


async def _once_more(desk: Desk, plan: Plan, scene: Scene) -> Plan | None:
    """The steps again, because something has changed since the plan was made."""
    proposal = replace(plan.proposal, again=True)
    if plan.approval is None:
        return await consider(desk, proposal, scene)
    return await reconsider(desk, proposal, plan.approval, scene)


async def _dispatch_and_try(
    desk: Desk, plan: Plan, scene: Scene
) -> Tried | Stop | OperationId | Literal[_Not.ANSWERED, _Not.DOUBTED]:
    """One dispatch and its attempt; the holder's id if the key was taken, a stop if something else forbids it."""
    async with desk.slots.taken(plan.tool.concurrency, read=False):
        if scene.cancelled.is_set():
            return Stop("stop", not_run("cancelled"))
        absent = await _absent(desk, plan)
        if absent is not None:
            return absent
        seen = () if plan.approval is None else plan.approval.reasons
        if not set(await doubts(desk, scene, plan.tool)) <= set(seen):
            return _Not.DOUBTED
        try:
            operation = await _dispatch(desk, plan, scene)
        except KeyTaken as taken:
            return OperationId(str(taken.details["operation"]))
        if operation is None:
            return _Not.ANSWERED
        return await desk.runner.write(desk, scene, operation, plan.tool, clean=True)


async def _dispatch(desk: Desk, plan: Plan, scene: Scene) -> Operation | None:
    """Make it durable that the handler is about to start; None if its operation does not wait any more."""
    ambient.reach("dispatch.before")
    now_ms = scene.journal.now_ms()
    approval = None if plan.approval is None else plan.approval.id
    consumed: tuple[Change, ...] = () if approval is None else (ConsumeApproval(approval),)
    waiting = await _awaiting(desk, plan, scene)
    if waiting is not None and waiting.state != "awaiting_approval":
        return None
    if waiting is not None:
        step = moved(
            waiting,
            "approved",
            to_attempt=waiting.attempt + 1,
            owner=desk.ledger.owner,
            not_after_ms=now_ms + round(plan.tool.timeout_s * 1000),
            approval=approval,
        )
        event, change, operation = step.event, step.change, replace(after(waiting, step), first_dispatched_ms=now_ms)
    else:
        draft = Draft(
            desk, scene, plan.proposal, plan.tool, plan.arguments, key=plan.key, once_per=plan.once_per, author=plan.author
        )
        change = draft.row(OperationId(ambient.new_id("op")), "dispatched", now_ms, approval=approval)
        operation, event = change.operation, _opened(change.operation)
    try:
        await scene.journal.commit(event, changes=(change, *consumed))
    except Conflict as conflict:
        if waiting is None or conflict.code != "operation.moved":
            raise
        return None
    ambient.reach("dispatch.after")
    return operation


def _opened(operation: Operation) -> OperationMoved:
    return OperationMoved(
        operation=operation.id,
        call=operation.call,
        on="allowed",
        state="dispatched",
        attempt=1,
        key=operation.key,
        arguments_digest=operation.arguments_digest,
        owner=operation.owner,
        not_after_ms=operation.not_after_ms,
        approval=operation.approval,
    )


async def _awaiting(desk: Desk, plan: Plan, scene: Scene) -> Operation | None:
    name = plan.operation
    return None if name is None else await scene.journal.current(lambda: desk.ledger.operation(name))


async def finish(desk: Desk, plan: Plan, scene: Scene, tried: Tried, *, started_s: float) -> None:
    """Recover what is in doubt, and give the call its answer."""
    if tried.outcome is None:
        case = Case(desk, scene, waits=True, allowed=lambda: _allows(desk, plan, scene, tried.operation))
        tried = await recover(case, tried.operation, detail=tried.detail)
    assert tried.outcome is not None
    end(
        scene,
        plan.proposal,
        desk.runner.told(plan, tried.outcome),
        label=_label(desk, plan, scene, tried.outcome),
        wrote=True,
        operation=tried.operation.id,
        started_s=started_s,
        detail=tried.detail,
    )


async def _allows(desk: Desk, plan: Plan, scene: Scene, operation: Operation) -> bool:
    """Whether the call may be dispatched once more: a later attempt keeps the approval that the first one had."""
    if await desk.runner.absent(plan.tool) is not None:
        return False
    arguments = Arguments(operation.arguments)
    found = await authorize(desk, scene, plan.tool, arguments, call=plan.call, label=plan.proposal.label)
    return not isinstance(found, Stop) and (found is None or operation.approval is not None)


async def _stopped(desk: Desk, plan: Plan, scene: Scene, stop: Stop, *, started_s: float) -> None:
    """Nothing ran for this call; an approved operation is closed with its approval not consumed."""
    outcome = stop.outcome
    before: tuple[Moved, ...] = ()
    changes: tuple[Change, ...] = ()
    waiting = await _awaiting(desk, plan, scene)
    if waiting is not None:
        if waiting.state != "awaiting_approval":
            return  # it was withdrawn meanwhile, and the call has that answer
        before = (_closed(waiting, outcome),)
    if plan.approval is not None:
        changes = (VoidApproval(plan.approval.id),)
    end(
        scene,
        plan.proposal,
        outcome,
        label=_label(desk, plan, scene, outcome),
        operation=stop.operation or plan.operation,
        started_s=started_s,
        detail=stop.detail,
        before=before,
        changes=changes,
    )


def _label(desk: Desk, plan: Plan, scene: Scene, outcome: Outcome) -> Label:
    return label_of(desk, plan.tool.name, outcome, plan.proposal.label, subject=scene.principal.subject)


def _closed(waiting: Operation, outcome: Outcome) -> Moved:
    if isinstance(outcome, Succeeded | Unknown):
        return moved(waiting, "key_repeat", outcome=outcome)
    if isinstance(outcome, NotRun):
        return moved(waiting, "cancelled", outcome=outcome)
    conflict = isinstance(outcome, Refused) and outcome.code == "conflict"
    return moved(waiting, "key_conflict" if conflict else "recheck_refused", outcome=outcome)
