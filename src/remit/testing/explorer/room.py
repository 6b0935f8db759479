"""Several processes in one: whose step is next, and what time it is.

Knows loops and timers of the outside world; not what runs in them. Invariant: what is next follows from what was, and
from the seed of the order alone; time moves only when nobody can take a step.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from random import Random

from remit.testing.explorer.loop import Loop

__all__ = ["Room"]


class Room:
    """Virtual time and the loops that live in it.

    Args:
        order: how loops take turns: 0, each for as long as it can; else at random, by this seed.

    Attributes:
        steps: how many were taken.
        skew_s: how far the wall clock is from the time that has passed.
    """

    def __init__(self, *, order: int = 0) -> None:
        self.steps = 0
        self.skew_s = 0.0
        self.loops: list[Loop] = []
        self._now_s = 0.0
        self._numbers = 0
        self._outside: list[tuple[float, int, Callable[[], None]]] = []
        self._chance = Random(order) if order else None

    @property
    def now_s(self) -> float:
        """Seconds since the beginning."""
        return self._now_s

    def number(self) -> int:
        """One more than the last time."""
        self._numbers += 1
        return self._numbers

    def later(self, delay_s: float, what: Callable[[], None]) -> None:
        """Something that happens outside of every process."""
        heapq.heappush(self._outside, (self._now_s + delay_s, self.number(), what))

    @property
    def quiet(self) -> bool:
        """Whether nothing more happens outside by itself."""
        return not self._outside

    def next_loop(self) -> Loop | None:
        """The loop that takes the next step, once time has moved on as far as it must; None if nothing will ever happen."""
        while True:
            self._happen()
            able = [loop for loop in self.loops if loop.ready]
            if able:
                return able[0] if self._chance is None or len(able) == 1 else self._chance.choice(able)
            if not self._pass_time():
                return None

    def _pass_time(self) -> bool:
        moments = [when for loop in self.loops if (when := loop.next_s) is not None]
        if self._outside:
            moments.append(self._outside[0][0])
        if not moments:
            return False
        self._now_s = max(self._now_s, min(moments))
        return True

    def _happen(self) -> None:
        while self._outside and self._outside[0][0] <= self._now_s:
            heapq.heappop(self._outside)[2]()
