"""The tools' handlers as what runs a call: an attempt, and what follows from how it ended.

Knows the table of endings; not what recovery may do. Invariant: an attempt that was dispatched ends
in `succeeded`, `failed` or `unknown`, and only what is known makes it one of the first two.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from remit import ambient
from remit.gate.box import why_absent
from remit.gate.child import begin_child
from remit.gate.code import fail
from remit.gate.delegate import ChildEnd, ChildWaits
from remit.gate.desk import IN_THREADS, Desk
from remit.gate.handler import Ending, attempt
from remit.gate.note import Moved, moved
from remit.gate.result import describe, shape, whole
from remit.gate.runner import Ran, Tried
from remit.gate.scene import Plan, Scene
from remit.gate.tell import told
from remit.gate.transact import OUTSIDE, Kept, transact
from remit.tool import Arguments, Context, Declined, NoEffect, Tool, Trail
from remit.trace import log_traceback
from remit.types.change import Change
from remit.types.delivery import LateReport
from remit.types.ident import CallId
from remit.types.operation import Operation
from remit.types.outcome import Failed, NotRun, Outcome, Succeeded
from remit.types.principal import Principal

__all__ = ["Handlers", "after", "context_for", "note", "requester", "with_evidence"]


def context_for(
    desk: Desk,
    scene: Scene,
    call: CallId,
    tool: Tool,
    *,
    operation: Operation | None = None,
    principal: Principal | None = None,
    writes: bool = False,
) -> Context[object]:
    """What the application's functions are given. `writes`: this one is the handler of a write."""
    run = scene.run if operation is None else operation.run
    return Context(
        principal=principal or scene.principal,
        deps=desk.deps,
        operation_id=None if operation is None else operation.id,
        deadline_s=ambient.monotonic_s() + tool.timeout_s,
        run=run,
        call=call,
        attempt=1 if operation is None else operation.attempt,
        cancelled=scene.cancelled,
        on_progress=None if desk.progress is None else partial(desk.progress, run, call),
        trail=Trail(writes=writes, clean=desk.redaction.text),
        web=desk.web,
    )


def requester(scene: Scene, operation: Operation) -> Principal:
    """For whom an operation runs: the requester's bindings stay, whoever waits for it."""
    if (operation.tenant, operation.subject) == (scene.principal.tenant, scene.principal.subject):
        return scene.principal
    return Principal(operation.subject, operation.tenant)


