"""A run under somebody else's loop, as this process knows it while calls of it are in flight.

Knows the run's events; decides nothing. Invariant: the run is claimed by the first commit and released
by the last one in flight, and what the session says of a call was read from events.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Awaitable, Callable
from dataclasses import dataclass, field, replace

from remit.budget import Tally, admission_of
from remit.canonical import decode, parse
from remit.errors import BudgetExceeded, InputError
from remit.gate.desk import Desk
from remit.gate.doubt.deliver import deliver
from remit.gate.patience import Patience
from remit.gate.scene import Bell, Scene
from remit.gate.tree import uncounted
from remit.ledger.journal import Journal
from remit.tool import Arguments, Catalogue, Tool
from remit.types.budget import Budget, Spent
from remit.types.change import Change, Create, Spend
from remit.types.delivery import CancelRun, ChildEnded, Decision, Delivered
from remit.types.event import (
    ApprovalDecided,
    ApprovalRequested,
    CallConsidered,
    CallEnded,
    CancelRequested,
    ChildStarted,
    ChildWaiting,
    Event,
    OperationMoved,
    Recorded,
    RunEnded,
    RunStarted,
)
from remit.types.ident import ApprovalId, CallId, Digest, OperationId, RunId
from remit.types.label import UNTRUSTED, Label
from remit.types.ledger import Ledger
from remit.types.operation import OperationState
from remit.types.outcome import Outcome
from remit.types.principal import Principal
from remit.types.run import RunRow, RunStatus

__all__ = ["HostCall", "HostJournal", "Session", "View"]


@dataclass(slots=True)
class HostCall:
    """What the events say of one call.

    Args:
        tool, contract, arguments, label: of what was proposed, not of what an approver wrote.
        child: the run that answers it; `below`: what that waits for.
    """

    tool: str
    contract: Digest | None = None
    arguments: str | None = None
    label: Label = UNTRUSTED
    approval: ApprovalId | None = None
    operation: OperationId | None = None
    joined: CallId | None = None
    outcome: Outcome | None = None
    child: RunId | None = None
    below: tuple[ApprovalId, ...] = ()

    def says(self, text: str, tool: Tool | None) -> bool:
        """Whether arguments that the host sends now are those of this call.

        Under a contract that has changed since, those recorded and those sent are compared as today's schema reads
        them; where it cannot, what is sent must be what was recorded, defaults apart.
        """
        known = None if self.arguments is None else Arguments(self.arguments)
        now = None if tool is None else tool.check(text)
        if tool is not None and tool.contract == self.contract:
            return (now.text if isinstance(now, Arguments) else None) == self.arguments
        if known is None:
            return True
        was = None if tool is None else tool.check(known.plain_text())
        if isinstance(was, Arguments) and isinstance(now, Arguments):
            return was.text == now.text
        return _within(text, known)


def _within(text: str, known: Arguments) -> bool:
    """Whether each argument in `text` is recorded with that value."""
    try:
        sent = parse(text or "{}")
    except InputError:
        return False
    recorded = decode(known.text)
    if not isinstance(sent, dict) or not isinstance(recorded, dict):
        return False
    return all(name in recorded and recorded[name] == value for name, value in sent.items())


@dataclass(slots=True)
class View:
    """The fold of a host's run. `taken`: calls and requests to people that were taken of its budget before they were made."""

    calls: dict[CallId, HostCall] = field(default_factory=dict[CallId, HostCall])
    operations: dict[OperationId, OperationState] = field(default_factory=dict[OperationId, OperationState])
    tally: Tally = field(default_factory=Tally)
    taken: Spent = field(default_factory=Spent)
    cancelled: asyncio.Event = field(default_factory=asyncio.Event)
    ended: bool = False
    principal: Principal | None = None

    def fold(self, recorded: Recorded) -> None:
        """Add one event."""
        self.tally = self.tally.count(recorded)
        event = recorded.event
        match event:
            case RunStarted():
                self.principal = Principal(event.subject, event.tenant, frozenset(event.scopes))
            case CallConsidered():
                if event.call not in self.calls and event.step not in ("budget", "stop"):
                    self.taken = replace(self.taken, calls=self.taken.calls + 1)
                call = self.calls.setdefault(event.call, HostCall(event.tool, event.contract, event.arguments, event.label))
                call.joined = event.joined
                call.operation = event.operation or call.operation
                call.approval = event.approval or call.approval
            case OperationMoved():
                self.operations[event.operation] = event.state
                if event.call in self.calls and event.state in ("dispatched", "awaiting_approval"):
                    self.calls[event.call].operation = event.operation
            case ApprovalRequested():
                self.taken = replace(self.taken, approvals=self.taken.approvals + 1)
                if event.call in self.calls:
                    self.calls[event.call].approval = event.approval
            case ChildStarted() if event.call in self.calls:
                self.calls[event.call].child = event.child
            case ChildWaiting() if event.call in self.calls:
                self.calls[event.call].below = event.approvals
            case CallEnded():
                self.calls.setdefault(event.call, HostCall(event.tool)).outcome = event.outcome
            case CancelRequested():
                self.cancelled.set()
            case RunEnded():
                self.ended = True
            case _:
                return

    @property
    def unsure(self) -> tuple[OperationId, ...]:
        """Operations that may have happened, or may still."""
        return tuple(one for one, state in self.operations.items() if state in ("dispatched", "unknown"))


