"""Sessions for reading, lent to threads: a question never keeps the event loop waiting.

Knows threads and sessions; not what is asked. Invariant: no more sessions than threads, and a
question whose session turns out to be broken is asked once more in a new one.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from remit.ledger.postgres.database import Again, Gone, PostgresDatabase, translate

__all__ = ["Readers"]

T = TypeVar("T")


class Readers:
    """Asks up to `size` questions at a time.

    Args:
        connect: opens a session.
    """

    def __init__(self, connect: Callable[[], PostgresDatabase], size: int) -> None:
        self._connect = connect
        self._idle: list[PostgresDatabase] = []
        self._guard = threading.Lock()
        self._closed = False
        self._threads = ThreadPoolExecutor(size, thread_name_prefix="remit-postgres-read")

    async def ask(self, query: Callable[[PostgresDatabase], T]) -> T:
        """The answer. Raises `LedgerError`, or what the query raises."""
        return await asyncio.get_running_loop().run_in_executor(self._threads, self._ask, query)

    def close(self) -> None:
        """End the threads and the sessions. Blocks."""
        self._threads.shutdown()
        with self._guard:
            self._closed = True
            idle, self._idle = self._idle, []
        for db in idle:
            db.close()

    def _ask(self, query: Callable[[PostgresDatabase], T]) -> T:
        db, fresh = self._lend()
        try:
            return self._answer(db, query)
        except Gone as gone:
            if fresh:
                raise translate(gone) from gone
        db = self._connect()
        try:
            return self._answer(db, query)
        except Gone as gone:
            raise translate(gone) from gone

    def _answer(self, db: PostgresDatabase, query: Callable[[PostgresDatabase], T]) -> T:
        """Ask, and keep the session if it is still good."""
        try:
            found = query(db)
        except (Gone, Again) as error:
            db.close()
            raise error if isinstance(error, Gone) else Gone(translate(error)) from error
        except BaseException:
            self._keep(db)
            raise
        self._keep(db)
        return found

    def _lend(self) -> tuple[PostgresDatabase, bool]:
        with self._guard:
            if self._idle:
                return self._idle.pop(), False
        return self._connect(), True

    def _keep(self, db: PostgresDatabase) -> None:
        with self._guard:
            if not self._closed and not db.wire.closed:
                self._idle.append(db)
                return
        db.close()