class Handlers:
    """Runs a tool's handler; a write's with its stored arguments."""

    @property
    def recovers(self) -> bool:
        """What is in doubt is recovered."""
        return True

    def instead(self, plan: Plan) -> NotRun | None:
        """Every plan is started."""
        del plan

    async def absent(self, tool: Tool) -> str | None:
        """Whether its sandbox is there."""
        return await why_absent(tool)

    async def read(self, desk: Desk, plan: Plan, scene: Scene) -> Ran:
        """Run the handler once; leaving early interrupts it."""
        tool = plan.tool
        context = context_for(desk, scene, plan.call, tool)
        ending = await attempt(tool, plan.arguments, context)
        if ending.error is not None:
            log_traceback(ending.error, mask=desk.redaction.text, run=scene.run, call=plan.call, tool=tool.name)
        ran = _read(desk, tool, ending)
        return replace(ran, detail=with_evidence(ran.detail, context.trail))

    async def write(self, desk: Desk, scene: Scene, operation: Operation, tool: Tool, *, clean: bool) -> Tried:
        """Run the handler once; what it does after it was given up goes to the inbox."""
        if operation.recovery == "transactional":
            return await self._transact(desk, scene, operation, tool)
        here = (operation.id, operation.attempt)
        running = desk.at_work.running if tool.is_async else IN_THREADS
        running.add(here)
        principal = requester(scene, operation)
        context = context_for(desk, scene, operation.call, tool, operation=operation, principal=principal, writes=True)
        trail = context.trail
        quiet_s = ambient.monotonic_s() + tool.timeout_s + operation.settle_s
        ending = await attempt(
            tool,
            Arguments(operation.arguments),
            context,
            late=lambda late: _report_late(desk, operation, late, trail),
            gone=lambda: running.discard(here),
        )
        if ending.how != "returned":
            desk.at_work.quiet_s[operation.id] = quiet_s
        ambient.reach("effect.after")
        return _settle(desk, scene, operation, ending, tool=tool, trail=trail, clean=clean)

    async def _transact(self, desk: Desk, scene: Scene, operation: Operation, tool: Tool) -> Tried:
        """Run the handler once, in a transaction that is committed with its outcome or rolled back."""
        principal = requester(scene, operation)
        context = context_for(desk, scene, operation.call, tool, operation=operation, principal=principal, writes=True)
        trail = context.trail
        ended = await transact(desk, scene, operation, tool, context=context, evidence=lambda said: with_evidence(said, trail))
        trail.seal()
        ambient.reach("effect.after")
        if isinstance(ended, Kept):
            return Tried(after(operation, ended.step), ended.shaped.outcome, ended.shaped.detail)
        return _rolled_back(desk, scene, operation, ended, trail=trail)

    async def child(self, desk: Desk, plan: Plan, scene: Scene) -> ChildEnd | ChildWaits:
        """Begin the other agent's run, or join it."""
        return await begin_child(desk, plan, scene)

    def told(self, plan: Plan, outcome: Outcome) -> Outcome:
        """With what an approver changed."""
        return told(plan, outcome)


def _read(desk: Desk, tool: Tool, ending: Ending) -> Ran:
    detail = None if ending.error is None else describe(desk.redaction, ending.error)
    if ending.how == "returned":
        shaped = shape(desk.redaction, tool, ending.value, operation=None)
        return Ran(shaped.outcome, shaped.changes, shaped.detail)
    if isinstance(ending.error, NoEffect):
        return Ran(_no_effect(desk, ending.error, None), detail=detail)
    if ending.how == "timeout":
        return Ran(fail("tool.timeout"), detail=detail)
    code = "tool.not_started" if ending.how == "not_started" else "tool.failed"
    return Ran(fail(code, f"({type(ending.error).__name__})"), detail=detail)


def with_evidence(said: str | None, trail: Trail) -> str | None:
    """What is kept for the operator: what is said already, and what the attempt did outside."""
    return "\n".join(filter(None, [said, trail.text])) or None


def _settle(desk: Desk, scene: Scene, operation: Operation, ending: Ending, *, tool: Tool, trail: Trail, clean: bool) -> Tried:
    trail.seal()
    detail = None if ending.error is None else describe(desk.redaction, ending.error)
    if ending.error is not None:
        log_traceback(ending.error, mask=desk.redaction.text, run=operation.run, call=operation.call, tool=tool.name)
    if ending.how == "returned":
        shaped = shape(desk.redaction, tool, ending.value, operation=operation.id)
        evidence = with_evidence(shaped.detail, trail)
        step = moved(operation, "returned", outcome=shaped.outcome, by="handler", evidence=evidence)
        return Tried(note(scene, operation, step, shaped.changes), shaped.outcome, shaped.detail)
    outcome = _nothing_happened(desk, operation, ending, clean=clean, trail=trail)
    if outcome is None:
        evidence = with_evidence(detail or "the handler did not end in time", trail)
        step = moved(operation, "in_doubt", evidence=evidence)
        return Tried(note(scene, operation, step), None, detail)
    step = moved(operation, "no_effect", outcome=outcome, by="handler", evidence=with_evidence(detail, trail))
    return Tried(note(scene, operation, step), outcome, detail)


