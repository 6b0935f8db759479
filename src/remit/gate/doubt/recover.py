"""What may be done when it is not known whether an effect happened: send it again, ask, or say so.

Knows the declared recovery and today's function of that name; no proposal. Invariant: nothing is
dispatched again unless the other side dedupes it, or the system of record said, late enough, that it
did not happen; and always under the same operation id.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace

from remit import ambient
from remit.errors import Conflict
from remit.gate.attempt import after, context_for, requester, with_evidence
from remit.gate.code import fail, unknown
from remit.gate.desk import Desk
from remit.gate.inquire import inquire
from remit.gate.note import Moved, moved
from remit.gate.result import describe, shape
from remit.gate.runner import Tried
from remit.gate.scene import Scene
from remit.gate.step.lookup import answer_of
from remit.gate.transact import OUTSIDE
from remit.tool import CANNOT_TELL, DID_NOT, Arguments, Happened, Tool
from remit.types.change import Change
from remit.types.operation import Operation

__all__ = ["Case", "give_up", "recover"]

_BACKOFF_S = 0.2
_LOOK_S = 1.0


@dataclass(frozen=True, slots=True)
class Case:
    """Whose doubt it is.

    Args:
        scene: of the run that the operation belongs to.
        waits: a call without an outcome waits for it; only then may it be dispatched again.
        allowed: whether the gate allows the call today; asked before it is dispatched again.
    """

    desk: Desk
    scene: Scene
    waits: bool
    allowed: Callable[[], Awaitable[bool]]


async def recover(case: Case, operation: Operation, *, detail: str | None = None) -> Tried:
    """Do what may be done about an `unknown` operation. Always ends with an outcome, `Unknown` if it stays so."""
    if not case.desk.runner.recovers:
        return Tried(operation, unknown("unknown", operation=operation.id), detail)
    recovering = case.desk.at_work.recovering
    recovering.add(operation.id)
    try:
        tried = await _recover(case, Tried(operation, None, detail))
    finally:
        recovering.discard(operation.id)
    if tried.outcome is None:
        return Tried(tried.operation, unknown("unknown", operation=operation.id), tried.detail)
    return tried


async def give_up(scene: Scene, operation: Operation) -> None:
    """Dispatched in this run by an owner that is gone: it is in doubt, unless somebody has moved it meanwhile."""
    step = moved(operation, "in_doubt", by="owner_gone", evidence="its owner is gone")
    try:
        await scene.journal.commit(step.event, changes=(step.change,))
    except Conflict as conflict:
        if conflict.code != "operation.moved":
            raise


async def _recover(case: Case, tried: Tried) -> Tried:
    while tried.outcome is None:
        tool = case.desk.tools.get(tried.operation.tool)
        kind = _kind(tried.operation, tool)
        if kind == "transactional":
            again = await _run_again(case, tried, tool)
        elif tool is None or kind == "manual":
            return tried
        else:
            again = await (_send_again(case, tried, tool) if kind == "idempotent" else _ask(case, tried, tool))
        if again is None:
            return tried
        tried = again
    return tried


def _kind(operation: Operation, tool: Tool | None) -> str:
    """Today's recovery of that name. What was not sent under its id cannot be deduplicated by it."""
    if operation.recovery == "transactional":
        return "transactional"
    today = None if tool is None else tool.effect.recovery
    if today is None or today.kind == "transactional" or (today.kind == "idempotent" and operation.recovery != "idempotent"):
        return "manual"
    return today.kind


async def _may_dispatch(case: Case, operation: Operation) -> bool:
    if not case.waits or case.scene.cancelled.is_set() or operation.attempt >= operation.attempts:
        return False
    return await case.allowed()


# idempotent


async def _send_again(case: Case, tried: Tried, tool: Tool) -> Tried | None:
    operation = tried.operation
    if case.waits and case.desk.runs_here(operation.id):
        await case.scene.journal.flush()
        settled = await _hold(case, operation, lambda: not case.desk.runs_here(operation.id))
        if settled is not None:
            return settled
    if not _in_window(case, operation) or not await _may_dispatch(case, operation):
        return None
    await ambient.sleep(_BACKOFF_S * 2 ** (operation.attempt - 1))
    if not _in_window(case, operation):
        return None
    return await _dispatch(case, tried, tool, clean=False)


def _in_window(case: Case, operation: Operation) -> bool:
    """Whether the other side still remembers the operation's id."""
    first, window_s = operation.first_dispatched_ms, operation.window_s
    return first is not None and window_s is not None and case.scene.journal.now_ms() <= first + window_s * 1000


async def _dispatch(case: Case, tried: Tried, tool: Tool, *, clean: bool, evidence: str | None = None) -> Tried | None:
    """The next attempt, with stored arguments, under the same id. `evidence` says why there may be one."""
    desk, scene, operation = case.desk, case.scene, tried.operation
    async with desk.slots.taken(tool.concurrency, read=False):
        if scene.cancelled.is_set():
            return None
        ambient.reach("dispatch.before")
        step = moved(
            operation,
            "resent",
            to_attempt=operation.attempt + 1,
            owner=desk.ledger.owner,
            not_after_ms=scene.journal.now_ms() + round(tool.timeout_s * 1000),
            evidence=evidence,
        )
        try:
            await scene.journal.commit(step.event, changes=(step.change,))
        except Conflict as moved_on:
            return await _settled(case, operation, moved_on)
        ambient.reach("dispatch.after")
        return await desk.runner.write(desk, scene, after(operation, step), tool, clean=clean)


