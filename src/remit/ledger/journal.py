"""One run's pen: the owner's way to append to it.

Knows where the run stands (epoch, sequence) and what is noted and not yet durable. It does not know
what the events mean. Invariant: events are folded in the order of their sequence numbers, and an
outcome that can no longer be appended is posted as a late report, never dropped.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from remit import ambient
from remit.errors import Conflict, RunOwned
from remit.types.change import Change, ConsumeApproval, Create, MoveOperation, VoidApproval
from remit.types.connection import Connection
from remit.types.delivery import LateReport
from remit.types.event import Event, OperationMoved, Recorded
from remit.types.ident import RunId
from remit.types.ledger import Append, Committed, Ledger, Stamped
from remit.types.outcome import Failed, Succeeded
from remit.types.run import RunStatus

__all__ = ["Journal"]

T = TypeVar("T")

Fold = Callable[[Recorded], None]

_MUCH = 512
"""Events; a turn has so many only where its reply has hundreds of calls."""


@dataclass(slots=True)
class _Page:
    """What is noted and not yet durable."""

    events: list[Stamped] = field(default_factory=list[Stamped])
    changes: list[Change] = field(default_factory=list[Change])
    taken: list[int] = field(default_factory=list[int])


class Journal:
    """The events of a run that this process owns, or is about to own.

    Args:
        fold: called once for every event, in order; when it is noted, or once its commit is durable.
        epoch, sequence: as the ledger's row has them; 0 for a run that is yet to be created.
        last_ms: when the run's last event happened.
    """

    def __init__(self, ledger: Ledger, run: RunId, fold: Fold, *, epoch: int = 0, sequence: int = 0, last_ms: int = 0) -> None:
        self.ledger = ledger
        self.run = run
        self.epoch = epoch
        self.sequence = sequence
        self._fold = fold
        self._last_ms = last_ms
        self._last_s = ambient.monotonic_s()
        self._page = _Page()
        self._later: list[tuple[tuple[Event, ...], tuple[Change, ...], tuple[int, ...]]] = []
        self._lock = asyncio.Lock()
        self._under_way = 0
        self._commits = 0
        self._lost = False
        self._unfolded: deque[Recorded] = deque()
        self._folding = False

    @property
    def busy(self) -> bool:
        """Whether a commit is under way; what is noted meanwhile is not folded yet."""
        return self._under_way > 0

    async def idle(self) -> None:
        """Return once no commit is under way, and all that was noted is folded."""
        while self.busy:
            async with self._lock:
                pass
            await asyncio.sleep(0)

    async def current(self, read: Callable[[], Awaitable[T]]) -> T:
        """What `read` finds in the rows of this run's operations and approvals, once they are as the noted events say.

        Until the caller awaits again, nobody moves an operation of the run; people may decide at any time.
        """
        while True:
            await self.idle()
            if self._moves():
                await self.flush()
            commits = self._commits
            found = await read()
            if self._commits == commits and not self.busy and not self._moves():
                return found

    def _moves(self) -> bool:
        return any(isinstance(change, MoveOperation | VoidApproval | ConsumeApproval) for change in self._page.changes)

    async def close(self, *, released: bool) -> None:
        """Leave nothing noted behind: make it durable or, of a run that is released, hand over what handlers did.

        Whatever is noted afterwards is handed over as well.

        Raises:
            RunOwned, LedgerError: as `commit`.
        """
        await self.idle()
        try:
            if not released and not self._lost:
                await self.flush()
        finally:
            self._hand_over((), lost=True)

    @property
    def pending(self) -> bool:
        """Whether something is noted that is not yet durable."""
        return bool(self._page.events or self._page.changes or self._page.taken or self._later)

    @property
    def noted(self) -> tuple[Event, ...]:
        """What is noted and not yet durable."""
        return (*(one.event for one in self._page.events), *(event for events, _, _ in self._later for event in events))

    def now_ms(self) -> int:
        """Store time: the clock's, and never earlier than the run's last event and what has passed since then.

        For expiry, windows and `not_after`: a clock that was put back neither reopens nor prolongs them.
        """
        passed_ms = int((ambient.monotonic_s() - self._last_s) * 1000)
        return max(ambient.now_ms(), self._last_ms + passed_ms)

    def note(self, *events: Event, changes: tuple[Change, ...] = (), taken: tuple[int, ...] = ()) -> None:
        """Append with the next commit, whoever makes it. The changes must be such as cannot be refused to the owner.

        While a commit is under way it is folded after that commit's events. Once the run is somebody else's, only
        what handlers did is kept: as late reports.
        """
        if self._lost:
            self._report_late(events)
            return
        if self._lock.locked():
            self._later.append((events, changes, taken))
            return
        page = self._page
        page.changes += changes
        page.taken += taken
        if events:
            self._seen(ambient.now_ms())
            at_ms, sequence = self._last_ms, self.sequence + len(page.events)
            page.events += [Stamped(at_ms, event) for event in events]
            self._fold_all([Recorded(self.run, sequence, at_ms, event) for sequence, event in enumerate(events, sequence + 1)])

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
        """Make what is noted, and then these, durable in one transaction.

        Not interrupted by cancellation of the caller.

        Raises:
            KeyTaken, BudgetExceeded, Conflict: refused; these are forgotten, and what was noted stays noted.
            RunOwned: the run is somebody else's (so also `Conflict` with code `journal.sequence`): the outcomes of
                dispatched operations are posted as late reports, and the rest is forgotten.
            LedgerError: it is not durable; what was noted stays noted.
        """

        def build() -> Append:
            return Append(
                run=self.run,
                events=(*self._page.events, *self._stamp(events)),
                epoch=self.epoch,
                sequence=self.sequence,
                create=create,
                claim=claim,
                changes=(*self._page.changes, *changes),
                taken=(*self._page.taken, *taken),
                status=status,
                release=release,
                expires_ms=expires_ms,
            )

        await self._write(lambda: self.ledger.commit(build()), events, own=not claim and create is None)

    async def transact(
        self,
        work: Callable[[Connection], T],
        outcome: Callable[[T], tuple[tuple[Event, ...], tuple[Change, ...]] | None],
        *,
        timeout_s: float,
    ) -> None:
        """Do the work in a transaction, and make it, what is noted, and then `outcome` of it durable in that one.

        Not interrupted by cancellation of the caller. Nothing else of the run is made durable meanwhile.

        Args:
            outcome: events and changes; None: the work is rolled back, and what is noted stays noted.

        Raises:
            TimeoutError, LedgerError: as `Ledger.transact`; what was noted stays noted.
            RunOwned, Conflict: as `commit`; and the work is rolled back, so it is in no late report.
        """

        def told(value: T) -> Append | None:
            found = outcome(value)
            if found is None:
                return None
            events, changes = found
            return Append(
                run=self.run,
                events=(*self._page.events, *self._stamp(events)),
                epoch=self.epoch,
                sequence=self.sequence,
                changes=(*self._page.changes, *changes),
                taken=tuple(self._page.taken),
            )

        await self._write(lambda: self.ledger.transact(work, told, timeout_s=timeout_s), (), own=True)

    async def _write(self, write: Callable[[], Awaitable[Committed | None]], fresh: tuple[Event, ...], *, own: bool) -> None:
        self._under_way += 1
        self._commits += 1
        loop = asyncio.get_running_loop()
        over: asyncio.Future[None] = loop.create_future()
        work = loop.create_task(self._commit(write, fresh, over, own=own))
        try:
            await over
        except asyncio.CancelledError:
            work.add_done_callback(_heard)
            raise
        work.result()

    async def ease(self) -> None:
        """Make what is noted durable, if it is much: one commit of all of it would keep everything else waiting."""
        if len(self._page.events) >= _MUCH:
            await self.commit()

    async def flush(self) -> None:
        """Make what is noted durable, if anything is."""
        if self.pending:
            await self.commit()

    async def _commit(
        self,
        write: Callable[[], Awaitable[Committed | None]],
        fresh: tuple[Event, ...],
        over: asyncio.Future[None],
        *,
        own: bool,
    ) -> None:
        """As `commit`; ends as soon as `over` says so, whether or not somebody still waits for it."""
        try:
            async with self._lock:
                noted = len(self._page.events)
                done = await write()
                if done is None:
                    return
                self.epoch, self.sequence = done.epoch, done.sequence
                self._page = _Page()
                if done.recorded:
                    self._seen(done.recorded[-1].at_ms)
                self._fold_all(done.recorded[noted:])
        except RunOwned:
            self._hand_over(fresh, lost=own)
            raise
        except Conflict as error:
            if error.code == "journal.sequence":
                self._hand_over(fresh, lost=own)
            raise
        finally:
            self._under_way -= 1
            self._take_up_later()
            if not over.done():
                over.set_result(None)

    def _take_up_later(self) -> None:
        """Note what was said while a commit was under way."""
        later, self._later = self._later, []
        for events, changes, taken in later:
            self.note(*events, changes=changes, taken=taken)

    def _stamp(self, events: tuple[Event, ...]) -> list[Stamped]:
        if not events:
            return []
        self._seen(ambient.now_ms())
        return [Stamped(self._last_ms, event) for event in events]

    def _seen(self, at_ms: int) -> None:
        """Something happened then."""
        if at_ms > self._last_ms:
            self._last_ms, self._last_s = at_ms, ambient.monotonic_s()

    def _fold_all(self, recorded: Sequence[Recorded]) -> None:
        """Fold in order, also where a fold notes more."""
        self._unfolded += recorded
        if self._folding:
            return
        self._folding = True
        try:
            while self._unfolded:
                self._fold(self._unfolded.popleft())
        finally:
            self._folding = False

    def _hand_over(self, fresh: tuple[Event, ...], *, lost: bool) -> None:
        """The run is somebody else's now: what our handlers did goes to its inbox, the rest is forgotten."""
        self._lost = self._lost or lost
        page, self._page = self._page, _Page()
        self._report_late((*(one.event for one in page.events), *fresh))

    def _report_late(self, events: Sequence[Event]) -> None:
        for event in events:
            if isinstance(event, OperationMoved) and isinstance(event.outcome, Succeeded | Failed):
                report = LateReport(operation=event.operation, attempt=event.attempt, outcome=event.outcome)
                self.ledger.post_late(self.run, report)


def _heard(work: asyncio.Task[None]) -> None:
    """Its error is no news to anybody where its caller was cancelled meanwhile."""
    if not work.cancelled():
        work.exception()
