"""A handler's transaction on PostgreSQL.

Knows one session that nobody else has. Invariant: if a handler has so much as looked at a table of the ledger's, the
server says so before the commit, and nothing of it is committed.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import partial
from typing import Any, cast

import psycopg
from psycopg.types.bool import BoolDumper

from remit import ambient
from remit.errors import InputError, LedgerError, RemitError
from remit.ledger.append import Prepared, apply
from remit.ledger.postgres.database import Again, Gone, PostgresDatabase, translate
from remit.ledger.postgres.guard import DENIED, allowed, placed
from remit.ledger.postgres.owner import alive_in
from remit.ledger.postgres.transaction import Beginning, Begun
from remit.ledger.session import Mark, Session, over, rolled_back
from remit.ledger.sql import execute, one
from remit.ledger.transaction import Transaction
from remit.types.connection import SqlRow, SqlValues
from remit.types.ident import OwnerId, RunId
from remit.types.ledger import Committed

__all__ = ["PostgresSession"]

_log = logging.getLogger("remit.ledger")

_COUNT = "(SELECT count(*) FROM pg_class WHERE relnamespace = ?::regnamespace)"
_BEFORE = f"SELECT current_setting('synchronous_commit'), {_COUNT}"
_TOUCHED = f"""SELECT EXISTS (SELECT 1 FROM pg_locks l JOIN pg_class c ON c.oid = l.relation
    WHERE l.pid = pg_backend_pid() AND l.locktype = 'relation' AND c.relnamespace = ?::regnamespace
    AND NOT (c.relname LIKE 'remit_migration%' AND l.mode = 'AccessShareLock')), {_COUNT}"""
"""Whoever reads, writes or changes a table has a lock on it to the end of its transaction; what was dropped is not counted.
(To begin it, we have read which version the tables are.)"""


class PostgresSession(Session):
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
        super().__init__(lambda: over(self))
        self._db = db
        self._kept = kept
        self._landed = landed
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

    def _run(self, sql: str, values: SqlValues) -> list[SqlRow]:
        if not allowed(sql):
            raise InputError(DENIED, code="transaction.denied")
        try:
            self._cursor.execute(
                placed(sql, values), cast("Any", values), prepare=True
            )  # prepared: then it is one statement only
            return self._cursor.fetchall() if self._cursor.description is not None else []
        except psycopg.errors.QueryCanceled as error:
            raise over() from error

    def _is_begun(self) -> bool:
        return self._db.in_transaction

    def _interrupt(self) -> None:
        try:
            self._db.wire.cancel_safe(timeout=5)
        except (psycopg.Error, OSError) as error:
            _log.warning("a handler's statement could not be ended: %s", type(error).__name__)

    def _shut(self) -> None:
        self._db.close()

    def _commit(self, prepared: Prepared) -> Committed:
        db = self._db
        committed: Committed | None = None
        try:
            db.execute(f'SET LOCAL ROLE NONE; SET LOCAL search_path TO "{db.schema}", pg_temp')
            db.execute(f"SET LOCAL synchronous_commit TO {self._durable}")
            if one(db, "SELECT pg_current_xact_id()::text") != (self._begun.number,) or one(
                db, _TOUCHED, db.schema, db.schema
            ) != (False, self._tables):
                raise rolled_back(DENIED) from InputError(DENIED, code="transaction.denied")
            committed = apply(self._tx, prepared)
            ambient.reach("transact.applied")
            execute(db, "COMMIT")
            ambient.reach("transact.committed")
        except Again as again:
            raise rolled_back("another's transaction came between, or a constraint does not hold") from again
        except Gone as gone:
            _log.error("a transaction could not be committed: %s", gone.error.message)
            if committed is None or not self._is_there():
                raise gone.error from gone
        except LedgerError as error:
            if committed is None:
                raise
            raise rolled_back("what it wrote does not keep a constraint of its tables") from error
        self._kept(self._tx.posted)
        return committed

    def _is_there(self) -> bool:
        try:
            return self._landed(self._tx.mark, self._begun)
        except (Gone, Again, RemitError) as error:
            _log.error("and it could not be looked up whether it landed: %s", error)
            return False
