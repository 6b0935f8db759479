"""What one follower of a run has been given of the reply that is being written.

Knows the ledger's deltas and the events between them. Invariant: deltas are given after the request that they answer and
before its reply, and together are the reply's text without declared secrets; those of a request that brought none are
retracted if they may have been given, now or before the follower came back.
"""

from __future__ import annotations

from dataclasses import replace

from remit.trace import Redactor, StreamRedactor
from remit.types.event import ModelRequested, Recorded, Replied, RequestFailed, Resumed, RunEnded, Waiting
from remit.types.ident import RunId
from remit.types.ledger import Ledger
from remit.types.stream import Delta, Retracted

__all__ = ["DeltaCursor"]


class DeltaCursor:
    """Where one follower is in the deltas of a run.

    Args:
        redactor: takes declared secrets out, and nothing else.
    """

    def __init__(self, ledger: Ledger, run: RunId, redactor: Redactor) -> None:
        self._ledger = ledger
        self._run = run
        self._redactor = redactor
        self._asked: tuple[int, ModelRequested] | None = None
        self._came_back = False
        self._begin()

    async def catch_up(self, after: int) -> None:
        """Know what is open for a follower that begins behind the event with this sequence number."""
        if after > 0:
            for recorded in await self._ledger.read(self._run, limit=after):
                self._turn(recorded)
            self._came_back = self._asked is not None

    async def fetch(self) -> list[Delta]:
        """What has been written since the last time."""
        if self._asked is None:
            return []
        deltas = await self._ledger.deltas(self._run, after=self._asked[0], index=self._read)
        return [shown for delta in deltas if (shown := self._masked(delta)) is not None]

    async def before(self, recorded: Recorded) -> list[Delta | Retracted]:
        """What is to be given before this event."""
        steps: list[Delta | Retracted] = []
        event = recorded.event
        if self._asked is not None and isinstance(event, Replied):
            steps += [*await self.fetch(), *self._rest(event.text)]
        elif (self._given or self._came_back) and isinstance(event, _OVER):
            steps += self._retracted()
        self._turn(recorded)
        return steps

    def _turn(self, recorded: Recorded) -> None:
        """A request opens, and whatever ends it closes."""
        event = recorded.event
        if isinstance(event, Replied | _OVER):
            self._asked, self._came_back = None, False
            self._begin()
        if isinstance(event, ModelRequested):
            self._asked = (recorded.sequence, event)

    def _begin(self) -> None:
        self._read = self._given = 0
        self._text = ""
        self._masks = {"text": StreamRedactor(self._redactor), "reasoning": StreamRedactor(self._redactor)}

    def _masked(self, delta: Delta) -> Delta | None:
        """The delta as it is given; None where nothing of it can be given yet."""
        self._read = delta.index + 1
        mask = self._masks.get(delta.kind)
        text = self._redactor.text(delta.text) if mask is None else mask.feed(delta.text)
        return self._give(delta, text) if text or not delta.text else None

    def _give(self, delta: Delta, text: str) -> Delta:
        if delta.kind == "text":
            self._text += text
        given, self._given = self._given, self._given + 1
        return delta if (text, given) == (delta.text, delta.index) else replace(delta, text=text, index=given)

    def _rest(self, text: str) -> list[Delta]:
        """What was held back, and the end of the reply's text, where its deltas came too late or it was not streamed."""
        if self._asked is None:
            return []
        after, asked = self._asked
        blank = Delta(run=self._run, after=after, turn=asked.turn, attempt=asked.attempt, index=-1, kind="text", text="")
        held = self._masks["text"].end()
        whole = self._redactor.text(text)
        rest = whole[len(self._text) :] if whole.startswith(self._text) else held
        thought = self._masks["reasoning"].end()
        steps = [self._give(replace(blank, kind="reasoning"), thought)] if thought else []
        return [*steps, self._give(blank, rest)] if rest else steps

    def _retracted(self) -> list[Retracted]:
        if self._asked is None:
            return []
        return [Retracted(run=self._run, turn=self._asked[1].turn, attempt=self._asked[1].attempt)]


_OVER = ModelRequested | RequestFailed | Resumed | RunEnded | Waiting
"""After these the request before them has no reply any more."""
