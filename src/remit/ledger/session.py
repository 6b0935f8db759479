"""One handler's transaction: open for its statements, then sealed for the ledger's own append, and over once.

Knows one connection that nobody else has; no thread of its own and no event loop. Invariant: what a
handler wrote is committed together with the append that says so, or not at all, and whoever ends
the transaction first ends it for all.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable, Mapping
from typing import Literal, cast

import apsw

from remit import ambient
from remit.errors import InputError, LedgerError
from remit.ledger.append import Prepared, apply
from remit.ledger.guard import allowed
from remit.ledger.schema import refuse_newer, translate
from remit.ledger.sql import Row, execute, rows
from remit.ledger.transaction import Transaction
from remit.types.connection import SqlRow, SqlValues
from remit.types.ident import OwnerId, RunId
from remit.types.ledger import Committed

__all__ = ["Mark", "Session", "Statements"]

_log = logging.getLogger("remit.ledger")

_STEPS = 10_000
"""So many steps of the database's machine lie between two looks at the deadline; far less than a millisecond."""

Mark = tuple[RunId, int, bytes]
"""Run, place and hash of a page: where it is found, the transaction is in the store."""


class Session:
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
        self._db = db
        self._tx = Transaction(db, owner, alive)
        self._kept = kept
        self._over = over
        self._landed = landed
        self._state: Literal["open", "lost", "expired", "sealed", "over"] = "open"
        self._changing = threading.Lock()
        self._using = threading.Lock()
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

    @property
    def statements(self) -> Statements:
        """What the handler is given."""
        return Statements(self._query)

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
            LedgerError: `transaction.rolled_back`: a statement of the handler had ended it, or what it declared (a
                deferred constraint) does not hold; else it could not be written, and whether it was, the store will say.
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
                if not self._db.in_transaction:  # a thread that the handler left behind was still writing, and was interrupted
                    raise _rolled_back("a statement of the handler had ended it")
                return self._commit(prepared)
            finally:
                self._close()

    def _query(self, sql: str, each: Iterable[Row]) -> list[SqlRow]:
        found: list[SqlRow] = []
        with self._using:
            for values in each:
                if self._state != "open":
                    raise _over()
                ambient.reach("transact.statement")
                try:
                    found += rows(self._db, sql, values)
                except apsw.AuthError as error:
                    raise InputError(_DENIED, code="transaction.denied") from error
                except apsw.InterruptError as error:
                    raise _over() from error
                finally:
                    self._look()
        return found

    def _look(self) -> None:
        """A full disk, an interrupt, OR ROLLBACK end a transaction: what came after that would be on its own."""
        if not self._db.in_transaction:
            with self._changing:
                if self._state == "open":
                    self._state = "lost"

    def _end(self, state: Literal["expired", "over"]) -> bool:
        with self._changing:
            if self._state not in ("open", "lost"):
                return False
            self._state = state
        self._db.interrupt()
        self._finish()
        return True

    def _finish(self) -> None:
        with self._using:
            self._close()

    def _close(self) -> None:
        """Roll back what is not committed, and tell that it is over."""
        self._state = "expired" if self._state == "expired" else "over"
        try:
            self._db.close(force=True)
        except apsw.Error as error:
            _log.warning("the connection of a transaction could not be closed: %s", type(error).__name__)
        over, self._over = self._over, _nothing
        over()

    def _commit(self, prepared: Prepared) -> Committed:
        self._db.authorizer = None
        self._db.set_progress_handler(None)
        try:
            committed = apply(self._tx, prepared)
            ambient.reach("transact.applied")
            execute(self._db, "COMMIT")
            ambient.reach("transact.committed")
        except (apsw.ConstraintError, apsw.SQLError) as error:  # the latter: a foreign key of its that fits no table of ours
            raise _rolled_back("what it wrote does not keep a constraint of its tables") from error
        except (apsw.Error, OSError) as error:
            _log.error("a transaction could not be committed: %s", type(error).__name__)
            self._db.close(force=True)
            if self._tx.mark is None or not self._landed(self._tx.mark):
                raise translate(error) from error
            return committed  # pyright: ignore[reportPossiblyUnboundVariable]  # the mark is set by `apply`
        self._kept(self._db, self._tx.posted)
        return committed


class Statements:
    """The handler's way into its transaction; see `remit.types.connection.Connection`."""

    __slots__ = ("_query",)

    def __init__(self, query: Callable[[str, Iterable[Row]], list[SqlRow]]) -> None:
        self._query = query

    def execute(self, sql: str, values: SqlValues = ()) -> list[SqlRow]:
        """Run it, and return all of its rows."""
        return self._query(sql, [_bound(values)])

    def execute_many(self, sql: str, rows: Iterable[SqlValues]) -> None:
        """Run it once for each of these."""
        self._query(sql, [_bound(values) for values in rows])  # first: the handler's generator may take its time


def _bound(values: SqlValues) -> Row:
    """The values in a container of our own: what the handler's does when it is read is done before the lock is held."""
    return cast("Row", dict(values)) if isinstance(values, Mapping) else tuple(values)


def _judge(action: int, one: str | None, two: str | None, schema: str | None, inner: str | None) -> int:
    del inner
    return apsw.SQLITE_OK if allowed(action, one, two, schema) else apsw.SQLITE_DENY


def _rolled_back(why: str) -> LedgerError:
    return LedgerError(f"the transaction was rolled back: {why}", code="transaction.rolled_back", retryable=False)


def _over() -> LedgerError:
    return LedgerError("the transaction is over: nothing more is written in it", code="transaction.over", retryable=False)


def _nothing() -> None:
    """It was told already."""


_DENIED = (
    "a transactional handler writes to tables of its own: not to the ledger's (remit_...), and it neither begins nor ends a"
    " transaction, attaches, sets a PRAGMA, makes a temporary object, renames a table or loads an extension"
)
