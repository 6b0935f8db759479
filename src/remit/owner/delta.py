"""What one follower of a run has heard of the reply that is being written.

Knows the ledger's deltas and the events between them. Invariant: deltas are given after the request that they answer and
before its reply, and together are the reply's text; those of a request that brought none are retracted if they were given.
"""

from __future__ import annotations

from remit.types.event import ModelRequested, Recorded, Replied, RequestFailed, Resumed, RunEnded, Waiting
from remit.types.ident import RunId
from remit.types.ledger import Ledger
from remit.types.stream import Delta, Retracted

__all__ = ["DeltaCursor"]


class DeltaCursor:
    """The ear of one follower."""

    def __init__(self, ledger: Ledger, run: RunId) -> None:
        self._ledger = ledger
        self._run = run
        self._asked: tuple[int, ModelRequested] | None = None
        self._index = 0
        self._text = ""

    async def catch_up(self, after: int) -> None:
        """Know what is open for a follower that begins behind the event with this sequence number."""
        if after > 0:
            for recorded in await self._ledger.read(self._run, limit=after):
                self._turn(recorded)

    async def hear(self) -> list[Delta]:
        """What has been written since the last time."""
        if self._asked is None:
            return []
        deltas = await self._ledger.deltas(self._run, after=self._asked[0], index=self._index)
        for delta in deltas:
            self._keep(delta)
        return deltas

    async def before(self, recorded: Recorded) -> list[Delta | Retracted]:
        """What is to be given before this event."""
        steps: list[Delta | Retracted] = []
        event = recorded.event
        if self._asked is not None and isinstance(event, Replied):
            steps += [*await self.hear(), *self._rest(event.text)]
        elif self._index and isinstance(event, _OVER):
            steps += self._retracted()
        self._turn(recorded)
        return steps

    def _turn(self, recorded: Recorded) -> None:
        """A request opens, and whatever ends it closes."""
        event = recorded.event
        if isinstance(event, Replied | _OVER):
            self._asked, self._index, self._text = None, 0, ""
        if isinstance(event, ModelRequested):
            self._asked = (recorded.sequence, event)

    def _keep(self, delta: Delta) -> None:
        self._index = delta.index + 1
        if delta.kind == "text":
            self._text += delta.text

    def _rest(self, text: str) -> list[Delta]:
        """The end of the reply's text, where its deltas came too late to be heard, or it was not streamed."""
        if self._asked is None or len(text) <= len(self._text) or not text.startswith(self._text):
            return []
        after, asked = self._asked
        rest = text[len(self._text) :]
        return [
            Delta(run=self._run, after=after, turn=asked.turn, attempt=asked.attempt, index=self._index, kind="text", text=rest)
        ]

    def _retracted(self) -> list[Retracted]:
        if self._asked is None:
            return []
        return [Retracted(run=self._run, turn=self._asked[1].turn, attempt=self._asked[1].attempt)]


_OVER = ModelRequested | RequestFailed | Resumed | RunEnded | Waiting
"""After these the request before them has no reply any more."""
