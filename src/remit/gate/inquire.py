"""Asking the application's own functions: ownership checks and reconcilers, async or not, with a time limit.

Knows nothing of what they are asked. Invariant: the event loop is never blocked by one.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable
from typing import cast

from remit.foreign import ForeignError, contained
from remit.gate.thread import Worker

__all__ = ["inquire"]


async def inquire(function: Callable[..., object], *given: object, timeout_s: float) -> object:
    """What `function` answers.

    Raises:
        TimeoutError: it took longer than `timeout_s`.
        Exception: whatever it raises.
    """
    async with asyncio.timeout(timeout_s):
        with contained(awaiting=True):
            if inspect.iscoroutinefunction(function):
                return await cast("Awaitable[object]", function(*given))
            answer = await _threaded(function, given)
            return await cast("Awaitable[object]", answer) if inspect.isawaitable(answer) else answer


async def _threaded(function: Callable[..., object], given: tuple[object, ...]) -> object:
    def call() -> tuple[object, BaseException | None]:
        try:
            return function(*given), None
        except BaseException as error:  # reported to whoever asked
            return None, error

    def late(answer: tuple[object, BaseException | None]) -> None:
        del answer

    worker = Worker(call, late, "remit-inquiry")
    try:
        answer, error = await worker.future
    except asyncio.CancelledError:
        worker.abandon()
        raise
    if error is not None:
        raise error if isinstance(error, Exception) else ForeignError(error)
    return answer
