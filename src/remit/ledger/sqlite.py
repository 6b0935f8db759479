"""A ledger in an SQLite file on a local disk, for any number of processes.

Knows the file, its connections and this owner's lock. Writes go through one thread; reads are short
and indexed (about twenty microseconds each), so they run in the caller's thread on a connection of
their own, where a hand-over to another thread would cost more than the read. Invariant: while the
lock is held, the runs that name this owner are ours.
"""

from __future__ import annotations

import asyncio
import logging
import os
import threading
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TypeVar

import apsw

from remit import ambient
from remit.errors import LedgerError, RemitError
from remit.ledger import lock, post
from remit.ledger.delta import Deltas
from remit.ledger.delta_file import delta_folder
from remit.ledger.delta_reader import DeltaFileReader
from remit.ledger.delta_writer import DeltaFileWriter
from remit.ledger.facade import StoreLedger
from remit.ledger.schema import connect, migrate, refuse_newer, translate
from remit.ledger.session import Mark
from remit.ledger.sql import Database, execute, foreign_writes, one, rows
from remit.ledger.sqlite_session import SqliteSession
from remit.ledger.transact import Sessions, transact
from remit.ledger.transaction import Transaction, Work
from remit.ledger.turn import Turn
from remit.ledger.verify import verify
from remit.ledger.watch import Poller, Watch
from remit.ledger.writer import Writer
from remit.types.connection import Connection
from remit.types.delivery import LateReport
from remit.types.head import Heads
from remit.types.ident import OwnerId, RunId
from remit.types.ledger import Append, Committed
from remit.types.stream import Delta

__all__ = ["SqliteLedger"]

T = TypeVar("T")

_log = logging.getLogger("remit.ledger")


class _Opened:
    """What an open ledger holds, from its lock to its threads."""

    def __init__(self, path: Path, now_ms: int, *, create: bool) -> None:
        self.pid = os.getpid()
        self.path = path
        self.locks = lock.lock_directory(path)
        self.reader = connect(path, create=create)
        self.reading = threading.Lock()
        self.lock: lock.FileLock | None = None
        try:
            migrate(self.reader, now_ms)
            self.owner, self.lock = self._enter(now_ms)
            lock.sweep(self.locks)
        except BaseException:
            self.leave()
            raise
        self.watch = Watch()
        self.deltas = Deltas()
        self.delta_writer = DeltaFileWriter(delta_folder(path), self.owner, self.alive)
        self.delta_reader = DeltaFileReader(delta_folder(path))
        self.seen = foreign_writes(self.reader)
        self.poller: Poller | None = None
        self.turn = Turn()
        self.writer = Writer(partial(connect, path), owner=self.owner, alive=self.alive, told=self.watch.tell, turn=self.turn)
        self.sessions = Sessions(self.turn, self.session)

    def alive(self, owner: OwnerId) -> bool:
        return lock.file_alive(self.locks, owner)

    def look(self) -> None:
        """See whether another connection wrote, or a run that is followed here has more to hear; tell who waits."""
        told: list[RunId] | None = [] if self.delta_reader.grown() else None
        with self.reading:
            version = foreign_writes(self.reader)
            if version != self.seen:
                self.seen = version
                told = [RunId(run) for (run,) in rows(self.reader, "SELECT DISTINCT run FROM remit_inbox")]
        if told is not None:
            self.watch.tell(told)

    def poll(self) -> None:
        """A round of the thread that looks while somebody waits."""
        self.delta_reader.forget_idle()
        self.look()

    def session(self, over: Callable[[], None]) -> SqliteSession:
        """The next transaction of a handler. Blocks while another process writes."""
        db = connect(self.path)
        return SqliteSession(db, self.owner, self.alive, landed=self.landed, kept=self.kept, over=over)

    def kept(self, _: apsw.Connection, posted: set[RunId]) -> None:
        self.writer.commits += 1
        self.watch.tell(posted)

    def scrub(self) -> bool:
        """Write the file anew, without what is in none of its tables. Blocks; the writer waits."""
        with self.turn:
            db = connect(self.path)
            try:
                execute(db, "VACUUM")
                db.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
            except (apsw.BusyError, apsw.LockedError):
                return False
            finally:
                db.close()
        return True

    def size(self) -> int:
        """Bytes of the file, and of what is written ahead of it."""
        places = (self.path, self.path.with_name(f"{self.path.name}-wal"))
        return sum(place.stat().st_size for place in places if place.exists())

    def landed(self, mark: Mark) -> bool:
        """Whether this page is in the file, and then safely on the disk."""
        db = connect(self.path)
        try:
            found = one(db, "SELECT 1 FROM remit_page WHERE run = ? AND last = ? AND hash = ?", *mark)
            if found is not None:
                db.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_FULL)
            return found is not None
        finally:
            db.close()

    def close(self) -> None:
        """Roll back what handlers have open, write what is queued, end the threads, let go. Blocks."""
        self.sessions.close()
        self.writer.close()
        self.watch.close()
        if self.poller is not None:
            self.poller.close()
        self.delta_writer.close()
        self.leave()

    def abandon(self) -> None:
        """As a crash would leave it."""
        self.sessions.close()
        self.delta_writer.abandon()
        if self.lock is not None:
            self.lock.drop()

    def leave(self) -> None:
        self.reader.close()
        if self.lock is not None:
            self.lock.release()

    def _enter(self, now_ms: int) -> tuple[OwnerId, lock.FileLock]:
        """A name that no owner of this file ever had, and its lock."""
        while True:
            owner = OwnerId(ambient.new_id("owner"))
            if one(self.reader, "SELECT 1 FROM remit_owner WHERE id = ?", owner):
                continue
            try:
                held = lock.FileLock(self.locks, owner)
            except FileExistsError:
                continue
            execute(self.reader, "INSERT INTO remit_owner (id, opened_ms) VALUES (?, ?)", (owner, now_ms))
            return owner, held


