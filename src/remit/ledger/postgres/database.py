"""One session with PostgreSQL, spoken to as the law speaks to any database.

Knows how our statements are said there, and what its errors mean; not what is written. Invariant:
an error of a statement is a `LedgerError` of that piece of work alone; `Again` and `Gone` are of the
transaction as a whole.
"""

from __future__ import annotations

import re
from functools import lru_cache
from hashlib import sha256
from typing import Any, LiteralString, Self, TypeAlias, cast

import psycopg
from psycopg.pq import TransactionStatus
from psycopg.types.numeric import Int8Dumper

from remit.errors import InputError, LedgerError, RemitError
from remit.ledger.sql import Row, Served

__all__ = ["Again", "Gone", "PostgresDatabase", "Wire", "lock_number", "translate"]

Wire: TypeAlias = psycopg.Connection[tuple[Any, ...]]
"""A connection of the library."""


class Again(Exception):
    """Somebody else's transaction came between: the same work is to be done anew, from its beginning."""


class Gone(Exception):
    """The transaction is gone, with all that was in it; `error` says why."""

    def __init__(self, error: RemitError) -> None:
        super().__init__(error.message)
        self.error = error


class PostgresDatabase(Served):
    """A session, for one thread at a time.

    Args:
        schema: where the ledger's tables are.
    """

    __slots__ = ("_changes", "schema", "wire")

    def __init__(self, wire: Wire, schema: str) -> None:
        self.wire = wire
        self.schema = schema
        self._changes = 0
        wire.prepare_threshold = 0  # the law has few statements, and says each of them again and again
        wire.adapters.register_dumper(int, Int8Dumper)
        wire.adapters.register_dumper(bool, _Bit)

    def execute(self, sql: str, values: Row = (), /) -> list[Row]:
        """Run it, and return all of its rows."""
        try:
            cursor = self.wire.execute(_bound(sql), values) if values else self.wire.execute(_plain(sql), prepare=False)
            self._changes = cursor.rowcount
            return cursor.fetchall() if cursor.description is not None else []
        except psycopg.Error as error:
            raise self._failed(error) from error

    def last_of(self, sql: str) -> Row:
        """The row that the last of several statements gives."""
        try:
            cursor = self.wire.execute(_plain(sql), prepare=False)
            while cursor.nextset():
                continue
            (row,) = cursor.fetchall()
        except psycopg.Error as error:
            raise self._failed(error) from error
        return row

    def changes(self) -> int:
        """How many rows the last statement changed."""
        return self._changes

    @property
    def in_transaction(self) -> bool:
        """Whether one is open, and can still be committed."""
        return self.wire.info.transaction_status == TransactionStatus.INTRANS

    def insert_numbered(self, sql: str, values: Row, column: str) -> int:
        """Insert a row that the database numbers; its number."""
        ((number,),) = self.execute(f"{sql} RETURNING {column}", values)
        return int(number)

    def lock_row(self, sql: str, values: Row) -> Row | None:
        """The first row, which nobody else changes before this transaction is over."""
        return next(iter(self.execute(f"{sql} FOR UPDATE", values)), None)

    def take_turn(self, what: str) -> None:
        """Wait until nobody else has a transaction open that took this turn; ours lasts to the end of this one."""
        self.execute("SELECT pg_advisory_xact_lock(?)", (lock_number(self.schema, what),))

    def alone(self) -> None:
        """Wait until nobody else has changes open, and let nobody make any before this transaction is over."""
        self.execute(f"LOCK TABLE {', '.join(_WRITTEN)} IN SHARE ROW EXCLUSIVE MODE")

    def __enter__(self) -> Self:
        """Read as of one moment from here on."""
        self.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
        return self

    def __exit__(self, *ended: object) -> None:
        """Read what is new again."""
        self.roll_back()

    def roll_back(self) -> None:
        """End what is open, if the session still lives; nothing of it has happened."""
        if not self.wire.closed and self.wire.info.transaction_status != TransactionStatus.IDLE:
            self.execute("ROLLBACK")

    def close(self) -> None:
        """End the session, and with it what is open in it."""
        self.wire.close()

    def _failed(self, error: psycopg.Error) -> Exception:
        """What the error is to the transaction."""
        state = error.sqlstate or ""
        if state in _AGAIN:
            return Again(state)
        told = translate(error)
        here = not state and isinstance(error, psycopg.DataError | psycopg.ProgrammingError)  # said before it was sent
        if here or (state and not state.startswith(_WHOLE) and not self.wire.closed):
            return told
        return Gone(told)


