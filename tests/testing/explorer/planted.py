"""Faults to be found: each breaks one promise, from outside of the package, and leaves everything else as it is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from remit.gate.attempt import Handlers, context_for, note
from remit.gate.desk import Desk
from remit.gate.handler import attempt
from remit.gate.note import moved
from remit.gate.runner import Ran, Tried
from remit.gate.scene import Plan, Scene
from remit.tool import Arguments, Tool
from remit.types.approval import Approval
from remit.types.change import Change, ConsumeApproval, Create, MoveOperation, OpenOperation, Spend
from remit.types.delivery import Decision, Delivery, Settlement
from remit.types.event import CallConsidered, CallEnded, CancelRequested, Event, OperationMoved, Recorded, RunStarted
from remit.types.ident import Digest, OperationId, RunId
from remit.types.label import TRUSTED
from remit.types.ledger import Append, Committed, Ledger, Stamped
from remit.types.operation import Operation
from remit.types.outcome import Succeeded
from remit.types.run import RunRow


class Around:
    """A ledger around another: the same, but for what a subclass does wrong."""

    def __init__(self, inner: Ledger) -> None:
        self.inner = inner

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)

    async def commit(self, append: Append) -> Committed:
        return await self.inner.commit(append)


def _events(append: Append, change: Callable[[Event], Event | None]) -> Append:
    made = [(one.at_ms, change(one.event)) for one in append.events]
    return replace(append, events=tuple(Stamped(at_ms, event) for at_ms, event in made if event is not None))


def _changes(append: Append, change: Callable[[Change], Change | None]) -> Append:
    made = [change(one) for one in append.changes]
    return replace(append, changes=tuple(one for one in made if one is not None))


def _as_asked(append: Append, done: Committed) -> Committed:
    """What was asked for, as if it had been recorded so."""
    first = done.sequence - len(done.recorded) + 1
    recorded = [Recorded(append.run, first + at, one.at_ms, one.event) for at, one in enumerate(append.events)]
    return Committed(done.epoch, done.sequence, tuple(recorded))


# the four


class RecordsTheOutcomeFirst(Handlers):
    """The outcome is durable before the effect."""

    async def write(self, desk: Desk, scene: Scene, operation: Operation, tool: Tool, *, clean: bool) -> Tried:
        outcome = Succeeded(value="done", operation=operation.id)
        done = note(scene, operation, moved(operation, "returned", outcome=outcome, by="handler"))
        await scene.journal.flush()
        await attempt(tool, Arguments(operation.arguments), context_for(desk, scene, operation.call, tool, operation=operation))
        return Tried(done, outcome)


class RecordsTheDispatchLate(Around):
    """A dispatch is written with the next commit, when the handler has run."""

    def __init__(self, inner: Ledger) -> None:
        super().__init__(inner)
        self.kept: dict[RunId, Append] = {}

    async def commit(self, append: Append) -> Committed:
        held = self.kept.pop(append.run, None)
        if held is not None:
            await self.inner.commit(held)
        if append.create is not None or append.claim or not _dispatches(append):
            return await self.inner.commit(append)
        self.kept[append.run] = append
        recorded = [Recorded(append.run, append.sequence + at, one.at_ms, one.event) for at, one in enumerate(append.events, 1)]
        return Committed(append.epoch, append.sequence + len(append.events), tuple(recorded))


def _dispatches(append: Append) -> bool:
    return any(isinstance(one.event, OperationMoved) and one.event.state == "dispatched" for one in append.events)


class UsesTheApprovalApart(Around):
    """An approval is used up in a commit of its own, after the dispatch."""

    async def commit(self, append: Append) -> Committed:
        used = tuple(one for one in append.changes if isinstance(one, ConsumeApproval))
        done = await self.inner.commit(_changes(append, lambda one: None if isinstance(one, ConsumeApproval) else one))
        if used:
            await self.inner.commit(Append(run=append.run, epoch=done.epoch, sequence=done.sequence, changes=used))
        return done


class DropsTheResultOnCancel(Handlers):
    """What a handler returns while the run is being cancelled is forgotten."""

    async def write(self, desk: Desk, scene: Scene, operation: Operation, tool: Tool, *, clean: bool) -> Tried:
        context = context_for(desk, scene, operation.call, tool, operation=operation)
        ending = await attempt(tool, Arguments(operation.arguments), context)
        if not scene.cancelled.is_set() and ending.how == "returned":
            outcome = Succeeded(value="done", operation=operation.id)
            return Tried(note(scene, operation, moved(operation, "returned", outcome=outcome, by="handler")), outcome)
        return Tried(note(scene, operation, moved(operation, "in_doubt", evidence="cancelled")), None)


# others


class DropsTheAnswerOnCancel(Around):
    """A call that ends while the run is being cancelled gets no answer."""

    def __init__(self, inner: Ledger) -> None:
        super().__init__(inner)
        self.cancelled: set[RunId] = set()

    async def commit(self, append: Append) -> Committed:
        if any(isinstance(one.event, CancelRequested) for one in append.events):
            self.cancelled.add(append.run)
        if append.run not in self.cancelled:
            return await self.inner.commit(append)
        less = _events(append, lambda event: None if isinstance(event, CallEnded) else event)
        return _as_asked(append, await self.inner.commit(less))


class ResendsUnderAnotherName(Handlers):
    """A second attempt is not made under the operation's own id."""

    async def write(self, desk: Desk, scene: Scene, operation: Operation, tool: Tool, *, clean: bool) -> Tried:
        if operation.attempt == 1:
            return await super().write(desk, scene, operation, tool, clean=clean)
        other = replace(operation, id=OperationId(f"{operation.id}-{operation.attempt}"))
        ending = await attempt(
            tool, Arguments(operation.arguments), context_for(desk, scene, operation.call, tool, operation=other)
        )
        outcome = Succeeded(value=str(ending.how), operation=operation.id)
        return Tried(note(scene, operation, moved(operation, "returned", outcome=outcome, by="handler")), outcome)


