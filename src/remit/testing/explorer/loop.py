"""An event loop whose time is a number and whose every step is taken by somebody else, one at a time.

Knows what tasks, futures and timeouts need of a loop; no socket, thread or clock. Invariant: nothing runs but in `step`,
and equal steps in equal order make equal runs: its tasks and futures hash by the order in which they were made.
"""

from __future__ import annotations

import asyncio
import contextlib
import heapq
from asyncio import events
from collections import deque
from collections.abc import Callable, Coroutine, Generator
from contextvars import Context
from typing import Protocol, TypeVar, TypeVarTuple, cast

__all__ = ["Clock", "Loop"]

_LAST_WORDS = 200
"""How often something that is dead may wait on its way out."""
T = TypeVar("T")
Ts = TypeVarTuple("Ts")


class _Gone(BaseException):
    """Raised where something stood that is dead, and once more wherever it waits on its way out."""


class Clock(Protocol):
    """Virtual time, in seconds, and numbers that only grow."""

    @property
    def now_s(self) -> float: ...

    def number(self) -> int: ...


class _Task(asyncio.Task[T]):
    """A task that hashes by its number, so that sets of tasks have one order."""

    def __init__(
        self, coro: Coroutine[object, object, T], number: int, *, loop: Loop, name: str | None, context: Context | None
    ) -> None:
        self._number = number
        super().__init__(coro, loop=loop, name=name or "task", context=context)

    def __hash__(self) -> int:
        return self._number

    def __eq__(self, other: object) -> bool:
        return self is other


class _Future(asyncio.Future[T]):
    """A future that hashes by its number."""

    def __init__(self, number: int, *, loop: Loop) -> None:
        self._number = number
        super().__init__(loop=loop)

    def __hash__(self) -> int:
        return self._number

    def __eq__(self, other: object) -> bool:
        return self is other


class Loop(asyncio.AbstractEventLoop):
    """One process's event loop.

    Args:
        process: its number.

    Attributes:
        errors: what callbacks raised.
    """

    def __init__(self, clock: Clock, process: int = 1) -> None:
        self.process = process
        self._clock = clock
        self._ready: deque[asyncio.Handle] = deque()
        self._timers: list[tuple[float, int, asyncio.TimerHandle]] = []
        self._tasks: list[_Task[object]] = []
        self._closed = False
        self.errors: list[str] = []

    # what whoever steps it asks

    @property
    def ready(self) -> int:
        """How many steps could be taken now."""
        self._due()
        return len(self._ready)

    @property
    def next_s(self) -> float | None:
        """When its next timer is due; None if there is none."""
        while self._timers and self._timers[0][2].cancelled():
            heapq.heappop(self._timers)
        return self._timers[0][0] if self._timers else None

    def step(self) -> None:
        """Run the first thing that is ready."""
        handle = self._ready.popleft()
        if not handle.cancelled():
            handle._run()  # pyright: ignore[reportPrivateUsage]  # there is no other way to run a handle

    def end(self) -> None:
        """Never step again: what is suspended is closed, and what it says on its way out is not heard."""
        self._closed = True
        self._ready.clear()
        self._timers.clear()
        before = events._get_running_loop()  # pyright: ignore
        events._set_running_loop(self)
        try:
            for task in self._tasks:
                _close(task)
        finally:
            events._set_running_loop(before)
        self._tasks.clear()
        self._ready.clear()
        self._timers.clear()

    def _due(self) -> None:
        timers, now_s = self._timers, self._clock.now_s
        while timers and timers[0][0] <= now_s:
            handle = heapq.heappop(timers)[2]
            if not handle.cancelled():
                self._ready.append(handle)

    # what asyncio asks

    def time(self) -> float:
        """Virtual time."""
        return self._clock.now_s

    def call_soon(  # pyright: ignore[reportIncompatibleMethodOverride]
        self, callback: Callable[[*Ts], object], *args: *Ts, context: Context | None = None
    ) -> asyncio.Handle:
        """Run it at one of the next steps."""
        handle = asyncio.Handle(callback, args, self, context)
        if not self._closed:
            self._ready.append(handle)
        return handle

    call_soon_threadsafe = call_soon

    def call_later(  # pyright: ignore[reportIncompatibleMethodOverride]
        self, delay: float, callback: Callable[[*Ts], object], *args: *Ts, context: Context | None = None
    ) -> asyncio.TimerHandle:
        """Run it after `delay` seconds of virtual time."""
        return self.call_at(self._clock.now_s + delay, callback, *args, context=context)

    def call_at(  # pyright: ignore[reportIncompatibleMethodOverride]
        self, when: float, callback: Callable[[*Ts], object], *args: *Ts, context: Context | None = None
    ) -> asyncio.TimerHandle:
        """Run it at a moment of virtual time."""
        handle = asyncio.TimerHandle(when, callback, args, self, context)
        if not self._closed:
            heapq.heappush(self._timers, (when, self._clock.number(), handle))
        return handle

    def create_future(self) -> asyncio.Future[object]:
        """A future of this loop."""
        return _Future(self._clock.number(), loop=self)

    def create_task(  # pyright: ignore[reportIncompatibleMethodOverride]
        self,
        coro: Generator[object, None, T] | Coroutine[object, object, T],
        *,
        name: str | None = None,
        context: Context | None = None,
    ) -> asyncio.Task[T]:
        """A task of this loop."""
        work = cast("Coroutine[object, object, T]", coro)
        task: _Task[T] = _Task(work, self._clock.number(), loop=self, name=name, context=context)
        self._tasks.append(cast("_Task[object]", task))
        if len(self._tasks) > 512:
            self._tasks = [one for one in self._tasks if not one.done()]
        return task

    def run_in_executor(self, executor: object, func: Callable[..., object], *args: object) -> asyncio.Future[object]:  # pyright: ignore
        """There are no threads here: it is run at once."""
        future = self.create_future()
        try:
            future.set_result(func(*args))
        except Exception as error:  # foreign code: whoever waits is told
            future.set_exception(error)
        return future

    def get_debug(self) -> bool:
        """Never."""
        return False

    def is_running(self) -> bool:
        """As long as it has not ended."""
        return not self._closed

    def is_closed(self) -> bool:
        """Whether it has ended."""
        return self._closed

    def call_exception_handler(self, context: dict[str, object]) -> None:
        """Keep what a callback raised."""
        if not self._closed and "handle" in context:
            self.errors.append(f"{context.get('message')}: {type(context.get('exception')).__name__}")

    def _timer_handle_cancelled(self, handle: asyncio.TimerHandle) -> None:
        """It is left out when its time comes."""


def _close(task: _Task[object]) -> None:
    if task.done():
        return
    task._log_destroy_pending = False  # type: ignore[attr-defined]
    with contextlib.suppress(BaseException):  # it is dead: nothing that it says counts
        for _ in range(_LAST_WORDS):
            task.get_coro().throw(_Gone())
