"""Time, identity, randomness and crash points: the only place that asks the machine for them.

Everything else takes them from here, so a test, the demo and an explorer can hold them still. The
current source is a context variable: it follows tasks and copied contexts, and two tests never
share one.
"""

from __future__ import annotations

import asyncio
import contextlib
import secrets
import time
from collections.abc import Generator
from contextvars import ContextVar
from typing import Protocol

__all__ = ["Ambient", "Machine", "Seeded", "monotonic_s", "new_id", "now_ms", "random_bytes", "reach", "sleep", "use"]

_ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"


class Ambient(Protocol):
    """A source of time, identity and randomness."""

    def now_ms(self) -> int:
        """Wall clock, milliseconds since 1970 UTC."""
        ...

    def monotonic_s(self) -> float:
        """A clock that never goes back, in seconds; only differences mean anything."""
        ...

    def random_bytes(self, size: int) -> bytes:
        """`size` unpredictable bytes."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Return after `seconds` of this source's time."""
        ...

    def reach(self, point: str) -> None:
        """Called at every named crash point; a test may raise or kill here."""
        ...


class Machine:
    """The real clock and the operating system's randomness."""

    def now_ms(self) -> int:
        return time.time_ns() // 1_000_000

    def monotonic_s(self) -> float:
        return time.monotonic()

    def random_bytes(self, size: int) -> bytes:
        return secrets.token_bytes(size)

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)

    def reach(self, point: str) -> None:
        del point


class Seeded(Machine):
    """Ids from a counter and a clock that moves only when it is told to or slept on: equal runs are equal bytes."""

    def __init__(self, seed: int = 0, *, start_ms: int = 1_767_225_600_000, step_ms: int = 1) -> None:
        self._count = seed << 32
        self._now_ms = start_ms
        self._step_ms = step_ms

    def now_ms(self) -> int:
        self._now_ms += self._step_ms
        return self._now_ms

    def monotonic_s(self) -> float:
        return self._now_ms / 1000

    def random_bytes(self, size: int) -> bytes:
        self._count += 1
        return self._count.to_bytes(max(size, 16), "big")[-size:]

    async def sleep(self, seconds: float) -> None:
        self.advance(seconds)
        await asyncio.sleep(0)

    def advance(self, seconds: float) -> None:
        """Move the clock forward."""
        self._now_ms += round(seconds * 1000)


_MACHINE: Ambient = Machine()
_current: ContextVar[Ambient] = ContextVar("remit_ambient", default=_MACHINE)


@contextlib.contextmanager
def use(source: Ambient) -> Generator[Ambient]:
    """Take time, ids and randomness from `source` inside the block, and in tasks started there."""
    token = _current.set(source)
    try:
        yield source
    finally:
        _current.reset(token)


def now_ms() -> int:
    """Wall clock, milliseconds since 1970 UTC."""
    return _current.get().now_ms()


def monotonic_s() -> float:
    """Seconds of a clock that never goes back."""
    return _current.get().monotonic_s()


def random_bytes(size: int) -> bytes:
    """`size` unpredictable bytes."""
    return _current.get().random_bytes(size)


def new_id(prefix: str) -> str:
    """A new identifier, for example `new_id("run")` is `run_` and twenty characters of base 32 (100 bits)."""
    number = int.from_bytes(random_bytes(13), "big")
    return f"{prefix}_{''.join([_ALPHABET[number >> shift & 31] for shift in range(95, -1, -5)])}"


async def sleep(seconds: float) -> None:
    """Wait, by the current source's time."""
    await _current.get().sleep(seconds)


def reach(point: str) -> None:
    """Name a place where a crash must be harmless, for example `operation.dispatched`."""
    _current.get().reach(point)