class ForgetsTheKey(Around):
    """Every operation has a key of its own."""

    async def commit(self, append: Append) -> Committed:
        def change(one: Change) -> Change:
            if isinstance(one, OpenOperation):
                return OpenOperation(replace(one.operation, key=_own(one.operation.id)))
            return one

        def event(one: Event) -> Event:
            return replace(one, key=_own(one.operation)) if isinstance(one, OperationMoved) else one

        return await self.inner.commit(_events(_changes(append, change), event))


def _own(operation: OperationId) -> Digest:
    return Digest(operation.encode().hex().ljust(64, "0")[:64])


class ForgetsSettlements(Around):
    """What a person says of an operation in doubt is not kept."""

    async def post(self, run: RunId, delivery: Delivery) -> int:
        return 0 if isinstance(delivery, Settlement) else await self.inner.post(run, delivery)


class ForgetsDecisions(Around):
    """What a person decides is not kept."""

    async def decide(self, decision: Decision) -> Approval:
        row = await self.inner.approval(decision.approval)
        assert row is not None
        return row


class AnswersTwice(Around):
    """Each answer is recorded twice."""

    async def commit(self, append: Append) -> Committed:
        twice = [one for one in append.events for _ in range(2 if isinstance(one.event, CallEnded) else 1)]
        return _as_asked(append, await self.inner.commit(replace(append, events=tuple(twice))))


class DropsLabels(Around):
    """What is recorded of a result is that it can be trusted; who comes after a crash believes it."""

    async def commit(self, append: Append) -> Committed:
        def change(event: Event) -> Event:
            return replace(event, label=TRUSTED) if isinstance(event, CallEnded | CallConsidered) else event

        return _as_asked(append, await self.inner.commit(_events(append, change)))


class BooksNothing(Around):
    """What a run spends is not booked."""

    async def commit(self, append: Append) -> Committed:
        return await self.inner.commit(_changes(append, lambda one: None if isinstance(one, Spend) else one))


class ShowsSecrets(Handlers):
    """What a read returns is shown as it is."""

    async def read(self, desk: Desk, plan: Plan, scene: Scene) -> Ran:
        ending = await attempt(plan.tool, plan.arguments, context_for(desk, scene, plan.call, plan.tool))
        return Ran(Succeeded(value=str(ending.value)))


class ForgetsRequests(Around):
    """The same request again is another run."""

    async def find_request(self, **named: str) -> RunRow | None:
        return None

    async def commit(self, append: Append) -> Committed:
        if append.create is not None:
            append = replace(
                append, create=Create(replace(append.create.row, request_id=None, request_digest=None), append.create.request)
            )
        return await self.inner.commit(_events(append, _without_request))


def _without_request(event: Event) -> Event:
    return replace(event, request_id=None, request_digest=None) if isinstance(event, RunStarted) else event


class BelievesAnEarlyNo(Around):
    """Of an attempt it is said that it could no longer land, although it can."""

    async def commit(self, append: Append) -> Committed:
        def change(one: Change) -> Change:
            match one:
                case OpenOperation(operation=row):
                    return OpenOperation(replace(row, settle_s=0.0, not_after_ms=None if row.not_after_ms is None else 1))
                case MoveOperation(not_after_ms=int()):
                    return replace(one, not_after_ms=1)
                case _:
                    return one

        def event(one: Event) -> Event:
            return replace(one, not_after_ms=1) if isinstance(one, OperationMoved) and one.not_after_ms is not None else one

        return await self.inner.commit(_events(_changes(append, change), event))
