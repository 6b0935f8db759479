"""The tasks of one run in this process: they do what stands in their queue, and the first that fails ends them all.

Knows asyncio only. Invariant: once they are started, whatever is in the queue is taken by a task that is done with
something else in this very pass of the event loop, or has one of its own in the next. No task outlives `leave`, and no
error of a task is lost; one that ends cancelled although nobody here cancelled it has failed.
"""

from __future__ import annotations

import asyncio
import contextvars
from collections import deque
from collections.abc import Callable, Coroutine
from typing import Generic, TypeVar

from remit.errors import RemitError

__all__ = ["Workers"]

T = TypeVar("T")

_LEAVE_S = 5.0
_BREATH = 8
"""So many things a task does at most, one after the other without a wait, before it lets others go on."""


class Workers(Generic[T]):
    """Tasks for a queue: most of a run is one thing after the other, and then they are one task.

    Attributes:
        failure: what the first task that failed ended with.
    """

    def __init__(self) -> None:
        self._queue: deque[T] = deque()
        self._do: Callable[[T], Coroutine[object, object, None]] | None = None
        self._news = asyncio.Event()
        self._context: contextvars.Context | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._watching: asyncio.Task[None] | None = None
        self._cancelled: set[asyncio.Task[None]] = set()
        self._called = False
        self._passes = 0
        self._resting = 0
        self.failure: BaseException | None = None

    @property
    def busy(self) -> bool:
        """Whether something is under way, or about to be."""
        return bool(self._tasks or self._queue)

    def put(self, thing: T) -> None:
        """One more thing is to be done, after those that are in the queue."""
        self._queue.append(thing)
        self._call()

    def start(self, do: Callable[[T], Coroutine[object, object, None]], *, beside: Coroutine[object, object, None]) -> None:
        """Begin with what is in the queue.

        Args:
            do: does one thing.
            beside: what goes on beside the queue, until `leave`.
        """
        self._do = do
        self._context = contextvars.copy_context()
        self._watching = self._spawn(beside)
        self._call()

    def _call(self) -> None:
        if self._do is not None and not self._called:
            self._called = True
            asyncio.get_running_loop().call_soon(self._staff, self._do, context=self._context)

    def _staff(self, do: Callable[[T], Coroutine[object, object, None]]) -> None:
        self._called = False
        self._passes += 1
        for _ in range(0 if self._do is None else len(self._queue) - self._resting):
            self._tasks.add(self._spawn(self._work(do)))

    async def _work(self, do: Callable[[T], Coroutine[object, object, None]]) -> None:
        """One thing after the other; whoever was interrupted, and would not hear of it, takes nothing more."""
        task = asyncio.current_task()
        done, passes = 0, self._passes
        while self._queue and task not in self._cancelled:
            await do(self._queue.popleft())
            if passes != self._passes:  # something has waited
                done, passes = 0, self._passes
            done += 1
            if done == _BREATH:
                await self._breathe()
                done = 0

    async def _breathe(self) -> None:
        """Let others go on, whom what never waits itself would keep from it; and then take the next thing."""
        self._resting += 1
        try:
            await asyncio.sleep(0)
        finally:
            self._resting -= 1

    def _spawn(self, work: Coroutine[object, object, None]) -> asyncio.Task[None]:
        task = asyncio.get_running_loop().create_task(work)
        task.add_done_callback(self._finished, context=self._context)
        return task

    def cancel(self, task: asyncio.Task[None]) -> None:
        """Interrupt a task, if it has not ended."""
        if not task.done():
            self._cancelled.add(task)
            task.cancel()

    def _finished(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled():
            self.failure = self.failure or task.exception()
        elif task not in self._cancelled:
            message = "a task of the run was cancelled from outside; what it was doing is taken up again"
            self.failure = self.failure or RemitError(message, code="run.interrupted", retryable=True)
        self._cancelled.discard(task)
        self._news.set()
        if self._queue:
            self._call()

    def notify(self) -> None:
        """Whoever waits in `changed` has something to look at."""
        self._news.set()

    async def changed(self) -> None:
        """Return once a task has ended, or somebody has notified, since the last time."""
        await self._news.wait()
        self._news.clear()

    async def settle(self) -> None:
        """Wait until nothing is under way, or something has failed."""
        while self.failure is None and self._tasks:
            await asyncio.wait(self._tasks)

    async def leave(self) -> None:
        """Start nothing more, and cancel what is under way. A task that does not let go in time is left behind."""
        self._do = None
        tasks = self._tasks | ({self._watching} if self._watching is not None else set[asyncio.Task[None]]())
        for task in tasks:
            self.cancel(task)
        if tasks:
            await asyncio.wait(tasks, timeout=_LEAVE_S)
