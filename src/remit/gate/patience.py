"""A bounded wait for news, in the current clock's time.

Knows nothing of what is waited for. Invariant: no time is taken from the clock before the first wait.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from types import TracebackType

from remit import ambient

__all__ = ["Patience"]


class Patience:
    """Waits for one of several things at a time, for `timeout_s` in all, from the first wait on."""

    def __init__(self, timeout_s: float) -> None:
        self._timeout_s = timeout_s
        self._late: asyncio.Future[None] | None = None

    @property
    def over(self) -> bool:
        """Whether the time is up."""
        return self._late is not None and self._late.done()

    async def wait(self, *news: Coroutine[object, object, object]) -> None:
        """Return when one of `news` has come, or the time is up. What a piece of news raises is raised."""
        if self._late is None:
            self._late = asyncio.ensure_future(ambient.sleep(self._timeout_s))
        tasks = [asyncio.ensure_future(one) for one in news]
        try:
            done, _ = await asyncio.wait({*tasks, self._late}, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                task.result()
        finally:
            for task in tasks:
                task.cancel()

    def __enter__(self) -> Patience:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._late is not None:
            self._late.cancel()
