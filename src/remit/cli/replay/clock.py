"""The clock of a record. Invariant: it never goes back, and sleeping takes no time."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING

from remit import ambient

if TYPE_CHECKING:
    from remit.model import Served

__all__ = ["Then"]


class Then(ambient.Machine):
    """The clock of the record: it stands where the last reply was asked for, and sleeping takes no time.

    Args:
        at_ms: when the run began.
        served: the requests that were asked since; it grows.
    """

    def __init__(self, at_ms: int, served: Sequence[Served]) -> None:
        self.at_ms = at_ms
        self._served = served

    def now_ms(self) -> int:
        if self._served:
            self.at_ms = max(self.at_ms, self._served[-1].at_ms)
        return self.at_ms

    def monotonic_s(self) -> float:
        return self.now_ms() / 1000

    async def sleep(self, seconds: float) -> None:
        self.at_ms = self.now_ms() + max(1, round(seconds * 1000))
        await asyncio.sleep(0)