class HostJournal(Journal):
    """A journal that claims the run with its first commit, and releases it with the last that says so.

    Args:
        row: the run's, None if it is yet to be created; then `create` is set before the first commit.
    """

    def __init__(self, ledger: Ledger, run: RunId, fold: Callable[[Recorded], None], *, row: RunRow | None) -> None:
        super().__init__(
            ledger,
            run,
            fold,
            epoch=row.epoch if row else 0,
            sequence=row.sequence if row else 0,
            last_ms=row.updated_ms if row else 0,
        )
        self.owned = False
        self.create: Create | None = None
        self._turn = asyncio.Lock()

    async def commit(
        self,
        *events: Event,
        changes: tuple[Change, ...] = (),
        taken: tuple[int, ...] = (),
        create: Create | None = None,
        claim: bool = False,
        status: RunStatus | None = None,
        release: bool = False,
        expires_ms: int | None = None,
    ) -> None:
        async with self._turn:
            create = create or self.create
            claims = not self.owned and create is None
            await super().commit(
                *events,
                changes=changes,
                taken=taken,
                create=create,
                claim=claim or claims,
                status=status or ("active" if claims else None),
                release=release,
                expires_ms=expires_ms,
            )
            self.create = None
            self.owned = not release

    async def leave(self, last: Callable[[], bool]) -> None:
        """Make all durable, and release the run if nothing else is in flight by then."""
        async with self._turn:
            release = last()
            if not self.pending and not (self.owned and release):
                return
            await super().commit(
                create=self.create,
                claim=not self.owned and self.create is None,
                status="paused" if release else "active",
                release=release,
            )
            self.create = None
            self.owned = not release


class _InboxBell(Bell):
    """Holders of a host's run look into its inbox themselves: nobody else drives it."""

    def __init__(self, session: Session, desk: Desk) -> None:
        super().__init__()
        self._session = session
        self._desk = desk

    async def heard(self, timeout_s: float) -> bool:
        ledger, run = self._desk.ledger, self._session.run
        with Patience(timeout_s) as patience:
            await patience.wait(super().heard(timeout_s), ledger.wait_inbox(run, after=self._session.seen, timeout_s=timeout_s))
        return await self._session.take_inbox(self._desk)