# transactional


async def _run_again(case: Case, tried: Tried, tool: Tool | None) -> Tried | None:
    """Effect and outcome are one commit. As its former owner can make none any more, what has no outcome has not happened."""
    operation = tried.operation
    await case.scene.journal.flush()
    row = await case.desk.ledger.operation(operation.id)
    if row is None or any(line.startswith(OUTSIDE) for line in row.evidence):
        return None
    today = None if tool is None else tool.effect.recovery
    if tool is not None and today is not None and today.kind == "transactional" and await _may_dispatch(case, operation):
        again = await _dispatch(case, tried, tool, clean=True)
        if again is not None:
            return again
    outcome = fail("rolled_back", operation=operation.id)
    step = moved(operation, "reconciled_no", outcome=outcome, by="ledger")
    return await _commit(case, operation, step, (), tried.detail)


# reconcile


async def _ask(case: Case, tried: Tried, tool: Tool) -> Tried | None:
    """Ask now, and once more when the last attempt can no longer land."""
    operation, said = tried.operation, tried.detail
    await case.scene.journal.flush()
    while True:
        late_enough = _left_s(case, operation) <= 0
        counts = late_enough and not case.desk.runs_here(operation.id)
        told, detail = await _inquire(case, operation, tool)
        tried = Tried(operation, None, "\n".join(filter(None, [said, detail])) or None)
        settled = await _settled(case, operation)
        if settled is not None:
            return settled
        if isinstance(told, Happened):
            return await _happened(case, operation, tool, told, detail)
        if told == DID_NOT and counts:
            return await _did_not(case, tried, tool, detail)
        if late_enough or not case.waits:
            return replace(tried, outcome=unknown("unknown", operation=operation.id))
        settled = await _hold(case, operation, lambda: _left_s(case, operation) <= 0)
        if settled is not None:
            return settled


def _left_s(case: Case, operation: Operation) -> float:
    """How long an attempt that has not landed can still land. A clock that was put ahead does not shorten that for what
    was begun in this process."""
    quiet_ms = (operation.not_after_ms or 0) + round(operation.settle_s * 1000)
    left_s = (quiet_ms - case.scene.journal.now_ms()) / 1000
    return max(left_s, case.desk.at_work.left_s(operation.id))


async def _inquire(case: Case, operation: Operation, tool: Tool) -> tuple[object, str | None]:
    recovery = tool.effect.recovery
    assert recovery is not None
    assert recovery.fn is not None
    context = context_for(
        case.desk, case.scene, operation.call, tool, operation=operation, principal=requester(case.scene, operation)
    )
    try:
        told = await inquire(recovery.fn, Arguments(operation.arguments), context, timeout_s=tool.timeout_s)
    except Exception as error:  # the reconciler is foreign code: what fails cannot tell
        failed = f"reconciler: {describe(case.desk.redaction, error)}"
        return CANNOT_TELL, with_evidence(failed, context.trail)
    if isinstance(told, Happened) or (isinstance(told, str) and told in (DID_NOT, CANNOT_TELL)):
        return told, with_evidence(None, context.trail)
    nonsense = f"reconciler: a {type(told).__name__} is no answer; it is Happened(...), DID_NOT or CANNOT_TELL"
    return CANNOT_TELL, with_evidence(nonsense, context.trail)


async def _happened(case: Case, operation: Operation, tool: Tool, told: Happened, evidence: str | None) -> Tried:
    shaped = shape(case.desk.redaction, tool, told.result, operation=operation.id)
    step = moved(operation, "reconciled_yes", outcome=shaped.outcome, by="reconciler", evidence=evidence)
    return await _commit(case, operation, step, shaped.changes, shaped.detail)


async def _did_not(case: Case, tried: Tried, tool: Tool, evidence: str | None) -> Tried | None:
    if await _may_dispatch(case, tried.operation):
        return await _dispatch(case, tried, tool, clean=True, evidence=evidence)
    outcome = fail("reconciled_no", operation=tried.operation.id)
    step = moved(tried.operation, "reconciled_no", outcome=outcome, by="reconciler", evidence=evidence)
    return await _commit(case, tried.operation, step, (), tried.detail)


async def _commit(case: Case, operation: Operation, step: Moved, changes: tuple[Change, ...], detail: str | None) -> Tried:
    """Make a settlement durable, unless somebody's report was there first."""
    try:
        await case.scene.journal.commit(step.event, changes=(step.change, *changes))
    except Conflict as moved_on:
        settled = await _settled(case, operation, moved_on)
        return settled or Tried(operation, None, detail)
    return Tried(after(operation, step), step.event.outcome, detail)


# holding


async def _hold(case: Case, operation: Operation, over: Callable[[], bool]) -> Tried | None:
    """Wait until `over`, at most until the operation is quiet; an end that is reported meanwhile is returned."""
    while not over():
        left_s = _left_s(case, operation)
        if left_s <= 0:
            return None
        await case.scene.woken.heard(min(_LOOK_S, left_s))
        settled = await _settled(case, operation)
        if settled is not None:
            return settled
    return None


async def _settled(case: Case, operation: Operation, error: Conflict | None = None) -> Tried | None:
    """The operation's end, if somebody else has reported it."""
    if error is not None and error.code != "operation.moved":
        raise error
    row = await case.desk.ledger.operation(operation.id)
    if row is None or row.state not in ("succeeded", "failed"):
        return None
    return Tried(row, answer_of(row))
