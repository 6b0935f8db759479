"""A handler's work in a transaction: run in a thread of its own, up to a deadline, and committed with the ledger's append.

Knows threads and one event loop; not what is written. Invariant: the transaction is over at the
deadline, whatever the handler or the loop does, and it is over when this returns.
"""

from __future__ import annotations

import asyncio
import contextvars
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Generic, TypeVar

import apsw

from remit import ambient
from remit.errors import LedgerError
from remit.ledger.append import prepare
from remit.ledger.schema import translate
from remit.ledger.session import Session
from remit.ledger.turn import Turn
from remit.types.connection import Connection
from remit.types.ledger import Append, Committed

__all__ = ["Sessions", "transact"]

T = TypeVar("T")


class Sessions:
    """The transactions of handlers on one open ledger: one at a time, and nobody else of this process writes meanwhile.

    Args:
        turn: who may write.
        make: begins one; it calls what it is given when that is over.
    """

    def __init__(self, turn: Turn, make: Callable[[Callable[[], None]], Session]) -> None:
        self._turn = turn
        self._make = make
        self._guard = threading.Lock()
        self._closed = False
        self._current: Session | None = None

    def begin(self) -> Session:
        """The next one, once it is its turn. Blocks.

        Raises:
            LedgerError: it cannot be begun, or the ledger was closed meanwhile.
        """
        self._turn.take()
        try:
            session = self._make(self._turn.give)
        except BaseException as error:
            self._turn.give()
            if isinstance(error, apsw.Error | OSError):
                raise translate(error) from error
            raise
        with self._guard:
            self._current = session
            closed = self._closed
        if closed:
            session.roll_back()
            raise LedgerError("the ledger is closed; open it again", code="ledger.closed")
        return session

    def close(self) -> None:
        """Roll back what is open; nothing begins any more."""
        with self._guard:
            self._closed = True
            session = self._current
        if session is not None:
            session.expire()


@dataclass(slots=True)
class _Attempt(Generic[T]):
    """The thread that the handler runs in, and what it tells the loop."""

    begin: Callable[[], Session]
    work: Callable[[Connection], T]
    timeout_s: float
    loop: asyncio.AbstractEventLoop
    told: asyncio.Future[tuple[Session, T]]
    session: Session | None = None
    timer: threading.Timer | None = None
    dropped: bool = False
    guard: threading.Lock = field(default_factory=threading.Lock)

    def run(self) -> None:
        try:
            session = self._begin()
        except BaseException as error:
            self._tell(None, error)
            return
        try:
            value = self.work(session.statements)
        except BaseException as error:  # the work is foreign code: whatever it raises, it is rolled back
            session.roll_back()
            late = isinstance(error, LedgerError) and error.code == "transaction.over"
            self._tell(None, TimeoutError("the transaction was ended at its deadline") if late else error)
        else:
            self._tell((session, value), None)

    def drop(self) -> None:
        """Nobody waits any more: end it, now or as soon as it begins."""
        with self.guard:
            self.dropped = True
            session = self.session
        if session is not None:
            session.expire()

    def _begin(self) -> Session:
        session = self.begin()
        with self.guard:
            self.session = session
            dropped = self.dropped
        if dropped:
            session.roll_back()
            raise TimeoutError("nobody waits for it any more")
        self.timer = threading.Timer(self.timeout_s, self._expire, (session,))
        self.timer.daemon = True
        self.timer.start()
        ambient.reach("transact.begun")
        return session

    def _expire(self, session: Session) -> None:
        if session.expire():
            self._tell(None, TimeoutError("the transaction was ended at its deadline"))

    def _tell(self, done: tuple[Session, T] | None, error: BaseException | None) -> None:
        try:
            self.loop.call_soon_threadsafe(self._settle, done, error)
        except RuntimeError:  # the loop is closed: nobody waits, and nothing is committed
            if done is not None:
                done[0].roll_back()

    def _settle(self, done: tuple[Session, T] | None, error: BaseException | None) -> None:
        if self.told.done():
            return
        if done is not None:
            self.told.set_result(done)
        else:
            self.told.set_exception(_carried(error))


def _carried(error: BaseException | None) -> Exception:
    """A future takes no StopIteration, and nothing that would end the loop."""
    if isinstance(error, Exception) and not isinstance(error, StopIteration):
        return error
    return RuntimeError(f"the work in a transaction ended with {type(error).__name__}")


async def transact(
    begin: Callable[[], Session],
    work: Callable[[Connection], T],
    outcome: Callable[[T], Append | None],
    *,
    timeout_s: float,
) -> Committed | None:
    """See `Ledger.transact`. `begin` blocks until the transaction is open."""
    loop = asyncio.get_running_loop()
    attempt = _Attempt(begin, work, timeout_s, loop, loop.create_future())
    context = contextvars.copy_context()
    threading.Thread(target=context.run, args=(attempt.run,), name="remit-transaction", daemon=True).start()
    try:
        session, value = await attempt.told
        append = outcome(value)
        if append is None:
            await asyncio.to_thread(session.roll_back)
            return None
        prepared = prepare(append)
        ambient.reach("transact.returned")
        return await asyncio.to_thread(session.commit, prepared)
    finally:
        attempt.drop()
        if attempt.timer is not None:
            attempt.timer.cancel()