class SqliteLedger(StoreLedger):
    """A ledger in the file `path`, which is made if it does not exist (its directory must).

    A process may open the same file several times; each is an owner of its own. Not usable in a
    forked child: open another there.

    Args:
        create: whether `open` may make the file, or the tables in a file that holds no ledger yet; if not, such a
            file is left as it is (`ledger.none`).
    """

    def __init__(self, path: str | Path, *, create: bool = True) -> None:
        self.path = Path(path).resolve()  # the locks are beside the file itself, whatever it is called
        self._create = create
        self._opened: _Opened | None = None

    @property
    def durable(self) -> bool:
        """True: what is committed is on the disk."""
        return True

    @property
    def owner(self) -> OwnerId:
        """This ledger's name in the file, while it is open."""
        return self._now().owner

    @property
    def commits(self) -> int:
        """How many transactions this ledger has brought to the disk since it was opened."""
        return self._now().writer.commits

    async def open(self) -> None:
        """Make or migrate the file and take this owner's lock. Opening an open ledger does nothing.

        Raises:
            LedgerError: the file cannot be used; the message says why and what to do (`ledger.newer`,
                `ledger.foreign`, `ledger.none`, `ledger.corrupt`, `ledger.full`, `ledger.unavailable`).
        """
        if self._opened is None:
            self._opened = await asyncio.to_thread(self._enter, ambient.now_ms())

    async def aclose(self) -> None:
        """Write what is queued, then let go of the file and the lock. Runs that are not done stay as they are."""
        opened, self._opened = self._opened, None
        if opened is not None:
            await asyncio.to_thread(opened.close)

    def abandon(self) -> None:
        """Let go of the lock as a crash would, without any clean-up: for tests."""
        self._now().abandon()

    async def transact(
        self, work: Callable[[Connection], T], outcome: Callable[[T], Append | None], *, timeout_s: float
    ) -> Committed | None:
        """Do the work in a transaction of its own that `outcome` of it is then appended to: one commit of both.

        The writer waits meanwhile, and so does every other process that writes to the file.
        """
        return await transact(self._now().sessions.begin, work, outcome, timeout_s=timeout_s)

    def post_late(self, run: RunId, report: LateReport) -> None:
        """`post`, from any thread and without waiting; never raises. What cannot be written is logged."""
        what = f"a late report of operation {report.operation}"
        opened = self._opened
        ours = opened is not None and opened.pid == os.getpid()
        if opened and ours and opened.writer.write_late(lambda tx: post.post(tx, run, report), what=what):
            return
        try:
            self._post_closed(run, report)
        except (RemitError, apsw.Error, OSError, ValueError, TypeError) as error:
            _log.error("%s could not be written: %s", what, error)

    def publish_deltas(self, deltas: Sequence[Delta]) -> None:
        """Let followers hear these deltas: here at once, in other processes a moment later; never raises."""
        opened = self._opened
        if opened is not None and opened.pid == os.getpid() and (added := opened.deltas.add(deltas, opened.owner)):
            opened.delta_writer.write(added)
            opened.watch.tell(())

    async def deltas(self, run: RunId, *, after: int, index: int = 0) -> list[Delta]:
        """The published deltas of the attempt that answers event `after`, from `index` on."""
        opened = self._now()
        ours = opened.deltas.of(run, after, index)
        return opened.delta_reader.read(run, after, index) if ours is None else ours

    def drop_deltas(self, run: RunId) -> None:
        """Forget the run's deltas. Never raises."""
        opened = self._opened
        if opened is not None and opened.pid == os.getpid():
            opened.deltas.drop(run, opened.owner, opened.alive)
            opened.delta_writer.drop(run)

    async def verify(self, run: RunId | None = None, *, head: Heads | None = None) -> list[str]:
        """See `remit.ledger.verify`; in a thread, on a connection of its own."""
        self._now()
        return await asyncio.to_thread(self._verify, run, head)

    def _verify(self, run: RunId | None, head: Heads | None) -> list[str]:
        db = connect(self.path)
        try:
            return verify(db, run, head)
        except (apsw.Error, UnicodeDecodeError) as error:
            raise translate(error, self.path) from error
        finally:
            db.close()

    async def _scrub(self) -> bool:
        try:
            return await asyncio.to_thread(self._now().scrub)
        except apsw.Error as error:
            raise translate(error, self.path) from error

    async def _size(self) -> int:
        return self._now().size()

    def _enter(self, now_ms: int) -> _Opened:
        try:
            return _Opened(self.path, now_ms, create=self._create)
        except (apsw.Error, OSError) as error:
            raise translate(error, self.path) from error

    def _now(self) -> _Opened:
        opened = self._opened
        if opened is None:
            raise LedgerError("the ledger is not open; open it first", code="ledger.closed")
        if opened.pid != os.getpid():
            raise LedgerError("a forked process cannot use its parent's ledger; open another", code="ledger.forked")
        return opened

    def _post_closed(self, run: RunId, report: LateReport) -> None:
        """Through a connection of its own: the process goes on after the ledger was closed."""
        db = connect(self.path)
        try:
            tx = Transaction(db, OwnerId(""), lambda _: False)
            execute(db, "BEGIN IMMEDIATE")
            refuse_newer(db)
            post.post(tx, run, report)
            execute(db, "COMMIT")
        finally:
            db.close()

    async def _write(self, work: Work[T]) -> T:
        return await self._now().writer.write(work)

    async def _read(self, query: Callable[[Database], T]) -> T:
        opened = self._now()
        try:
            with opened.reading:
                return query(opened.reader)
        except (apsw.Error, UnicodeDecodeError) as error:
            raise translate(error, self.path) from error

    def _living(self, db: Database) -> Callable[[OwnerId], bool]:
        del db
        return self._alive

    def _alive(self, owner: OwnerId) -> bool:
        return self._now().alive(owner)

    def _look(self) -> None:
        try:
            self._now().look()
        except apsw.Error as error:
            raise translate(error, self.path) from error

    def _watch(self) -> Watch:
        opened = self._now()
        if opened.poller is None:
            opened.poller = Poller(opened.watch, opened.poll)
        return opened.watch
