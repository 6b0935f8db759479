"""A host's run that this process keeps between its calls, from a first commit to a pause or its end.

Knows sessions; not who calls or why. Invariant: while it is held the run is this process's, what others tell
it is journaled here, and nothing is said of a call that is not durable.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field

from remit import ambient
from remit.errors import Conflict
from remit.gate.desk import Desk
from remit.gate.host.call import Sessions
from remit.gate.host.session import HostCall, HostJournal, Session, View
from remit.gate.reconsider import void_changed
from remit.gate.scene import Proposal
from remit.gate.tree import operations_of
from remit.tool import Arguments
from remit.types.budget import Budget
from remit.types.change import Create
from remit.types.event import (
    ApprovalDecided,
    CallConsidered,
    CallEnded,
    Event,
    Recorded,
    Resumed,
    RunEnded,
    RunStarted,
    UndoBegun,
    Waiting,
)
from remit.types.ident import ApprovalId, CallId, Digest, OperationId, RunId
from remit.types.label import TRUSTED, Label
from remit.types.outcome import Awaiting, Outcome
from remit.types.principal import Principal
from remit.types.run import RunRow

__all__ = ["Held", "HeldView"]

_LOOK_S = 30.0
"""How long one look at the inbox lasts; another follows it."""


@dataclass(slots=True)
class HeldView(View):
    """The fold of a run that is held.

    Attributes:
        answers: how each call ended, in order.
        edited: the calls of which an approver said yes to other arguments.
        undoing: what is to be taken back, once that has begun.
    """

    answers: dict[CallId, CallEnded] = field(default_factory=dict[CallId, CallEnded])
    edited: set[CallId] = field(default_factory=set[CallId])
    undoing: UndoBegun | None = None

    def fold(self, recorded: Recorded) -> None:
        """Add one event."""
        View.fold(self, recorded)
        event = recorded.event
        match event:
            case CallEnded():
                self.answers.setdefault(event.call, event)
            case ApprovalDecided() if event.edited is not None and event.edited != self._asked(event.call):
                self.edited.add(event.call)
            case UndoBegun():
                self.undoing = event
            case _:
                return

    def _asked(self, call: CallId) -> Digest | None:
        known = self.calls.get(call)
        return None if known is None or known.arguments is None else Arguments(known.arguments).digest


class Held:
    """One run that is held.

    Args:
        on_event: told of each event that is folded from now on.
    """

    def __init__(
        self, sessions: Sessions, desk: Desk, run: RunId, principal: Principal, *, on_event: Callable[[Recorded], None]
    ) -> None:
        self.run = run
        self.principal = principal
        self.view = HeldView()
        self._sessions = sessions
        self._desk = desk
        self._on_event = on_event
        self._session: Session | None = None
        self._ear = asyncio.Lock()
        self._gone = False

    @property
    def _here(self) -> Session:
        assert self._session is not None, "begin or take up first"
        return self._session

    @property
    def started(self) -> RunStarted:
        """The first event of a run of this gate."""
        return self._sessions.started(self.run, self.principal)

    async def begin(self, started: RunStarted, create: Create) -> None:
        """Make the run, durably.

        Raises:
            Conflict: another run has its request id (`request.exists`).
        """
        session = self._open(None)
        session.journal.create = create
        await session.journal.commit(started)

    async def take_up(self, row: RunRow, recorded: Sequence[Recorded], resumed: Resumed) -> None:
        """Claim a run that nobody alive owns, where its journal ends.

        Raises:
            RunOwned: somebody alive owns it.
        """
        for one in recorded:
            self.view.fold(one)
        session = self._open(row)
        await session.journal.commit(resumed)
        await self.hear()
        await void_changed(self._desk, session.scene(self._desk, self.principal, agent=row.agent, budget=Budget(), named=True))

    def _open(self, row: RunRow | None) -> Session:
        journal = HostJournal(self._desk.ledger, self.run, self._fold, row=row)
        session = self._session = Session(self._desk, self.run, journal, self.view)
        session.in_flight = 2  # one more than any call: no call is the last one, so none lets go of the run
        return session

    def _fold(self, recorded: Recorded) -> None:
        self.view.fold(recorded)
        self._on_event(recorded)

    # calls

    async def call(self, call: CallId, tool: str, arguments: str, *, label: Label, budget: Budget) -> Outcome | Awaiting:
        """The call's outcome, durable, made once however often it is asked for; or what it waits for.

        Args:
            label: of what chose it; of a call that was made before, what was said then stands.

        Raises:
            Conflict: `call.changed`: another call was made under this id; nothing runs.
        """
        known = self.view.calls.get(call)
        if known is not None:
            self._need_same(call, known, tool, arguments)
            if known.outcome is not None:
                return known.outcome
            label = known.label
        proposal = Proposal(call, tool, arguments, label)
        return await self._sessions.answer(self._here, proposal, self.principal, budget)

    def _need_same(self, call: CallId, known: HostCall, tool: str, arguments: str) -> None:
        if known.tool != tool or not known.says(arguments, self._desk.tools.get(tool)):
            raise Conflict("another call was made under this id", code="call.changed", run=self.run, call=call)

    async def answer(self, call: CallId, tool: str, outcome: Outcome, *, label: Label, detail: str | None = None) -> None:
        """Record how a step ended that no tool makes, under the name of one."""
        considered = CallConsidered(
            call=call,
            tool=tool,
            effect=None,
            contract=None,
            arguments=None,
            digest=None,
            verdict="settled",
            step=tool,
            code="succeeded" if outcome.kind == "succeeded" else outcome.code,
            label=label,
        )
        ended = CallEnded(call=call, tool=tool, outcome=outcome, label=TRUSTED, changed=False, detail=detail)
        await self._here.journal.commit(considered, ended)

    def over(self, budget: Budget) -> str | None:
        """Why no new call may begin: `budget.seconds`, `budget.deadline`, or one of a model's."""
        now_ms = self._here.journal.now_ms()
        return self.view.tally.may_request(budget, now_ms=now_ms, reserve_tokens=0, reserve_usd_micros=0)

    async def stop(self, *, but: Collection[CallId] = ()) -> None:
        """Answer what is open, but for these: what was dispatched is asked about, all else does not start."""
        await self._sessions.stop(self._here, self.principal, but=but)
        await self._here.journal.flush()

    async def unsure(self) -> tuple[OperationId, ...]:
        """Operations of the run, and of those below it, that may have happened, or may still."""
        return await self._sessions.unsure(self._here)

    async def unsure_below(self, call: CallId) -> bool:
        """Whether the run that answered a call has operations, its own or further down, that may have happened."""
        child = self.view.calls[call].child
        return child is not None and bool(await operations_of(self._desk.ledger, child, state=("dispatched", "unknown")))

    # others, and letting go

    async def listen(self) -> None:
        """Journal what others tell the run, until cancelled."""
        session = self._here
        while True:
            if await self._desk.ledger.wait_inbox(self.run, after=session.seen, timeout_s=_LOOK_S):
                await self.hear()

    async def hear(self) -> None:
        """Journal what others have told the run by now, unless it was let go."""
        async with self._ear:
            if not self._gone:
                await self._here.take_inbox(self._desk)

    async def record(self, *events: Event) -> None:
        """Make events durable."""
        await self._here.journal.commit(*events)

    async def pause(self, approvals: tuple[ApprovalId, ...]) -> bool:
        """Let go of the run until people decide; False, and nothing is done, if something was decided by now."""
        async with self._ear:
            await self._here.take_inbox(self._desk)
            rows = [await self._desk.ledger.approval(one) for one in approvals]
            if self.view.cancelled.is_set() or any(row is None or row.state != "pending" for row in rows):
                return False
            expiries = [row.expires_ms for row in rows if row is not None and row.expires_ms is not None]
            ambient.reach("run.waiting")
            waiting = Waiting(approvals=approvals)
            expires_ms = min(expiries, default=None)
            await self._here.journal.commit(waiting, status="paused", release=True, expires_ms=expires_ms)
            self._gone = True
            return True

    async def end(self, ended: RunEnded) -> None:
        """Record the end, and let go of the run. What is still open has been stopped."""
        async with self._ear:
            ambient.reach("run.ended")
            await self._here.journal.commit(ended, status="ended", release=True)
            self._gone = True

    async def close(self) -> None:
        """After an error: what is known is recorded, unless the run is somebody else's; then handlers' reports are posted."""
        await asyncio.shield(self._here.journal.close(released=not self._here.journal.owned))
