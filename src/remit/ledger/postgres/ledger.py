"""The ledger itself: an owner's session, its writer, its readers, and whom it tells.

Knows how these belong together; the law is elsewhere. Invariant: while the owner's session lives, the
runs that name this owner are ours; once it is lost, nothing is written or read here any more.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeVar

from remit import ambient
from remit.errors import LedgerError, RemitError
from remit.ledger import post
from remit.ledger.delta import Deltas
from remit.ledger.facade import StoreLedger
from remit.ledger.postgres.connect import Place, connect, place_of, refuse_pooler
from remit.ledger.postgres.database import Again, Gone, PostgresDatabase, translate
from remit.ledger.postgres.owner import OwnerSession, alive_in, lost
from remit.ledger.postgres.reader import Readers
from remit.ledger.postgres.schema import migrate, version_of
from remit.ledger.postgres.scrub import scrub, size
from remit.ledger.postgres.session import PostgresSession
from remit.ledger.postgres.teller import Teller, read_deltas
from remit.ledger.postgres.transaction import Beginning, Begun
from remit.ledger.postgres.writer import PostgresWriter, landed
from remit.ledger.session import Mark
from remit.ledger.sql import Database, execute
from remit.ledger.transact import transact
from remit.ledger.transaction import Transaction, Work
from remit.ledger.verify import verify
from remit.ledger.watch import Watch
from remit.types.connection import Connection
from remit.types.delivery import LateReport
from remit.types.head import Heads
from remit.types.ident import OwnerId, RunId
from remit.types.ledger import Append, Committed
from remit.types.stream import Delta

__all__ = ["PostgresLedger"]

T = TypeVar("T")

_log = logging.getLogger("remit.ledger")

_READERS = 4
"""Questions that are asked at the same time by one ledger."""
_GRACE_S = 5.0
"""After its deadline a handler's transaction is ended here; the server ends it so much later, in case that nobody is."""


class _Opened:
    """What an open ledger holds, from its lock to its threads."""

    def __init__(self, place: Place, now_ms: int, *, create: bool) -> None:
        self.pid = os.getpid()
        self.place = place
        self.handlers: set[PostgresSession] = set()
        self.watch = Watch()
        self.deltas = Deltas()
        session = connect(place, "owner")
        try:
            refuse_pooler(session, place)
            version_of(session, place, create=create)
            migrate(session, place, now_ms)
            self.session = OwnerSession(session, place, now_ms, self.watch.tell)
        except BaseException as error:
            session.close()
            if isinstance(error, Gone | Again):
                raise translate(error, place.name) from error
            raise
        self.owner = self.session.owner
        self.beginning = Beginning(place, self.owner)
        self.readers = Readers(partial(connect, place, "reader"), _READERS)
        self.teller = Teller(partial(connect, place, "teller"), self.owner)
        self.writer = PostgresWriter(partial(connect, place, "writer"), self.beginning, owner=self.owner, told=self.told)

    def session_for(self, role: str | None, timeout_s: float) -> PostgresSession:
        """The next transaction of a handler."""
        session = PostgresSession(
            connect(self.place, "handler"),
            self.beginning,
            self.owner,
            role=role,
            idle_s=timeout_s + _GRACE_S,
            kept=self.kept,
            landed=self.landed,
            over=self.handlers.discard,
        )
        self.handlers.add(session)
        return session

    def kept(self, posted: set[RunId]) -> None:
        """A handler's transaction was committed."""
        self.writer.commits += 1
        self.told(posted)

    def landed(self, mark: Mark | None, begun: Begun) -> bool:
        """Whether a transaction whose answer was lost is in the store."""
        db = connect(self.place, "reader")
        try:
            return landed(db, mark, begun)
        finally:
            db.close()

    def told(self, posted: set[RunId]) -> None:
        """Something was committed here."""
        self.watch.tell(posted)
        self.teller.tell(posted)

    def close(self) -> None:
        """Roll back what handlers have open, write what is queued, end the threads, let go. Blocks."""
        for handler in list(self.handlers):
            handler.expire()
        self.writer.close()
        self.teller.close()
        self.watch.close()
        self.readers.close()
        self.session.close()


