"""Handlers as tools in a sandbox, called through a gate on a ledger in memory."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

import pytest

from gate.stage import opened, stage
from remit.sandbox import Bubblewrap, Subprocess
from remit.tool import READ, Tool, tool
from remit.types.ident import Json
from remit.types.label import TRUSTED
from remit.types.outcome import Outcome
from remit.types.sandbox import End, Said, Sandbox, Work

WHY = asyncio.run(Bubblewrap().absent())
needs_bubblewrap = pytest.mark.skipif(WHY is not None, reason=f"bubblewrap: {WHY}")
EACH = [pytest.param(Subprocess, id="subprocess"), pytest.param(Bubblewrap, id="bubblewrap", marks=needs_bubblewrap)]
"""Both kinds of process."""

TIMEOUT_S = 30.0


@dataclass(frozen=True)
class Seen:
    """What came of one call."""

    outcome: Outcome
    detail: str


def reads(handler: Callable[..., object], sandbox: Sandbox, *, timeout_s: float = TIMEOUT_S, **options: object) -> Tool:
    """A handler as a tool that reads."""
    return tool(effect=READ, sandbox=sandbox, label=TRUSTED, timeout_s=timeout_s, **options)(handler)  # type: ignore[arg-type]


def called(one: Tool, *, secrets: tuple[str, ...] = (), **arguments: Json) -> Seen:
    """Call it once."""

    async def go() -> Seen:
        async with opened() as ledger:
            s = await stage(ledger, [one], secrets=secrets)
            outcome = await s.call(one.name, arguments)
            return Seen(outcome, s.ended().detail or "")

    return asyncio.run(go())


class Odd:
    """A sandbox of the application's own: it says these things, and then ends so, fails, or hangs until it is cancelled."""

    def __init__(self, *said: Said, end: End | None = None, error: Exception | None = None) -> None:
        self._said, self._end, self._error = said, end, error

    def unfit(self, handler: Callable[..., object], effect: str) -> str | None:
        del handler, effect

    async def absent(self) -> str | None:
        return None

    async def run(self, work: Work) -> End:
        for one in self._said:
            work.hear(one)
        if self._error is not None:
            raise self._error
        if self._end is None:
            await asyncio.Event().wait()
        return self._end or End()


class Missing:
    """A sandbox that is there as long as `why` is None, and does nothing in the handler's place but count."""

    def __init__(self, why: str | None = "this machine has none") -> None:
        self.why = why
        self.runs = 0

    def unfit(self, handler: Callable[..., object], effect: str) -> str | None:
        del handler, effect

    async def absent(self) -> str | None:
        return self.why

    async def run(self, work: Work) -> End:
        self.runs += 1
        work.hear({"kind": "returned"})
        work.hear({"kind": "value", "value": "from the box"})
        return End()
