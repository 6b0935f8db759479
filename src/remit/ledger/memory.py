"""A ledger in this process's memory: the same tables and the same law, and nothing that outlives it.

Knows no file and no thread: every method runs in the caller's thread under one lock. Invariant: as
for a file, an owner is alive until its ledger is closed or abandoned.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable, Sequence
from typing import TypeVar

import apsw

from remit import ambient
from remit.errors import LedgerError, RemitError
from remit.ledger import post
from remit.ledger.delta import Deltas
from remit.ledger.facade import StoreLedger
from remit.ledger.lock import MemoryLock
from remit.ledger.schema import connect_memory, translate
from remit.ledger.sql import execute, one
from remit.ledger.transaction import Transaction, Work, run_together
from remit.ledger.verify import verify
from remit.ledger.watch import Watch
from remit.types.delivery import LateReport
from remit.types.ident import OwnerId, RunId
from remit.types.stream import Delta

__all__ = ["MemoryLedger"]

T = TypeVar("T")

_log = logging.getLogger("remit.ledger")


class _Store:
    """What ledgers on one store share."""

    def __init__(self) -> None:
        self.db = connect_memory()
        self.lock = threading.RLock()
        self.watch = Watch()
        self.living: set[OwnerId] = set()
        self.deltas = Deltas()


class MemoryLedger(StoreLedger):
    """A ledger that forgets: for tests and demonstrations.

    Args:
        store: share that ledger's store, as a second process would.
    """

    def __init__(self, *, store: MemoryLedger | None = None) -> None:
        self._store = _Store() if store is None else store._store
        self._owner: OwnerId | None = None
        self._lock: MemoryLock | None = None

    @property
    def durable(self) -> bool:
        """False: it is gone with the process."""
        return False

    @property
    def owner(self) -> OwnerId:
        """This ledger's name in its store, while it is open."""
        return self._now()

    async def open(self) -> None:
        """Become an owner. Opening an open ledger does nothing."""
        if self._owner is not None:
            return
        store = self._store
        with store.lock:
            owner = OwnerId(ambient.new_id("owner"))
            while one(store.db, "SELECT 1 FROM remit_owner WHERE id = ?", owner):
                owner = OwnerId(ambient.new_id("owner"))
            execute(store.db, "INSERT INTO remit_owner (id, opened_ms) VALUES (?, ?)", (owner, ambient.now_ms()))
            self._owner, self._lock = owner, MemoryLock(store.living, owner)

    async def aclose(self) -> None:
        """Stop being an owner. The store stays for as long as a ledger refers to it."""
        self._let_go()
        self._owner = None
        self._store.watch.rouse()

    def abandon(self) -> None:
        """Let go of the lock as a crash would, without any clean-up: for tests."""
        self._let_go()

    def post_late(self, run: RunId, report: LateReport) -> None:
        """`post`, from any thread and without waiting; never raises. What cannot be written is logged."""
        try:
            self._do(OwnerId(""), lambda tx: post.post(tx, run, report))
        except (RemitError, apsw.Error, ValueError, TypeError) as error:
            _log.error("a late report of operation %s could not be written: %s", report.operation, error)

    def publish_deltas(self, deltas: Sequence[Delta]) -> None:
        """Let followers hear these deltas; never raises."""
        if self._owner is not None and self._store.deltas.add(deltas, self._owner):
            self._store.watch.tell(())

    async def deltas(self, run: RunId, *, after: int, index: int = 0) -> list[Delta]:
        """The published deltas of the attempt that answers event `after`, from `index` on."""
        self._now()
        return self._store.deltas.of(run, after, index) or []

    def drop_deltas(self, run: RunId) -> None:
        """Forget the run's deltas. Never raises."""
        if self._owner is not None:
            self._store.deltas.drop(run, self._owner, self._alive)

    async def verify(self, run: RunId | None = None) -> list[str]:
        """See `remit.ledger.verify`."""
        return self._read(lambda db: verify(db, run))

    def _let_go(self) -> None:
        if self._lock is not None:
            self._lock.release()

    def _now(self) -> OwnerId:
        if self._owner is None:
            raise LedgerError("the ledger is not open; open it first", code="ledger.closed")
        return self._owner

    async def _write(self, work: Work[T]) -> T:
        owner = self._now()
        await asyncio.sleep(0)  # as with a file, others run meanwhile
        return self._do(owner, work)

    def _do(self, owner: OwnerId, work: Work[T]) -> T:
        store = self._store
        with store.lock:
            tx = Transaction(store.db, owner, self._alive)
            execute(store.db, "BEGIN")
            try:
                (answer,) = run_together(tx, [work])
            except BaseException:
                execute(store.db, "ROLLBACK")
                raise
            execute(store.db, "ROLLBACK" if answer.error else "COMMIT")
        if answer.error is not None:
            raise answer.error
        store.watch.tell(tx.posted)
        return answer.value  # pyright: ignore[reportReturnType]

    def _read(self, query: Callable[[apsw.Connection], T]) -> T:
        self._now()
        try:
            with self._store.lock:
                return query(self._store.db)
        except apsw.Error as error:
            raise translate(error) from error

    def _alive(self, owner: OwnerId) -> bool:
        return owner in self._store.living

    def _look(self) -> None:
        """Whoever writes to this store tells of it."""

    def _watch(self) -> Watch:
        self._now()
        return self._store.watch