class PostgresLedger(StoreLedger):
    """A ledger in a schema of a PostgreSQL database (14 or newer, in UTF8), which is made if it does not exist.

    A process may open the same ledger several times; each is an owner of its own, with a session that keeps its lock:
    where that session ends (the server restarts, the network is gone), so does the owner, and `ledger.unavailable` is
    raised until the ledger is closed and opened again. Not usable in a forked child: open another there.

    Args:
        url: as libpq takes it, `postgresql://user@host/database`; several hosts are allowed, and the one that can be
            written is taken. A pooler in transaction mode is refused (`ledger.pooler`).
        schema: where the tables are, for the ledger alone; default: what the address says (`?schema=`), else `remit`.
        create: whether `open` may make the schema; if not, a database without one is left as it is (`ledger.none`).
        handler_role: a role of the database, granted to this login, in which transactional handlers' statements run: what
            it may not do, the server refuses.
    """

    def __init__(self, url: str, *, schema: str | None = None, create: bool = True, handler_role: str | None = None) -> None:
        self._place = place_of(url, schema)
        self._role = handler_role
        self._create = create
        self._opened: _Opened | None = None

    @property
    def durable(self) -> bool:
        """True: what is committed is on the server's disk."""
        return True

    @property
    def owner(self) -> OwnerId:
        """This ledger's name in the database, while it is open."""
        return self._now().owner

    @property
    def commits(self) -> int:
        """How many transactions this ledger has brought to the disk since it was opened."""
        return self._now().writer.commits

    async def open(self) -> None:
        """Make or migrate the tables and take this owner's lock. Opening an open ledger does nothing.

        Raises:
            LedgerError: the database cannot be used; the message says why and what to do (`ledger.newer`,
                `ledger.foreign`, `ledger.none`, `ledger.unfit`, `ledger.pooler`, `ledger.full`, `ledger.unavailable`).
        """
        if self._opened is None:
            now_ms = ambient.now_ms()
            self._opened = await asyncio.to_thread(lambda: _Opened(self._place, now_ms, create=self._create))

    async def aclose(self) -> None:
        """Write what is queued, then let go of the sessions and the lock. Runs that are not done stay as they are."""
        opened, self._opened = self._opened, None
        if opened is not None:
            await asyncio.to_thread(opened.close)

    def abandon(self) -> None:
        """Let go of the lock as a crash would, without any clean-up: for tests."""
        self._now().session.close()

    async def transact(
        self, work: Callable[[Connection], T], outcome: Callable[[T], Append | None], *, timeout_s: float
    ) -> Committed | None:
        """Do the work in a transaction of its own that `outcome` of it is then appended to: one commit of both.

        Others write meanwhile: it is at READ COMMITTED, and takes what locks it needs. It runs in `handler_role`, if there
        is one; the ledger's own tables are not in its path, and if it has touched one, it is rolled back
        (`transaction.rolled_back`). After an error of the database nothing more of it counts.
        """
        opened = self._now()
        return await transact(partial(opened.session_for, self._role, timeout_s), work, outcome, timeout_s=timeout_s)

    def post_late(self, run: RunId, report: LateReport) -> None:
        """`post`, from any thread and without waiting; never raises. What cannot be written is logged."""
        what = f"a late report of operation {report.operation}"
        opened = self._opened
        ours = opened is not None and opened.pid == os.getpid() and not opened.session.lost
        if opened and ours and opened.writer.write_late(lambda tx: post.post(tx, run, report), what=what):
            return
        try:
            self._post_closed(run, report)
        except (Gone, Again, RemitError, OSError, ValueError, TypeError) as error:
            _log.error("%s could not be written: %s", what, error)

    def publish_deltas(self, deltas: Sequence[Delta]) -> None:
        """Let followers hear these deltas: here at once, in other processes a moment later; never raises."""
        opened = self._opened
        if opened is not None and opened.pid == os.getpid() and (added := opened.deltas.add(deltas, opened.owner)):
            opened.teller.write(added)
            opened.watch.tell(())

    async def deltas(self, run: RunId, *, after: int, index: int = 0) -> list[Delta]:
        """The published deltas of the attempt that answers event `after`, from `index` on."""
        opened = self._now()
        ours = opened.deltas.of(run, after, index)
        if ours is not None:
            return ours
        return await self._read(lambda db: read_deltas(_served(db), run, after, index, but=opened.owner))

    def drop_deltas(self, run: RunId) -> None:
        """Forget the run's deltas. Never raises."""
        opened = self._opened
        if opened is not None and opened.pid == os.getpid():
            opened.deltas.drop(run, opened.owner, lambda owner: owner != opened.owner)
            opened.teller.drop(run)

    async def verify(self, run: RunId | None = None, *, head: Heads | None = None) -> list[str]:
        """See `remit.ledger.verify`; in a thread, and as of one moment."""
        return await self._read(lambda db: verify(db, run, head))

    async def _scrub(self) -> bool:
        """Rows that are gone are given back, and written over, in the server's own time."""
        return await asyncio.to_thread(scrub, self._place)

    async def _size(self) -> int:
        return await self._read(lambda db: size(_served(db)))

    def _now(self) -> _Opened:
        opened = self._opened
        if opened is None:
            raise LedgerError("the ledger is not open; open it first", code="ledger.closed")
        if opened.pid != os.getpid():
            raise LedgerError("a forked process cannot use its parent's ledger; open another", code="ledger.forked")
        if opened.session.lost:
            raise lost()
        return opened

    def _post_closed(self, run: RunId, report: LateReport) -> None:
        """Through a session of its own: the process goes on after the ledger was closed, or its owner was lost."""
        db = connect(self._place, "late")
        try:
            tx = Transaction(db, OwnerId(""), lambda _: False)
            version_of(db, self._place, create=False)
            execute(db, "BEGIN")
            post.post(tx, run, report)
            execute(db, "COMMIT")
        finally:
            db.close()

    async def _write(self, work: Work[T]) -> T:
        return await self._now().writer.write(work)

    async def _read(self, query: Callable[[Database], T]) -> T:
        return await self._now().readers.ask(query)

    def _living(self, db: Database) -> Callable[[OwnerId], bool]:
        return partial(alive_in, _served(db))

    def _look(self) -> None:
        """The owner's session listens all the time."""
        self._now()

    def _watch(self) -> Watch:
        return self._now().watch


def _served(db: Database) -> PostgresDatabase:
    assert isinstance(db, PostgresDatabase)
    return db
