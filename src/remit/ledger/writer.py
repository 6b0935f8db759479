"""The one thread that writes a file, with natural group commit.

Whatever was queued while the last commit reached the disk shares the next. Knows transactions and
loops; not what is written. Invariant: nobody is answered before the disk is, and after a failed
commit nobody is told "no" before it was looked up whether it landed.
"""

from __future__ import annotations

import asyncio
import logging
import queue
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import apsw

from remit.errors import LedgerError
from remit.ledger.schema import refuse_newer, translate
from remit.ledger.sql import execute, one
from remit.ledger.transaction import Answer, Transaction, Work, run_together
from remit.ledger.turn import Turn
from remit.types.ident import OwnerId, RunId

__all__ = ["Writer"]

T = TypeVar("T")

_log = logging.getLogger("remit.ledger")


@dataclass(slots=True)
class _Job:
    """Work, and who waits for it: a future, or nobody (then `what` names it in the log if it fails)."""

    work: Work[Any]
    future: asyncio.Future[Any] | None = None
    what: str = ""


class Writer:
    """Writes for one owner until it is closed.

    Args:
        connect: opens the store, also again after a failure.
        owner: has a row in `remit_owner`, where a batch without events leaves its number.
        told: called after each commit with the runs whose inbox grew, in the writer's thread.
        turn: taken for each commit; whoever else has it writes by another connection.
    """

    def __init__(
        self,
        connect: Callable[[], apsw.Connection],
        *,
        owner: OwnerId,
        alive: Callable[[OwnerId], bool],
        told: Callable[[set[RunId]], None],
        turn: Turn | None = None,
    ) -> None:
        self.commits = 0
        self._connect = connect
        self._owner = owner
        self._alive = alive
        self._told = told
        self._turn = turn or Turn()
        self._batch = 0
        self._db: apsw.Connection | None = None
        self._jobs: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._gate = threading.Lock()
        self._closed = False
        self._thread = threading.Thread(target=self._serve, name="remit-ledger", daemon=True)
        self._thread.start()

    async def write(self, work: Work[T]) -> T:
        """Do the work in the next commit; its value when it is durable, or its error.

        Raises:
            LedgerError: it could not be written, or the writer is closed.
        """
        future: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        await asyncio.sleep(0)  # what others have to write in this pass of the loop goes with the same commit
        if not self._put(_Job(work, future)):
            raise LedgerError("the ledger is closed; open it again", code="ledger.closed")
        return await future

    def write_late(self, work: Work[object], *, what: str) -> bool:
        """The same from any thread, without waiting; False if the writer is closed."""
        return self._put(_Job(work, what=what))

    def close(self) -> None:
        """Write what is queued, then end. Blocks."""
        with self._gate:
            if not self._closed:
                self._closed = True
                self._jobs.put(None)
        self._thread.join()

    def _put(self, job: _Job) -> bool:
        with self._gate:
            if not self._closed:
                self._jobs.put(job)
            return not self._closed

    def _serve(self) -> None:
        jobs: list[_Job] = []
        try:
            while jobs := self._gather():
                with self._turn:
                    answers = self._commit([job.work for job in jobs])
                _answer(jobs, answers)
        finally:
            self._end(jobs)

    def _gather(self) -> list[_Job]:
        """Everything that is queued; waits for the first. Empty when it is over."""
        jobs: list[_Job] = []
        while not jobs or not self._jobs.empty():  # only this thread takes
            job = self._jobs.get()
            if job is None:
                if jobs:
                    self._jobs.put(None)
                break
            jobs.append(job)
        return jobs

    def _commit(self, works: Sequence[Work[Any]]) -> list[Answer]:
        answers: list[Answer] | None = None
        tx: Transaction | None = None
        try:
            db = self._open()
            tx = Transaction(db, self._owner, self._alive)
            execute(db, "BEGIN IMMEDIATE")
            refuse_newer(db)
            answers = run_together(tx, works)
            if all(answer.error for answer in answers):
                execute(db, "ROLLBACK")
                return answers
            self._mark(tx)
            execute(db, "COMMIT")
        except (apsw.Error, OSError, LedgerError) as error:
            answers = self._after_failure(error, answers, len(works), tx)
        else:
            self.commits += 1
        if tx is not None:
            self._told(tx.posted)
        return answers

    def _mark(self, tx: Transaction) -> None:
        """Leave something in the transaction by which it is known again: a page of it, else this batch's number."""
        if tx.mark is None:
            self._batch += 1
            execute(tx.db, "UPDATE remit_owner SET batch = ? WHERE id = ?", (self._batch, self._owner))

    def _after_failure(self, error: Exception, answers: list[Answer] | None, size: int, tx: Transaction | None) -> list[Answer]:
        """Open the store anew and reread: what each is told is what the store says."""
        _log.error("a commit failed: %s", type(error).__name__)
        self._drop()
        if answers is not None and tx is not None and self._landed(tx):
            return answers
        return [answer if answer.error else Answer(error=translate(error)) for answer in answers or [Answer()] * size]

    def _landed(self, tx: Transaction) -> bool:
        """Whether the transaction is in the store after all, and safely on the disk."""
        try:
            db = self._open()
            if tx.mark is None:
                found = one(db, "SELECT 1 FROM remit_owner WHERE id = ? AND batch = ?", self._owner, self._batch)
            else:
                found = one(db, "SELECT 1 FROM remit_page WHERE run = ? AND last = ? AND hash = ?", *tx.mark)
            if found is None:
                return False
            db.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_FULL)
        except (apsw.Error, OSError, LedgerError):
            self._drop()
            return False
        return True

    def _open(self) -> apsw.Connection:
        if self._db is None:
            self._db = self._connect()
        return self._db

    def _drop(self) -> None:
        db, self._db = self._db, None
        if db is not None:
            try:
                db.close(force=True)
            except apsw.Error as error:
                _log.warning("a failed connection could not be closed: %s", type(error).__name__)

    def _end(self, left: list[_Job]) -> None:
        """Refuse what is left, if the thread ends before its time."""
        with self._gate:
            self._closed = True
        self._drop()
        while not self._jobs.empty():
            left += [job] if (job := self._jobs.get()) else []
        error = LedgerError("the ledger's writer ended; open it again", code="ledger.closed")
        _answer(left, [Answer(error=error)] * len(left))


def _answer(jobs: Sequence[_Job], answers: Sequence[Answer]) -> None:
    """Complete the futures, each on its own loop."""
    waiting: dict[asyncio.AbstractEventLoop, list[tuple[asyncio.Future[Any], Answer]]] = {}
    for job, answer in zip(jobs, answers, strict=True):
        if job.future is not None:
            waiting.setdefault(job.future.get_loop(), []).append((job.future, answer))
        elif answer.error is not None:
            _log.error("%s could not be written: %s", job.what, answer.error)
    for loop, pairs in waiting.items():
        try:
            loop.call_soon_threadsafe(_settle, pairs)
        except RuntimeError:  # the loop is closed: nobody waits
            continue


def _settle(pairs: Sequence[tuple[asyncio.Future[Any], Answer]]) -> None:
    for future, answer in pairs:
        if future.done():
            continue
        if answer.error is not None:
            future.set_exception(answer.error)
        else:
            future.set_result(answer.value)
