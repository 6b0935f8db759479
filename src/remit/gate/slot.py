"""How many handlers may run at once here, and how often: slots and token buckets of one process.

Knows no call. Invariant: a slot is taken before the dispatch is durable, so what is dispatched is
never waiting for one.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator
from contextlib import AbstractAsyncContextManager

from remit import ambient
from remit.tool import Concurrency, Rate

__all__ = ["Rates", "Slots"]


class Slots:
    """A bound for reads altogether, and one for each concurrency class.

    Args:
        reads: how many reads may run at once.
    """

    def __init__(self, reads: int) -> None:
        self._reads = asyncio.Semaphore(reads)
        self._classes: dict[str, asyncio.Semaphore] = {}

    def taken(self, concurrency: Concurrency | None, *, read: bool) -> AbstractAsyncContextManager[None]:
        """Hold a slot of the class, and one of the reads' if it is one, inside the block."""
        if concurrency is None:
            return self._reads if read else contextlib.nullcontext()
        own = self._classes.setdefault(concurrency.name, asyncio.Semaphore(concurrency.limit))
        return _both(own, self._reads) if read else own


@contextlib.asynccontextmanager
async def _both(one: asyncio.Semaphore, other: asyncio.Semaphore) -> AsyncGenerator[None]:
    async with one, other:
        yield


class Rates:
    """Token buckets, one for each tool and tenant, by the current monotonic clock."""

    def __init__(self) -> None:
        self._buckets: dict[tuple[str, str], tuple[float, float]] = {}

    def take(self, rate: Rate, tool: str, tenant: str) -> float | None:
        """Take one call. None: it may start; else the seconds until one may."""
        now = ambient.monotonic_s()
        tokens, at = self._buckets.get((tool, tenant), (float(rate.calls), now))
        tokens = min(float(rate.calls), tokens + max(0.0, now - at) * rate.calls / rate.per_s)
        if tokens < 1.0:
            self._buckets[tool, tenant] = (tokens, now)
            return round((1.0 - tokens) * rate.per_s / rate.calls, 3)
        self._buckets[tool, tenant] = (tokens - 1.0, now)
        return None
