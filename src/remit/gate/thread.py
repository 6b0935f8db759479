"""Daemon threads of our own for handlers that block: one call each, with the caller's context.

Knows no tool. Invariant: what a function does is reported exactly once, to the waiting loop if it
still waits, else to `late`, in the thread, whatever has become of the loop.
"""

from __future__ import annotations

import asyncio
import contextvars
import threading
from collections.abc import Callable
from typing import Generic, TypeVar

__all__ = ["Worker"]

T = TypeVar("T")


class Worker(Generic[T]):
    """One call of a blocking function.

    Args:
        function: must not raise; it returns what happened.
        late: is told instead of the waiter, once `abandon` was called or the loop is gone. From the thread.
        name: of the thread, for people.

    Raises:
        RuntimeError: the machine cannot start another thread.
    """

    def __init__(self, function: Callable[[], T], late: Callable[[T], None], name: str) -> None:
        self._late = late
        self._lock = threading.Lock()
        self._abandoned = False
        self._reported = False
        self._loop = asyncio.get_running_loop()
        self.future: asyncio.Future[T] = self._loop.create_future()
        context = contextvars.copy_context()
        self._thread = threading.Thread(target=lambda: self._report(context.run(function)), name=name, daemon=True)
        self._thread.start()

    def abandon(self) -> bool:
        """Stop waiting. False if the report is already on its way to `future`, which then must be awaited."""
        with self._lock:
            self._abandoned = not self._reported
            return self._abandoned

    def _report(self, result: T) -> None:
        with self._lock:
            if not self._abandoned:
                try:
                    self._loop.call_soon_threadsafe(self._deliver, result)
                except RuntimeError:  # the loop is closed: nobody waits any more
                    self._abandoned = True
                else:
                    self._reported = True
        if self._abandoned:
            self._late(result)

    def _deliver(self, result: T) -> None:
        if not self.future.done():
            self.future.set_result(result)
