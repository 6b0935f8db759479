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
from remit.ledger.session import Mark
from remit.ledger.sql import Database, execute, one, pragma
from remit.ledger.sqlite_session import SqliteSession
from remit.ledger.transact import Sessions, transact
from remit.ledger.transaction import Transaction, Work, run_together
from remit.ledger.turn import Turn
from remit.ledger.verify import verify
from remit.ledger.watch import Watch
from remit.types.connection import Connection
from remit.types.delivery import LateReport
from remit.types.head import Heads
from remit.types.ident import OwnerId, RunId
from remit.types.ledger import Append, Committed
from remit.types.stream import Delta

__all__ = ["MemoryLedger"]

T = TypeVar("T")

_log = logging.getLogger("remit.ledger")

_LOOK_S = 10.0


class _Store:
    """What ledgers on one store share."""

    def __init__(self) -> None:
        self.db = connect_memory()
        self.lock = threading.RLock()
        self.watch = Watch()
        self.living: set[OwnerId] = set()
        self.deltas = Deltas()
        self.turn = Turn()
        self.after: list[Callable[[], None]] = []

    async def _free(self) -> bool:
        return not self.turn.taken

    async def still(self) -> None:
        """Return when no handler has a transaction open."""
        while self.turn.taken:
            await self.watch.until(None, self._free, _LOOK_S)

    def over(self, give: Callable[[], None]) -> None:
        """A handler's transaction is over: what came meanwhile and waits for nobody is written now."""
        give()
        self.watch.rouse()
        with self.lock:
            after, self.after = self.after, []
        for write in after:
            write()

    def copy(self) -> apsw.Connection:
        """A store of its own, with what is in this one."""
        db = apsw.Connection(":memory:")
        with self.lock, db.backup("main", self.db, "main") as backup:
            backup.step()
        return db

    def kept(self, db: apsw.Connection, posted: set[RunId]) -> None:
        """Take in what a handler's transaction, on such a copy, has committed."""
        with self.lock, self.db.backup("main", db, "main") as backup:
            backup.step()
        self.watch.tell(posted)


class MemoryLedger(StoreLedger):
    """A ledger that forgets: for tests and demonstrations.

    Args:
        store: share that ledger's store, as a second process would.
    """

    def __init__(self, *, store: MemoryLedger | None = None) -> None:
        self._store = _Store() if store is None else store._store
        self._owner: OwnerId | None = None
        self._lock: MemoryLock | None = None
        self._sessions = Sessions(self._store.turn, self._session)

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
        await store.still()
        with store.lock:
            owner = OwnerId(ambient.new_id("owner"))
            while one(store.db, "SELECT 1 FROM remit_owner WHERE id = ?", owner):
                owner = OwnerId(ambient.new_id("owner"))
            execute(store.db, "INSERT INTO remit_owner (id, opened_ms) VALUES (?, ?)", (owner, ambient.now_ms()))
            self._owner, self._lock = owner, MemoryLock(store.living, owner)
            self._sessions = Sessions(store.turn, self._session)

    async def aclose(self) -> None:
        """Stop being an owner. The store stays for as long as a ledger refers to it."""
        self._let_go()
        self._owner = None
        self._store.watch.rouse()

    def abandon(self) -> None:
        """Let go of the lock as a crash would, without any clean-up: for tests."""
        self._let_go()

    async def transact(
        self, work: Callable[[Connection], T], outcome: Callable[[T], Append | None], *, timeout_s: float
    ) -> Committed | None:
        """Do the work in a transaction that `outcome` of it is then appended to: one commit of both."""
        self._now()
        return await transact(self._sessions.begin, work, outcome, timeout_s=timeout_s)

    def _session(self, over: Callable[[], None]) -> SqliteSession:
        """On a copy of the store, as readers of one in memory would see what is not committed."""
        store = self._store
        return SqliteSession(
            store.copy(), self._now(), self._alive, landed=_never, kept=store.kept, over=lambda: store.over(over)
        )

    def post_late(self, run: RunId, report: LateReport) -> None:
        """`post`, from any thread and without waiting; never raises. What cannot be written is logged."""
        with self._store.lock:
            if self._store.turn.taken:
                self._store.after.append(lambda: self.post_late(run, report))
                return
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

    async def verify(self, run: RunId | None = None, *, head: Heads | None = None) -> list[str]:
        """See `remit.ledger.verify`."""
        return await self._read(lambda db: verify(db, run, head))

    async def _scrub(self) -> bool:
        return True

    async def _size(self) -> int:
        db = self._store.db
        return int(pragma(db, "page_count") or 0) * int(pragma(db, "page_size") or 0)

    def _let_go(self) -> None:
        self._sessions.close()
        if self._lock is not None:
            self._lock.release()

    def _now(self) -> OwnerId:
        if self._owner is None:
            raise LedgerError("the ledger is not open; open it first", code="ledger.closed")
        return self._owner

    async def _write(self, work: Work[T]) -> T:
        owner = self._now()
        await asyncio.sleep(0)  # as with a file, others run meanwhile
        store = self._store
        while True:
            await store.still()
            with store.lock:
                if not store.turn.taken:
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

    async def _read(self, query: Callable[[Database], T]) -> T:
        self._now()
        try:
            with self._store.lock:
                return query(self._store.db)
        except apsw.Error as error:
            raise translate(error) from error

    def _living(self, db: Database) -> Callable[[OwnerId], bool]:
        del db
        return self._alive

    def _alive(self, owner: OwnerId) -> bool:
        return owner in self._store.living

    def _look(self) -> None:
        """Whoever writes to this store tells of it."""

    def _watch(self) -> Watch:
        self._now()
        return self._store.watch


def _never(mark: Mark) -> bool:
    """A copy of which a commit failed is gone."""
    del mark
    return False
