"""Telling those who wait that something was written: in this process at once, by another within a moment.

Knows threads and loops; of the store only how to see that somebody else wrote. Invariant: who
registers and then looks misses nothing. Waiting is real time: others do not live by our clock.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Awaitable, Callable, Generator, Iterable

import apsw

from remit.errors import LedgerError
from remit.types.ident import RunId

__all__ = ["POLL_S", "Poller", "Watch"]

POLL_S = 0.05
"""How often another process's writes are looked for, while anybody waits."""

Topic = RunId | None
"""A run's inbox, or everything."""


class _Waiter:
    """Somebody on an event loop, to be woken from any thread."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._woken = asyncio.Event()

    def wake(self) -> None:
        with contextlib.suppress(RuntimeError):  # its loop is closed: nobody waits
            self._loop.call_soon_threadsafe(self._woken.set)

    async def woken(self) -> None:
        await self._woken.wait()
        self._woken.clear()


class Watch:
    """Who waits for what. `count` grows with everything that is written."""

    def __init__(self) -> None:
        self.count = 0
        self.closed = False
        self._waiting: dict[Topic, dict[_Waiter, None]] = {}  # in the order in which they came
        self._changed = threading.Condition()

    def tell(self, posted: Iterable[RunId]) -> None:
        """Something was committed, and the inboxes of these runs grew."""
        with self._changed:
            self.count += 1
            if not self._waiting:
                return
            topics: list[Topic] = [None, *sorted(posted)]
            waiters = [waiter for topic in topics for waiter in self._waiting.get(topic, ())]
        for waiter in waiters:
            waiter.wake()

    def close(self) -> None:
        """Wake everybody for the last time."""
        with self._changed:
            self.closed = True
            self._changed.notify_all()
        self.rouse()

    def rouse(self) -> None:
        """Wake everybody, to look again."""
        with self._changed:
            waiters = [waiter for topic in self._waiting.values() for waiter in topic]
        for waiter in waiters:
            waiter.wake()

    async def until(self, topic: Topic, true: Callable[[], Awaitable[bool]], timeout_s: float) -> bool:
        """Wait until `true()`, which is asked whenever the topic is told of. False when the time is up."""
        if await true():
            return True
        if timeout_s <= 0:
            return False
        with self._registered(topic) as waiter:
            try:
                async with asyncio.timeout(timeout_s):
                    while not await true():
                        if self.closed:
                            raise LedgerError("the ledger is closed; open it again", code="ledger.closed")
                        await waiter.woken()
            except TimeoutError:
                return await true()
        return True

    def until_somebody_waits(self) -> bool:
        """Block this thread until somebody waits; False when there is no more to wait for."""
        with self._changed:
            self._changed.wait_for(lambda: self.closed or bool(self._waiting))
            return not self.closed

    @contextlib.contextmanager
    def _registered(self, topic: Topic) -> Generator[_Waiter]:
        waiter = _Waiter()
        with self._changed:
            self._waiting.setdefault(topic, {})[waiter] = None
            self._changed.notify_all()
        try:
            yield waiter
        finally:
            with self._changed:
                self._waiting[topic].pop(waiter, None)
                if not self._waiting[topic]:
                    del self._waiting[topic]


class Poller:
    """One thread that looks for other processes' writes, and sleeps while nobody waits.

    Args:
        look: looks, and tells the watch of what it sees. Who waits asks the store too, and is told there if it fails.
    """

    def __init__(self, watch: Watch, look: Callable[[], None]) -> None:
        self._watch = watch
        self._look = look
        self._pause = threading.Event()
        self._thread = threading.Thread(target=self._serve, name="remit-ledger-watch", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """End it; the watch must be closed."""
        self._pause.set()
        self._thread.join()

    def _serve(self) -> None:
        while self._watch.until_somebody_waits():
            with contextlib.suppress(apsw.Error):
                self._look()
            self._pause.wait(POLL_S)
