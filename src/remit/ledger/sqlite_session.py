"""A handler's transaction on SQLite, in a file or in memory.

Knows one connection that nobody else has. Invariant: until it is sealed an authorizer keeps the handler's statements from
the ledger's tables, and from whatever would end the transaction.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import cast

import apsw

from remit import ambient
from remit.errors import InputError
from remit.ledger.append import Prepared, apply
from remit.ledger.guard import allowed
from remit.ledger.schema import refuse_newer, translate
from remit.ledger.session import Mark, Session, over, rolled_back
from remit.ledger.sql import Row, execute, rows
from remit.ledger.transaction import Transaction
from remit.types.connection import SqlRow, SqlValues
from remit.types.ident import OwnerId, RunId
from remit.types.ledger import Committed

__all__ = ["SqliteSession"]

_log = logging.getLogger("remit.ledger")

_STEPS = 10_000
"""So many steps of the database's machine lie between two looks at the deadline; far less than a millisecond."""


class SqliteSession(Session):
    """The transaction is begun when this is made.

    Args:
        db: a connection of its own; closed at the end.
        owner, alive: as in `Transaction`.
        kept: called once it is committed, with the connection and the runs whose inbox grew.
        over: called once, when the transaction is over, whatever became of it.
        landed: whether a page is in the store, if the answer of a COMMIT was lost; raises if that cannot be seen.

    Raises:
        apsw.Error: it cannot be begun; then `db` is closed, and `over` was not called.
    """

    def __init__(
        self,
        db: apsw.Connection,
        owner: OwnerId,
        alive: Callable[[OwnerId], bool],
        *,
        kept: Callable[[apsw.Connection, set[RunId]], None],
        over: Callable[[], None],
        landed: Callable[[Mark], bool],
    ) -> None:
        super().__init__(over)
        self._db = db
        self._tx = Transaction(db, owner, alive)
        self._kept = kept
        self._landed = landed
        try:
            db.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 1)
            db.config(apsw.SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0)
            db.config(apsw.SQLITE_DBCONFIG_ENABLE_FKEY, 1)
            execute(db, "BEGIN IMMEDIATE")
            refuse_newer(db)
        except BaseException:
            db.close()
            raise
        db.authorizer = _judge
        db.set_progress_handler(lambda: self._state != "open", _STEPS)

    def _run(self, sql: str, values: SqlValues) -> list[SqlRow]:
        try:
            return list(rows(self._db, sql, cast("Row", values)))
        except apsw.AuthError as error:
            raise InputError(_DENIED, code="transaction.denied") from error
        except apsw.InterruptError as error:
            raise over() from error

    def _is_begun(self) -> bool:
        return self._db.in_transaction

    def _interrupt(self) -> None:
        self._db.interrupt()

    def _shut(self) -> None:
        try:
            self._db.close(force=True)
        except apsw.Error as error:
            _log.warning("the connection of a transaction could not be closed: %s", type(error).__name__)

    def _commit(self, prepared: Prepared) -> Committed:
        self._db.authorizer = None
        self._db.set_progress_handler(None)
        try:
            committed = apply(self._tx, prepared)
            ambient.reach("transact.applied")
            execute(self._db, "COMMIT")
            ambient.reach("transact.committed")
        except (apsw.ConstraintError, apsw.SQLError) as error:  # the latter: a foreign key of its that fits no table of ours
            raise rolled_back("what it wrote does not keep a constraint of its tables") from error
        except (apsw.Error, OSError) as error:
            _log.error("a transaction could not be committed: %s", type(error).__name__)
            self._db.close(force=True)
            if self._tx.mark is None or not self._landed(self._tx.mark):
                raise translate(error) from error
            return committed  # pyright: ignore[reportPossiblyUnboundVariable]  # the mark is set by `apply`
        self._kept(self._db, self._tx.posted)
        return committed


def _judge(action: int, one: str | None, two: str | None, schema: str | None, inner: str | None) -> int:
    del inner
    return apsw.SQLITE_OK if allowed(action, one, two, schema) else apsw.SQLITE_DENY


_DENIED = (
    "a transactional handler writes to tables of its own: not to the ledger's (remit_...), and it neither begins nor ends a"
    " transaction, attaches, sets a PRAGMA, makes a temporary object, renames a table or loads an extension"
)
