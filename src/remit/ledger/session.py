"""One handler's transaction: open for its statements, then sealed for the ledger's own append, and over once.

Knows when it may be used, by which thread and until when; not the database, which each kind of it says. Invariant: what a
handler wrote is committed together with the append that says so, or not at all, and whoever ends
the transaction first ends it for all.
"""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from typing import Literal

from remit import ambient
from remit.errors import LedgerError
from remit.ledger.append import Prepared
from remit.types.connection import SqlRow, SqlValues
from remit.types.ident import RunId
from remit.types.ledger import Committed

__all__ = ["Mark", "Session", "Statements", "over", "rolled_back"]

Mark = tuple[RunId, int, bytes]
"""Run, place and hash of a page: where it is found, the transaction is in the store."""


class Session(ABC):
    """A transaction that has begun.

    Args:
        over: called once, when the transaction is over, whatever became of it.
    """

    def __init__(self, over: Callable[[], None]) -> None:
        self._over = over
        self._state: Literal["open", "lost", "expired", "sealed", "over"] = "open"
        self._changing = threading.Lock()
        self._using = threading.Lock()

    # what the kinds say

    @abstractmethod
    def _run(self, sql: str, values: SqlValues) -> list[SqlRow]:
        """Run a statement of the handler's. Raises `over()` where it was interrupted, `transaction.denied` where it may not."""

    @abstractmethod
    def _is_begun(self) -> bool:
        """Whether the database still has the transaction."""

    @abstractmethod
    def _interrupt(self) -> None:
        """End the statement that runs now, from another thread."""

    @abstractmethod
    def _commit(self, prepared: Prepared) -> Committed:
        """Append, and commit; see `commit`."""

    @abstractmethod
    def _shut(self) -> None:
        """Close the connection; what is not committed is rolled back. Never raises, and twice is harmless."""

    # what they have in common

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
            LedgerError: `transaction.rolled_back`: a statement of the handler had ended it or may not stand, what it declared
                (a deferred constraint) does not hold, or another's transaction came between; else it could not be
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
            raise rolled_back(_ENDED)
        with self._using:
            try:
                if not self._is_begun():  # a thread that the handler left behind was still writing, and was interrupted
                    raise rolled_back(_ENDED)
                return self._commit(prepared)
            finally:
                self._close()

    def _query(self, sql: str, each: Iterable[SqlValues]) -> list[SqlRow]:
        found: list[SqlRow] = []
        with self._using:
            for values in each:
                if self._state != "open":
                    raise over()
                ambient.reach("transact.statement")
                try:
                    found += self._run(sql, values)
                finally:
                    self._look()
        return found

    def _look(self) -> None:
        """An error may end a transaction (a full disk, an interrupt, any at all): what came after that would be on its own."""
        if not self._is_begun():
            with self._changing:
                if self._state == "open":
                    self._state = "lost"

    def _end(self, state: Literal["expired", "over"]) -> bool:
        with self._changing:
            if self._state not in ("open", "lost"):
                return False
            self._state = state
        self._interrupt()
        self._finish()
        return True

    def _finish(self) -> None:
        with self._using:
            self._close()

    def _close(self) -> None:
        """Roll back what is not committed, and tell that it is over."""
        self._state = "expired" if self._state == "expired" else "over"
        self._shut()
        tell, self._over = self._over, _nothing
        tell()


class Statements:
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


def _own(values: SqlValues) -> SqlValues:
    """The values in a container of our own: what the handler's does when it is read is done before the lock is held."""
    return dict(values) if isinstance(values, Mapping) else tuple(values)


def rolled_back(why: str) -> LedgerError:
    """Nothing of it has happened."""
    return LedgerError(f"the transaction was rolled back: {why}", code="transaction.rolled_back", retryable=False)


def over() -> LedgerError:
    """It takes no more statements."""
    return LedgerError("the transaction is over: nothing more is written in it", code="transaction.over", retryable=False)


def _nothing() -> None:
    """It was told already."""


_ENDED = "a statement of the handler had ended it"