class Session:
    """One host's run in this process.

    Args:
        view: its events so far, folded.
        in_flight: calls that are being answered now.
        running: the same, by call, so that one call asked for twice is answered once.
    """

    def __init__(self, desk: Desk, run: RunId, journal: HostJournal, view: View) -> None:
        self.run = run
        self.journal = journal
        self.view = view
        self.lock = asyncio.Lock()
        self.in_flight = 0
        self.running: dict[CallId, asyncio.Future[None]] = {}
        self.seen = 0
        self._desk = desk
        self._exact = False
        self._inbox = asyncio.Lock()
        self._bell = _InboxBell(self, desk)

    def scene(self, desk: Desk, principal: Principal, *, agent: str, budget: Budget, named: bool) -> Scene:
        """The run as the gate sees it in one call."""
        tools = desk.tools

        def polls(name: str) -> bool:
            tool = tools.get(name)
            return tool is not None and tool.polls

        return Scene(
            run=self.run,
            root=self.run,
            agent=agent,
            conversation=None,
            principal=principal,
            journal=self.journal,
            recorded={tool.name: tool.contract for tool in tools},
            admit=lambda name, digest: self.view.tally.admit(budget, name, digest, polls=polls(name)),
            may_ask=lambda: self.view.tally.may_ask(budget),
            take=self._taking(tools, budget),
            cancelled=self.view.cancelled,
            woken=self._bell,
            stable_calls=named,
        )

    def _taking(self, tools: Catalogue, budget: Budget) -> Callable[[Spent], Awaitable[str | None]]:
        """Where other agents may answer calls, they share the budget: then every call is taken from it in the ledger."""
        shares = any(tool.effect.kind == "agent" for tool in tools)

        async def take(amounts: Spent) -> str | None:
            if not shares:
                return None
            scope = f"run:{self.run}"
            lost = Spent() if self._exact else await uncounted(self._desk.ledger, self.run, self.view.taken)
            back = Spend(scope, Spent(calls=-lost.calls, approvals=-lost.approvals))
            try:
                await self.journal.commit(changes=(back, Spend(scope, amounts, admission_of(budget))))
            except BudgetExceeded as error:
                return error.code
            self._exact = True
            return None

        return take

    @contextlib.asynccontextmanager
    async def alone(self, call: CallId) -> AsyncGenerator[None]:
        """Wait until nobody else is at this call, and keep others from it."""
        while (running := self.running.get(call)) is not None:
            await asyncio.wait({running})
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.running[call] = done
        try:
            yield
        finally:
            del self.running[call]
            done.set_result(None)

    async def take_inbox(self, desk: Desk) -> bool:
        """Journal what others told this run; whether there was anything."""
        async with self._inbox:
            found = [one for one in await desk.ledger.inbox(self.run) if one.id > self.seen]
            for one in found:
                self.seen = one.id
                await self._take(desk, one)
            if found:
                await self.journal.flush()
                self._bell.ring()
            return bool(found)

    async def _take(self, desk: Desk, one: Delivered) -> None:
        match one.delivery:
            case Decision() as decision:
                row = await desk.ledger.approval(decision.approval)
                events: tuple[Event, ...] = ()
                if row is not None:
                    decided = ApprovalDecided(
                        approval=row.id,
                        call=row.call,
                        verdict=decision.verdict,
                        by=decision.by,
                        reason=desk.redaction.text(decision.reason),
                        edited=None if decision.edited is None else Arguments(decision.edited).digest,
                        answer=decision.answer,
                        trusted=decision.by == row.requester,
                    )
                    events = (decided,)
                self.journal.note(*events, taken=(one.id,))
            case CancelRun() as cancel:
                said = CancelRequested(by=cancel.by, reason=desk.redaction.text(cancel.reason))
                self.journal.note(said, taken=(one.id,))
            case ChildEnded():  # whoever makes the call again finds it so
                self.journal.note(taken=(one.id,))
            case _:
                scene = self.scene(desk, Principal("remit"), agent="", budget=Budget(), named=True)
                await deliver(desk, one, scene)
