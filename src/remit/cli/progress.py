"""Live progress: each committed event of a run as lines on standard error, while somebody waits for its end."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import TYPE_CHECKING, TypeVar

from remit.cli.screen import Screen
from remit.cli.tell import tell
from remit.cli.text import short
from remit.trace import describe
from remit.types.event import Recorded
from remit.types.ident import RunId

if TYPE_CHECKING:
    from remit import Remit

__all__ = ["Progress"]

_T = TypeVar("_T")


class Progress:
    """Tells the events of one run after a sequence number, each once.

    Args:
        quiet: tell nothing.
    """

    def __init__(self, screen: Screen, run: RunId, *, after: int = 0, quiet: bool = False) -> None:
        self._screen = screen
        self._run = run
        self._after = after
        self._quiet = quiet

    async def until(self, remit: Remit, standing: Awaitable[_T]) -> _T:
        """What `standing` gives, with all events told that were committed by then."""
        if self._quiet:
            return await standing
        follower = asyncio.ensure_future(self._follow(remit))
        try:
            return await standing
        finally:
            follower.cancel()
            await asyncio.gather(follower, return_exceptions=True)
            for recorded in await remit.events(self._run):
                self._tell(recorded)

    async def _follow(self, remit: Remit) -> None:
        async for recorded in remit.follow(self._run, after=self._after):
            self._tell(recorded)

    def _tell(self, recorded: Recorded) -> None:
        if recorded.sequence <= self._after:
            return
        self._after = recorded.sequence
        for line in tell(describe(recorded, content=True)):
            indent = line[: len(line) - len(line.lstrip())]
            self._screen.note(f"{indent}{short(line)}")
