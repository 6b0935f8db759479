"""The thread that writes to PostgreSQL for one owner, with natural group commit.

Knows transactions, and which of their failures are worth another try; not what is written. Invariant: as for a file:
nobody is answered before the disk is, and nobody is told "no" before it was looked up whether it landed.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from remit.errors import LedgerError, RemitError
from remit.ledger.postgres.database import Again, Gone, PostgresDatabase, translate
from remit.ledger.postgres.owner import alive_in
from remit.ledger.postgres.transaction import Beginning, Begun, settled
from remit.ledger.sql import execute, one
from remit.ledger.transaction import Answer, Transaction, Work, run_hopefully, run_together
from remit.ledger.writer import Writer
from remit.types.ident import OwnerId, RunId

__all__ = ["PostgresWriter", "landed"]

_log = logging.getLogger("remit.ledger")

_TRIES = 12
"""So often a single piece of work is begun anew because others came between; each time somebody got on."""


class PostgresWriter(Writer):
    """Writes for one owner until it is closed.

    Args:
        connect: opens a session, also again after a failure.
        told: called after each commit with the runs whose inbox grew, in this thread.
    """

    commits: int

    def __init__(
        self,
        connect: Callable[[], PostgresDatabase],
        beginning: Beginning,
        *,
        owner: OwnerId,
        told: Callable[[set[RunId]], None],
    ) -> None:
        self._session: PostgresDatabase | None = None
        self._open_session = connect
        self._beginning = beginning
        super().__init__(_no_file, owner=owner, alive=_nobody, told=told)

    def _commit(self, works: Sequence[Work[Any]]) -> list[Answer]:
        try:
            return self._try(works)
        except Again:
            return self._again(works)

    def _again(self, works: Sequence[Work[Any]]) -> list[Answer]:
        """By halves, so that what does not stand in anybody's way shares a commit still."""
        if len(works) > 1:
            half = len(works) // 2
            return [*self._commit(works[:half]), *self._commit(works[half:])]
        for _ in range(_TRIES):
            try:
                return self._try(works)
            except Again:
                continue
        busy = LedgerError("other processes write the same rows all the time; try again", code="ledger.unavailable")
        return [Answer(error=busy)]

    def _try(self, works: Sequence[Work[Any]]) -> list[Answer]:
        """One transaction. Raises `Again`; then nothing of it is written."""
        answers: list[Answer] | None = None
        begun: Begun | None = None
        tx: Transaction | None = None
        try:
            db, begun = self._begin()
            tx = Transaction(db, self._owner, partial(alive_in, db))
            answers = run_hopefully(tx, works)
            if answers is None:
                db.roll_back()
                begun = self._beginning.begin(db)
                tx = Transaction(db, self._owner, partial(alive_in, db))
                answers = run_together(tx, works)
            if all(answer.error for answer in answers):
                db.roll_back()
                return answers
            self._mark(tx)
            execute(db, "COMMIT")
        except Again:
            self._roll_back()
            raise
        except Gone as gone:
            answers = self._after_loss(gone, answers, len(works), tx, begun)
        except (RemitError, OSError) as error:
            self._roll_back()
            return [Answer(error=translate(error)) for _ in works]
        else:
            self.commits += 1
        if tx is not None:
            self._told(tx.posted)
        return answers

    def _begin(self) -> tuple[PostgresDatabase, Begun]:
        """In the session that there is or, if that was ended while it was idle, in another one."""
        fresh = self._session is None
        db = self._opened()
        try:
            return db, self._beginning.begin(db)
        except Gone:
            self._drop()
            if fresh:
                raise
        db = self._opened()
        return db, self._beginning.begin(db)

    def _after_loss(
        self, gone: Gone, answers: list[Answer] | None, size: int, tx: Transaction | None, begun: Begun | None
    ) -> list[Answer]:
        """Reread by another session: what each is told is what the store says."""
        _log.error("a commit failed: %s", gone.error.message)
        self._drop()
        if answers is not None and tx is not None and begun is not None and self._landed(tx, begun):
            return answers
        return [answer if answer.error else Answer(error=gone.error) for answer in answers or [Answer()] * size]

    def _landed(self, tx: Transaction, begun: Begun) -> bool:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Whether the transaction is in the store after all."""
        try:
            return landed(self._opened(), tx.mark, begun, batch=(self._owner, self._batch))
        except (Gone, Again, RemitError, OSError) as error:
            _log.error("and it could not be looked up whether it landed: %s", error)
            self._drop()
            return False

    def _opened(self) -> PostgresDatabase:
        if self._session is None:
            self._session = self._open_session()
        return self._session

    def _roll_back(self) -> None:
        if self._session is not None:
            try:
                self._session.roll_back()
            except (Gone, Again, RemitError):
                self._drop()

    def _drop(self) -> None:
        session, self._session = self._session, None
        if session is not None:
            session.close()


def landed(
    db: PostgresDatabase, mark: tuple[RunId, int, bytes] | None, begun: Begun, *, batch: tuple[OwnerId, int] | None = None
) -> bool:
    """Whether a transaction whose answer was lost is in the store; waits until it is over."""
    if not settled(db, begun):
        return False
    if mark is not None:
        return one(db, "SELECT 1 FROM remit_page WHERE run = ? AND last = ? AND hash = ?", *mark) is not None
    return batch is not None and one(db, "SELECT 1 FROM remit_owner WHERE id = ? AND batch = ?", *batch) is not None


def _no_file() -> Any:
    raise LedgerError("there is no file", code="ledger.unavailable")


def _nobody(owner: OwnerId) -> bool:
    del owner
    return False
