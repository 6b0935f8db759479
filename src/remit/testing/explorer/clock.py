"""The ambient source of explored processes: virtual time, and ids that count.

Knows a room. Invariant: nothing of the machine is in what it gives.
"""

from __future__ import annotations

import hashlib

from remit.ambient import Machine
from remit.testing.explorer.room import Room

__all__ = ["Then"]

_START_MS = 1_767_225_600_000


class Then(Machine):
    """Time and ids in a room; `sleep` sleeps on the room's loops.

    Args:
        seed: of the ids.
    """

    def __init__(self, room: Room, seed: int = 0) -> None:
        self._room = room
        self._seed = seed
        self._count = 0

    def now_ms(self) -> int:
        return _START_MS + round((self._room.now_s + self._room.skew_s) * 1000)

    def monotonic_s(self) -> float:
        return self._room.now_s

    def random_bytes(self, size: int) -> bytes:
        self._count += 1
        return hashlib.shake_128(f"{self._seed}.{self._count}".encode()).digest(size)
