"""The tasks of one run in this process: they do what stands in a queue, and the first that fails ends them all.

Knows asyncio only. Invariant: whatever is in the queue is taken by a task that is done with something else in this very
pass of the event loop, or has one of its own in the next. No task outlives `leave`, and no error of a task is lost; one
that ends cancelled although nobody here cancelled it has failed.
"""

from __future__ import annotations

import asyncio
import contextvars
from collections import deque
from collections.abc import Callable, Coroutine
from typing import Generic, TypeVar

from remit.errors import RemitError

__all__ = ["Crew"]

T = TypeVar("T")

_LEAVE_S = 5.0


class Crew(Generic[T]):
    """Tasks for a queue: most of a run is one thing after the other, and then they are one task.

    Args:
        queue: what is to be done, in this order; filled by others, who then `call`.
        do: does one thing.
        news: set when a task ends.
    """

    def __init__(self, queue: deque[T], do: Callable[[T], Coroutine[object, object, None]], news: asyncio.Event) -> None:
        self._queue = queue
        self._do = do
        self._news = news
        self._loop = asyncio.get_running_loop()
        self._context = contextvars.copy_context()
        self._tasks: set[asyncio.Task[None]] = set()
        self._watching: asyncio.Task[None] | None = None
        self._cancelled: set[asyncio.Task[None]] = set()
        self._called = False
        self._left = False
        self.failure: BaseException | None = None

    @property
    def busy(self) -> bool:
        """Whether something is under way, or about to be."""
        return bool(self._tasks or self._queue)

    def call(self) -> None:
        """There is something in the queue."""
        if not self._called and not self._left:
            self._called = True
            self._loop.call_soon(self._staff, context=self._context)

    def _staff(self) -> None:
        self._called = False
        for _ in range(0 if self._left else len(self._queue)):
            self._tasks.add(self._spawn(self._work()))

    async def _work(self) -> None:
        """One thing after the other; whoever was interrupted, and would not hear of it, takes nothing more."""
        task = asyncio.current_task()
        while self._queue and task not in self._cancelled:
            await self._do(self._queue.popleft())

    def _spawn(self, work: Coroutine[object, object, None]) -> asyncio.Task[None]:
        task = self._loop.create_task(work)
        task.add_done_callback(self._finished, context=self._context)
        return task

    def watch(self, work: Coroutine[object, object, None]) -> None:
        """Start the one task beside the queue, which goes on until `leave`."""
        self._watching = self._spawn(work)

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

    async def settle(self) -> None:
        """Wait until nothing is under way, or something has failed."""
        while self.failure is None and self._tasks:
            await asyncio.wait(self._tasks)

    async def leave(self) -> None:
        """Start nothing more, and cancel what is under way. A task that does not let go in time is left behind."""
        self._left = True
        tasks = self._tasks | ({self._watching} if self._watching is not None else set[asyncio.Task[None]]())
        for task in tasks:
            self.cancel(task)
        if tasks:
            await asyncio.wait(tasks, timeout=_LEAVE_S)