def _rolled_back(desk: Desk, scene: Scene, operation: Operation, ending: Ending, *, trail: Trail) -> Tried:
    """Nothing happened in the ledger's database; where something outside may have, a person must look."""
    detail = None if ending.error is None else describe(desk.redaction, ending.error)
    if ending.error is not None:
        log_traceback(ending.error, mask=desk.redaction.text, run=operation.run, call=operation.call, tool=operation.tool)
    outcome = _nothing_happened(desk, replace(operation, atomic=True), ending, clean=True, trail=trail)
    if outcome is None and ending.how == "timeout" and not trail.changed:
        outcome = fail("tool.timeout", operation=operation.id)
    if outcome is None:
        said = OUTSIDE if detail is None else f"{OUTSIDE}\n{detail}"
        return Tried(note(scene, operation, moved(operation, "in_doubt", evidence=with_evidence(said, trail))), None, said)
    step = moved(operation, "no_effect", outcome=outcome, by="handler", evidence=with_evidence(detail, trail))
    return Tried(note(scene, operation, step), outcome, detail)


def _nothing_happened(desk: Desk, operation: Operation, ending: Ending, *, clean: bool, trail: Trail) -> Failed | None:
    """The failure that an ending proves, or None where it proves nothing.

    Where a request of the attempt may have had an effect, only the handler's own word that there was none counts, and not
    even that while one is under way.
    """
    changed, clean = trail.changed, clean and not trail.pending
    name = type(ending.error).__name__
    match ending.how:
        case "no_effect" if clean and isinstance(ending.error, NoEffect) and not (changed and _of_request(ending.error)):
            return _no_effect(desk, ending.error, operation)
        case "not_started" if clean:
            return fail("tool.not_started", f"({name})", operation=operation.id)
        case "raised" if clean and operation.atomic and not changed:
            return fail("tool.failed", f"({name})", operation=operation.id)
        case _:
            return None


def _of_request(error: NoEffect) -> bool:
    """Whether it was said of a request only, and not by the handler of all that it did."""
    return isinstance(error, Declined)


def _no_effect(desk: Desk, error: NoEffect, operation: Operation | None) -> Failed:
    """What a handler says itself when nothing changed; its words are for the model, without secrets."""
    failed = fail("no_effect", retry=error.retry, operation=None if operation is None else operation.id)
    clean = desk.redaction.text(str(error).encode("utf-8", "backslashreplace").decode())
    return replace(
        failed, message=clean or failed.message, fields=desk.redaction.fields(error.fields), retry_after_s=error.retry_after_s
    )


def note(scene: Scene, operation: Operation, step: Moved, changes: tuple[Change, ...] = ()) -> Operation:
    """Note a move that only the run's owner makes; returns the operation as it stands then."""
    scene.journal.note(step.event, changes=(step.change, *changes))
    return after(operation, step)


def after(operation: Operation, step: Moved) -> Operation:
    """The operation as a move leaves it."""
    event, change = step.event, step.change
    return replace(
        operation,
        state=event.state,
        closed=event.closed,
        attempt=event.attempt,
        owner=event.owner or operation.owner,
        not_after_ms=event.not_after_ms or operation.not_after_ms,
        approval=event.approval or operation.approval,
        outcome=change.outcome or operation.outcome,
        settled_by=change.settled_by or operation.settled_by,
    )


def _report_late(desk: Desk, operation: Operation, ending: Ending, trail: Trail) -> None:
    """Whatever an attempt does after it was given up goes to its run's inbox; from any thread."""
    outcome: Succeeded | Failed | None = None
    trail.seal()
    if ending.how == "returned":
        outcome = whole(desk.redaction, ending.value, operation=operation.id).outcome
        outcome = replace(outcome, attachments=())
    else:
        outcome = _nothing_happened(desk, operation, ending, clean=True, trail=trail)
    if outcome is not None:
        evidence = with_evidence(None, trail)
        report = LateReport(operation=operation.id, attempt=operation.attempt, outcome=outcome, evidence=evidence)
        desk.ledger.post_late(operation.run, report)
