"""One handler's transaction on PostgreSQL: open for its statements, then sealed for the ledger's own append, and over once.

Knows one session that nobody else has; no thread of its own and no event loop. Invariant: what a handler wrote is
committed together with the append that says so, or not at all; and if it has so much as looked at a table of the
ledger's, the server says so before the commit, and it is not at all.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any, Literal

import psycopg
from psycopg.types.bool import BoolDumper

from remit import ambient
from remit.errors import InputError, LedgerError, RemitError
from remit.ledger.append import Prepared, apply
from remit.ledger.postgres.database import Again, Gone, PostgresDatabase, translate
from remit.ledger.postgres.guard import DENIED, allowed, placed
from remit.ledger.postgres.owner import alive_in
from remit.ledger.postgres.transaction import Beginning, Begun
from remit.ledger.sql import execute, one
from remit.ledger.transaction import Transaction
from remit.types.connection import SqlRow, SqlValues
from remit.types.ident import OwnerId, RunId
from remit.types.ledger import Committed

__all__ = ["Mark", "PostgresSession"]

_log = logging.getLogger("remit.ledger")

Mark = tuple[RunId, int, bytes]

_COUNT = "(SELECT count(*) FROM pg_class WHERE relnamespace = ?::regnamespace)"
_BEFORE = f"SELECT current_setting('synchronous_commit'), {_COUNT}"
_TOUCHED = f"""SELECT EXISTS (SELECT 1 FROM pg_locks l JOIN pg_class c ON c.oid = l.relation
    WHERE l.pid = pg_backend_pid() AND l.locktype = 'relation' AND c.relnamespace = ?::regnamespace
    AND NOT (c.relname LIKE 'remit_migration%' AND l.mode = 'AccessShareLock')), {_COUNT}"""
"""Whoever reads, writes or changes a table has a lock on it to the end of its transaction; what was dropped is not counted.
(To begin it, we have read which version the tables are.)"""


class PostgresSession:
    """The transaction is begun when this is made.

    Args:
        db: a session of its own; closed at the end.
        role: the role in which the handler's statements run; None: the ledger's own.
        idle_s: after so long without a statement the server ends it.
        kept: called once it is committed, with the runs whose inbox grew.
        landed: whether a page is in the store, if the answer of a COMMIT was lost.
        over: called once, when it is over, whatever became of it.

    Raises:
        LedgerError: it cannot be begun; then `db` is closed, and `over` was not called.
    """

    def __init__(
        self,
        db: PostgresDatabase,
        beginning: Beginning,
        owner: OwnerId,
        *,
        role: str | None,
        idle_s: float,
        kept: Callable[[set[RunId]], None],
        landed: Callable[[Mark | None, Begun], bool],
        over: Callable[[PostgresSession], None],
    ) -> None:
        self._db = db
        self._kept = kept
        self._landed = landed
        self._over = over
        self._state: Literal["open", "lost", "expired", "sealed", "over"] = "open"
        self._changing = threading.Lock()
        self._using = threading.Lock()
        self._tx = Transaction(db, owner, partial(alive_in, db))
        try:
            self._begun = beginning.begin(db)
            one(db, "SELECT set_config('idle_in_transaction_session_timeout', ?, true)", str(int(idle_s * 1000)))
            db.execute("SET LOCAL search_path TO DEFAULT")
            self._durable, self._tables = one(db, _BEFORE, db.schema) or ("on", 0)
            if role is not None:
                one(db, "SELECT set_config('role', ?, true)", role)
        except BaseException as error:
            db.close()
            if isinstance(error, Gone | Again):
                raise translate(error) from error
            raise
        self._cursor = db.wire.cursor()
        self._cursor.adapters.register_dumper(bool, BoolDumper)

    @property
    def statements(self) -> PostgresStatements:
        """What the handler is given."""
        return PostgresStatements(self._query)

    def roll_back(self) -> None:
        """End it; nothing of it has happened. Nothing if it is over, or sealed."""
        self._end("over")

    def expire(self) -> bool:
        """End it from outside, whatever the handler is doing; False if it is over, or its statements are done."""
        return self._end("expired")

    def commit(self, prepared: Prepared) -> Committed:
        """Append what the ledger says of it, and make all of it durable. Blocks.

        Raises:
            TimeoutError: it was ended from outside before.
            LedgerError: `transaction.rolled_back`: a statement of the handler had ended it, or had to do with the ledger's
                own tables, what it declared does not hold, or another's transaction came between; else it could not be
                written, and whether it was, the store will say.
            RemitError: the append was refused, as by `commit`; nothing has happened.
        """
        with self._changing:
            state = self._state
            if state in ("open", "lost"):
                self._state = "sealed" if state == "open" else "over"
        if state == "expired":
            raise TimeoutError("the transaction was ended at its deadline")
        if state != "open":
            self._finish()
            raise _rolled_back("a statement of the handler had ended it")
        with self._using:
            try:
                return self._commit(prepared)
            finally:
                self._close()

    def _query(self, sql: str, each: Iterable[SqlValues]) -> list[SqlRow]:
        if not allowed(sql):
            raise InputError(DENIED, code="transaction.denied")
        found: list[SqlRow] = []
        with self._using:
            for values in each:
                if self._state != "open":
                    raise _over()
                ambient.reach("transact.statement")
                try:
                    # prepared, as then it can be one statement only
                    self._cursor.execute(placed(sql, values), values, prepare=True)
                    found += self._cursor.fetchall() if self._cursor.description is not None else []
                except psycopg.errors.QueryCanceled as error:
                    raise _over() from error
                finally:
                    self._look()
        return found

    def _look(self) -> None:
        """An error ends a transaction here: what came after that would be refused."""
        if not self._db.in_transaction:
            with self._changing:
                if self._state == "open":
                    self._state = "lost"

    def _end(self, state: Literal["expired", "over"]) -> bool:
        with self._changing:
            if self._state not in ("open", "lost"):
                return False
            self._state = state
        try:
            self._db.wire.cancel_safe(timeout=5)
        except (psycopg.Error, OSError) as error:
            _log.warning("a handler's statement could not be ended: %s", type(error).__name__)
        self._finish()
        return True

    def _finish(self) -> None:
        with self._using:
            self._close()

    def _close(self) -> None:
        """Roll back what is not committed, and tell that it is over."""
        self._state = "expired" if self._state == "expired" else "over"
        self._db.close()
        over, self._over = self._over, _nothing
        over(self)

    def _commit(self, prepared: Prepared) -> Committed:
        db = self._db
        committed: Committed | None = None
        try:
            db.execute(f'SET LOCAL ROLE NONE; SET LOCAL search_path TO "{db.schema}", pg_temp')
            db.execute(f"SET LOCAL synchronous_commit TO {self._durable}")
            if one(db, "SELECT pg_current_xact_id()::text") != (self._begun.number,) or one(
                db, _TOUCHED, db.schema, db.schema
            ) != (False, self._tables):
                raise _rolled_back(DENIED) from InputError(DENIED, code="transaction.denied")
            committed = apply(self._tx, prepared)
            ambient.reach("transact.applied")
            execute(db, "COMMIT")
            ambient.reach("transact.committed")
        except Again as again:
            raise _rolled_back("another's transaction came between, or a constraint does not hold") from again
        except Gone as gone:
            _log.error("a transaction could not be committed: %s", gone.error.message)
            if committed is None or not self._is_there():
                raise gone.error from gone
        except LedgerError as error:
            if committed is None:
                raise
            raise _rolled_back("what it wrote does not keep a constraint of its tables") from error
        self._kept(self._tx.posted)
        return committed

    def _is_there(self) -> bool:
        try:
            return self._landed(self._tx.mark, self._begun)
        except (Gone, Again, RemitError) as error:
            _log.error("and it could not be looked up whether it landed: %s", error)
            return False


class PostgresStatements:
    """The handler's way into its transaction; see `remit.types.connection.Connection`."""

    __slots__ = ("_query",)

    def __init__(self, query: Callable[[str, Iterable[SqlValues]], list[SqlRow]]) -> None:
        self._query = query

    def execute(self, sql: str, values: SqlValues = ()) -> list[SqlRow]:
        """Run it, and return all of its rows."""
        return self._query(sql, [_own(values)])

    def execute_many(self, sql: str, rows: Iterable[SqlValues]) -> None:
        """Run it once for each of these."""
        self._query(sql, [_own(values) for values in rows])  # first: the handler's generator may take its time


def _own(values: SqlValues) -> Any:
    """The values in a container of our own: what the handler's does when it is read is done before the lock is held."""
    return dict(values) if isinstance(values, Mapping) else tuple(values)


def _rolled_back(why: str) -> LedgerError:
    return LedgerError(f"the transaction was rolled back: {why}", code="transaction.rolled_back", retryable=False)


def _over() -> LedgerError:
    return LedgerError("the transaction is over: nothing more is written in it", code="transaction.over", retryable=False)


def _nothing(session: PostgresSession) -> None:
    """It was told already."""
    del session
