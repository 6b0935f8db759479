"""The clock of a record. Invariant: it never goes back, and sleeping takes no time."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from remit import ambient

if TYPE_CHECKING:
    from remit.model import ReplayModel

__all__ = ["Then"]


class Then(ambient.Machine):
    """The clock of the record: it stands where the last reply was asked for, and sleeping takes no time."""

    def __init__(self, model: ReplayModel) -> None:
        self._model = model
        self.at_ms = model.at_ms

    def now_ms(self) -> int:
        self.at_ms = max(self.at_ms, self._model.at_ms)
        return self.at_ms

    def monotonic_s(self) -> float:
        return self.now_ms() / 1000

    async def sleep(self, seconds: float) -> None:
        self.at_ms = self.now_ms() + max(1, round(seconds * 1000))
        await asyncio.sleep(0)
