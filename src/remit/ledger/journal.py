"""One run's pen: the owner's way to append to it.

Knows where the run stands (epoch, sequence) and what is noted and not yet durable. It does not know
what the events mean. Invariant: events are folded in the order of their sequence numbers, and an
outcome that can no longer be appended is posted as a late report, never dropped.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from remit import ambient
from remit.errors import RunOwned
from remit.types.event import Event, OperationMoved, Recorded
from remit.types.ident import RunId
from remit.types.ledger import Append, Change, Create, LateReport, Ledger, Stamped
from remit.types.run import RunStatus

__all__ = ["Journal"]

Fold = Callable[[Recorded], None]


class Journal:
    """The events of a run that this process owns, or is about to own.

    Args:
        fold: called once for every event, in order; when it is noted, or once its commit is durable.
        epoch, sequence: as the ledger's row has them; 0 for a run that is yet to be created.
    """

    def __init__(self, ledger: Ledger, run: RunId, fold: Fold, *, epoch: int = 0, sequence: int = 0, last_ms: int = 0) -> None:
        self.ledger = ledger
        self.run = run
        self.epoch = epoch
        self.sequence = sequence
        self._fold = fold
        self._last_ms = last_ms
        self._events: list[Stamped] = []
        self._changes: list[Change] = []
        self._taken: list[int] = []
        self._later: list[tuple[tuple[Event, ...], tuple[Change, ...], tuple[int, ...]]] = []
        self._lock = asyncio.Lock()

    @property
    def pending(self) -> bool:
        """Whether something is noted that is not yet durable."""
        return bool(self._events or self._changes or self._taken or self._later)

    def note(self, *events: Event, changes: tuple[Change, ...] = (), taken: tuple[int, ...] = ()) -> None:
        """Append with the next commit, whoever makes it. The changes must be such as cannot be refused to the owner."""
        if self._lock.locked():
            self._later.append((events, changes, taken))
            return
        stamped = self._stamp(events)
        first = self.sequence + len(self._events) + 1
        self._events += stamped
        self._changes += changes
        self._taken += taken
        for offset, one in enumerate(stamped):
            self._fold(Recorded(self.run, first + offset, one.at_ms, one.event))

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

        If it is refused (`KeyTaken`, `BudgetExceeded`, `Conflict`) these are forgotten and what was noted stays noted.
        Not interrupted by cancellation of the caller.
        """

        def build(noted: list[Stamped]) -> Append:
            return Append(
                run=self.run,
                events=(*noted, *self._stamp(events)),
                epoch=self.epoch,
                sequence=self.sequence,
                create=create,
                claim=claim,
                changes=(*self._changes, *changes),
                taken=(*self._taken, *taken),
                status=status,
                release=release,
                expires_ms=expires_ms,
            )

        await asyncio.shield(asyncio.ensure_future(self._commit(build, len(events))))

    async def flush(self) -> None:
        """Make what is noted durable, if anything is."""
        if self.pending:
            await self.commit()

    async def _commit(self, build: Callable[[list[Stamped]], Append], fresh: int) -> None:
        try:
            async with self._lock:
                noted = len(self._events)
                done = await self.ledger.commit(build(list(self._events)))
                self.epoch, self.sequence = done.epoch, done.sequence
                self._forget()
                for one in done.recorded[noted : noted + fresh]:
                    self._last_ms = max(self._last_ms, one.at_ms)
                    self._fold(one)
        except RunOwned:
            self._take_up_later()
            self._hand_over()
            raise
        finally:
            self._take_up_later()

    def _take_up_later(self) -> None:
        """Note what was said while a commit was under way."""
        later, self._later = self._later, []
        for events, changes, taken in later:
            self.note(*events, changes=changes, taken=taken)

    def _forget(self) -> None:
        self._events.clear()
        self._changes.clear()
        self._taken.clear()

    def _stamp(self, events: tuple[Event, ...]) -> list[Stamped]:
        stamped: list[Stamped] = []
        for event in events:
            self._last_ms = max(self._last_ms, ambient.now_ms())
            stamped.append(Stamped(self._last_ms, event))
        return stamped

    def _hand_over(self) -> None:
        """The run is somebody else's now: what our handlers did goes to its inbox."""
        for one in self._events:
            event = one.event
            if isinstance(event, OperationMoved) and event.outcome is not None:
                report = LateReport(operation=event.operation, attempt=event.attempt, outcome=event.outcome)
                self.ledger.post_late(self.run, report)
        self._forget()
