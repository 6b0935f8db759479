"""The tasks of one run in this process: the first that fails ends them all.

Knows asyncio only. Invariant: no task outlives `leave`, and no error of a task is lost; one that ends cancelled
although nobody here cancelled it has failed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine

from remit.errors import RemitError

__all__ = ["Crew"]

_LEAVE_S = 5.0


class Crew:
    """Tasks that wake whoever waits for them.

    Args:
        wake: set when a task ends.
    """

    def __init__(self, wake: asyncio.Event) -> None:
        self._wake = wake
        self._tasks: set[asyncio.Task[object]] = set()
        self._watching: asyncio.Task[object] | None = None
        self._cancelled: set[asyncio.Task[object]] = set()
        self.failure: BaseException | None = None

    def spawn(self, work: Coroutine[object, object, object]) -> asyncio.Task[object]:
        """Start a task."""
        task: asyncio.Task[object] = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._finished)
        return task

    def watch(self, work: Coroutine[object, object, object]) -> None:
        """Start the one task that goes on until `leave`."""
        self._watching = self.spawn(work)

    def cancel(self, task: asyncio.Task[object]) -> None:
        """Interrupt a task, if it has not ended."""
        if not task.done():
            self._cancelled.add(task)
            task.cancel()

    def _finished(self, task: asyncio.Task[object]) -> None:
        self._tasks.discard(task)
        if not task.cancelled():
            self.failure = self.failure or task.exception()
        elif task not in self._cancelled:
            message = "a task of the run was cancelled from outside; what it was doing is taken up again"
            self.failure = self.failure or RemitError(message, code="run.interrupted", retryable=True)
        self._cancelled.discard(task)
        self._wake.set()

    @property
    def working(self) -> set[asyncio.Task[object]]:
        """The tasks that come to an end by themselves."""
        return {task for task in self._tasks if task is not self._watching}

    async def settle(self) -> None:
        """Wait until nothing is under way, or something has failed."""
        while self.failure is None and self.working:
            await asyncio.wait(self.working)

    async def leave(self) -> None:
        """Cancel what is under way. A task that does not let go in time is left behind."""
        for task in set(self._tasks):
            self.cancel(task)
        if self._tasks:
            await asyncio.wait(set(self._tasks), timeout=_LEAVE_S)