class _Bit(Int8Dumper):
    """A truth as 1 or 0, as the tables hold it."""

    def dump(self, obj: bool) -> bytes:
        return b"1" if obj else b"0"


_AGAIN = frozenset({"23505", "40001", "40P01"})
"""Another's row of the same name, an order that cannot be, a deadlock."""
_WHOLE = ("08", "25", "53", "57", "58", "XX")
"""Classes of errors of the session or the server, not of one statement."""


def lock_number(schema: str, what: str) -> int:
    """The number of an advisory lock, among all of a database."""
    return int.from_bytes(sha256(f"remit.{schema}\n{what}".encode()).digest()[:8], "big", signed=True)


_WRITTEN = tuple(f"remit_{name}" for name in ("run", "operation", "approval", "inbox", "notice", "conversation", "blob"))

_MEANS: dict[str, tuple[str, str, bool]] = {
    "25006": (
        "it allows only reads (a standby, or after a failover); name the primary and try again",
        "unavailable",
        True,
    ),
    "25P03": ("ended a session that was idle within a transaction; try again", "unavailable", True),
    "53100": ("its disk is full; free some space there and try again", "full", True),
    "53300": ("it has no connection left for us; allow more of them, or open fewer ledgers", "unavailable", True),
    "55P03": ("a row is locked by another process for too long; try again", "unavailable", True),
    "57P01": ("it is being shut down, or ended our session; try again", "unavailable", True),
    "57P02": ("it has crashed and restarts; try again", "unavailable", True),
    "57P03": ("it is starting up; try again in a moment", "unavailable", True),
    "28P01": ("the password is refused; see the name and password of the ledger", "unavailable", False),
    "28000": ("the login is refused; see the name of the ledger and the server's pg_hba.conf", "unavailable", False),
    "3D000": ("there is no such database; make it first", "none", False),
    "42501": ("this login lacks a right there; grant it, or let its owner run `remit migrate`", "unavailable", False),
    "XX001": ("a page of it is damaged; restore it from a backup", "corrupt", False),
    "XX002": ("an index of it is damaged; rebuild it (REINDEX)", "corrupt", False),
}


def translate(error: Exception, name: str = "PostgreSQL") -> RemitError:
    """What a failure of the server, or of the way to it, means to a program, with the mend."""
    if isinstance(error, RemitError):
        return error
    if isinstance(error, Gone):
        return error.error
    state = (error.sqlstate or "") if isinstance(error, psycopg.Error) else ""
    if state in _MEANS:
        said, code, retryable = _MEANS[state]
        return LedgerError(f"{name}: {said}", code=f"ledger.{code}", retryable=retryable)
    if isinstance(error, psycopg.DataError) and not state:
        return InputError("a text holds a NUL, which PostgreSQL does not keep; leave it out", code="text.nul")
    if not state:
        return LedgerError(f"{name} cannot be reached, or the connection broke; see the server and try again")
    return LedgerError(f"{name} could not be read or written (SQLSTATE {state}); see the server's log")


_SAID_OTHERWISE = (
    ("instr(", "0 < strpos("),
    ("typeof(p.text) = 'blob'", "false"),  # PostgreSQL compresses by itself: there are texts only
    ("typeof(p.text) = 'text'", "false"),
    ("typeof(text) = 'text'", "false"),
)
_HINT = re.compile(r" INDEXED BY \w+")


@lru_cache(maxsize=512)
def _plain(sql: str) -> LiteralString:
    """The statement as PostgreSQL understands it: it takes no hints, and calls one function otherwise."""
    sql = _HINT.sub("", sql)
    for theirs, ours in _SAID_OTHERWISE:
        sql = sql.replace(theirs, ours)
    return cast("LiteralString", sql)


@lru_cache(maxsize=512)
def _bound(sql: str) -> LiteralString:
    """The same with the library's places for values."""
    return _plain(sql).replace("%", "%%").replace("?", "%s")
