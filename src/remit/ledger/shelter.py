"""Awaiting work that goes on where whoever waits for it is cancelled.

Knows coroutines and futures, not what the work is. Invariant: once it has begun, the work is
interrupted by nothing but the end of its loop; and as long as nobody cancels, it costs no task.
"""

from __future__ import annotations

import asyncio
import types
from collections.abc import Coroutine, Generator
from typing import TypeVar, cast

__all__ = ["Waiter", "shelter"]

T = TypeVar("T")

Waited = asyncio.Future[object] | None
"""What a coroutine waits for: a future, or only for its next turn."""


class Waiter(asyncio.Future[T]):
    """A future whose giver wakes who is sheltered at once, and not a turn of the loop later."""

    proxy: asyncio.Future[None] | None = None

    def wake(self) -> None:
        """To be called once it is done."""
        if self.proxy is not None and not self.proxy.done():
            self.proxy.set_result(None)


@types.coroutine
def shelter(work: Coroutine[object, None, T]) -> Generator[object, None, T]:
    """The work's value. It runs in the caller's task and, if that is cancelled meanwhile, on in one of its own."""
    while True:
        try:
            waited = _step(work)
        except StopIteration as end:
            return end.value
        try:
            if waited is None:
                yield
            else:
                yield from _proxy(waited)
        except asyncio.CancelledError:
            _go_on(work, waited)
            raise
        except BaseException:  # the caller is closed: its loop is over
            work.close()
            raise


def _step(work: Coroutine[object, None, object]) -> Waited:
    """Run the work until it waits."""
    waited = cast("Waited", work.send(None))
    if waited is not None:
        waited._asyncio_future_blocking = False  # the mark of a future that a task has yet to take up
    return waited


def _proxy(waited: asyncio.Future[object]) -> asyncio.Future[None]:
    """Done when the other is; cancelling it leaves the other alone."""
    proxy: asyncio.Future[None] = waited.get_loop().create_future()
    if isinstance(waited, Waiter):
        waited.proxy = proxy
    else:
        waited.add_done_callback(lambda _: None if proxy.done() else proxy.set_result(None))
    return proxy


def _go_on(work: Coroutine[object, None, object], waited: Waited) -> None:
    task = asyncio.ensure_future(_rest(work, waited))  # whatever will wake it refers to it
    # It may be the end of the loop by which the caller was cancelled: then it is not heard of again.
    task._log_destroy_pending = False  # pyright: ignore[reportAttributeAccessIssue]
    task.add_done_callback(_hear)


async def _rest(work: Coroutine[object, None, object], waited: Waited) -> None:
    while True:
        try:
            await (asyncio.sleep(0) if waited is None else asyncio.wait((waited,)))
        except asyncio.CancelledError:
            work.close()
            raise
        try:
            waited = _step(work)
        except StopIteration:
            return


def _hear(task: asyncio.Task[None]) -> None:
    """Whoever would have heard of its error has left."""
    if not task.cancelled():
        task.exception()
