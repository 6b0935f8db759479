"""Live progress: what happens in a run as lines on standard error, while somebody waits for its end.

On a terminal the words of a reply are shown as they come. Invariant: each event is told once, and where nobody looks,
nothing but whole lines is written.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterable, Awaitable
from typing import TYPE_CHECKING, TypeVar

from remit.cli.screen import Screen
from remit.cli.tell import tell
from remit.cli.text import short
from remit.cli.words import Words
from remit.trace import describe
from remit.types.event import Recorded, Replied
from remit.types.ident import RunId
from remit.types.run import Standing
from remit.types.stream import Delta, Retracted, Step

if TYPE_CHECKING:
    from remit import Remit

__all__ = ["Progress"]

_T = TypeVar("_T")


class Progress:
    """Tells the events of one run after a sequence number, each once.

    Args:
        run: its id; empty until the first step says it.
        quiet: tell nothing.
    """

    def __init__(self, screen: Screen, run: RunId | None = None, *, after: int = 0, quiet: bool = False) -> None:
        self.run = run
        self.shows_words = not quiet and screen.is_live
        """Whether words are shown as they come."""
        self._screen = screen
        self._after = after
        self._quiet = quiet
        self._words = Words(screen)

    async def until(self, remit: Remit, standing: Awaitable[_T]) -> _T:
        """What `standing` gives, with all events of the run told that were committed by then."""
        if self._quiet or self.run is None:
            return await standing
        follower = asyncio.ensure_future(self._follow(remit, self.run))
        try:
            return await standing
        finally:
            follower.cancel()
            await asyncio.gather(follower, return_exceptions=True)
            self._words.close()
            for recorded in await remit.events(self.run):
                self.take(recorded)

    async def through(self, steps: AsyncIterable[Step]) -> Standing:
        """Tell what a stream gives, and return how the run stands at its end."""
        async for step in steps:
            match step:
                case Recorded() | Delta() | Retracted():
                    self.take(step)
                case stands:
                    return stands
        raise AssertionError("a stream ends with how the run stands")

    async def watch(self, remit: Remit) -> None:
        """Tell the run's events, from any process, until it has ended."""
        assert self.run is not None
        await self._follow(remit, self.run)
        self._words.close()

    def take(self, step: Recorded | Delta | Retracted) -> None:
        """Tell one step."""
        self.run = step.run
        match step:
            case Recorded():
                self._tell(step)
            case Delta():
                if self.shows_words:
                    self._words.hear(step)
            case Retracted():
                if self.shows_words:
                    self._words.retract()

    async def _follow(self, remit: Remit, run: RunId) -> None:
        if self.shows_words:
            async for step in remit.follow(run, after=self._after, deltas=True):
                self.take(step)
        else:
            async for recorded in remit.follow(run, after=self._after):
                self.take(recorded)

    def _tell(self, recorded: Recorded) -> None:
        if recorded.sequence <= self._after:
            return
        self._after = recorded.sequence
        if self._quiet:
            return
        event = recorded.event
        shown = isinstance(event, Replied) and self._words.told == (event.turn, event.attempt)
        self._words.close()
        for line in tell(describe(recorded, content=True, redactor=self._screen.redactor), text=not shown):
            indent = line[: len(line) - len(line.lstrip())]
            self._screen.note(f"{indent}{short(line)}")
