"""The conversation as the provider reads it: the wordings of the events that have one.

Knows no protocol. Invariant: a wording is passed on as it was recorded, and nothing already sent is left out or edited.
Their order is that of the events, but for one thing: messages wait while a reply waits for a request that adds no words to
it, and while calls wait for their results, which come directly behind the reply that made them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator

from remit.types.event import MessageAppended, Recorded, Replied, ResultsAppended
from remit.types.ident import Json, Wording

__all__ = ["Transcript", "bulk_of", "size_of", "transcript", "waits_for_answers"]


def waits_for_answers(reply: Replied) -> bool:
    """Whether the request after this reply may hold answers only: the provider's own calls go on with it."""
    return bool(reply.unresolved) or reply.stop == "pause"


class Transcript:
    """What was said, growing with the events.

    Attributes:
        said: the messages of the next request.
        held: messages that come once nothing waits.
        used_ids: call ids that stand in it.
        waits: the last reply waits for a request that adds no words.
        unanswered: the last reply has calls, whose results come next.
    """

    def __init__(self, events: Iterable[Recorded] = ()) -> None:
        self.said: list[Wording] = []
        self.held: list[Wording] = []
        self.used_ids: set[str] = set()
        self.waits = False
        self.unanswered = False
        for recorded in events:
            self.add(recorded)

    def copied(self) -> Transcript:
        """The same so far, to grow on its own."""
        other = Transcript()
        other.said, other.held, other.used_ids = [*self.said], [*self.held], {*self.used_ids}
        other.waits, other.unanswered = self.waits, self.unanswered
        return other

    def add(self, recorded: Recorded) -> None:
        """Take one more event; most say nothing."""
        match recorded.event:
            case MessageAppended(wording=wording, source=source):
                (self.held if self.waits or self.unanswered else self.said).append(wording)
                if source == "imported":
                    self.used_ids.update(_imported_ids(wording))
            case ResultsAppended(wording=wording):
                self.said.append(wording)
                self.unanswered = False
                self._release()
            case Replied() as reply:
                self._reply(reply)
            case _:
                pass

    def _reply(self, reply: Replied) -> None:
        if reply.wording:  # an empty reply says nothing
            self.said.append(reply.wording)
        self.used_ids.update(call.wire_id for call in reply.calls)
        self.waits = waits_for_answers(reply)
        self.unanswered = bool(reply.calls)
        self._release()

    def _release(self) -> None:
        if not (self.waits or self.unanswered):
            self.said += self.held
            self.held.clear()


def transcript(events: Iterable[Recorded]) -> list[Wording]:
    """The messages that these events say, in order."""
    whole = Transcript(events)
    return [*whole.said, *whole.held]


_IDS = ("id", "call_id", "tool_use_id", "tool_call_id")
_DEEPEST = 6
"""Ids of calls stand at most so deep in a message of any protocol; what a tool was given may be deeper."""


def _imported_ids(wording: Wording) -> set[str]:
    """All ids in an imported message, whatever they are of: one too many costs nothing."""
    try:
        read: Json = json.loads(f"[{wording}]")
    except (ValueError, RecursionError):
        return set()
    return set(_ids(read, 0))


def _ids(value: Json, depth: int) -> Iterator[str]:
    if depth > _DEEPEST:
        return
    if isinstance(value, list):
        for one in value:
            yield from _ids(one, depth + 1)
    elif isinstance(value, dict):
        for name, one in value.items():
            if isinstance(one, str):
                if name in _IDS:
                    yield one
            else:
                yield from _ids(one, depth + 1)


_IMAGE_BYTES = 10_000
_IMAGE = re.compile(r'"(?:url|image_url)": ?"data:image/[^"]*"|"media_type": ?"image/[^"]*", ?"data": ?"[^"]*"')
"""Images as the wires write them. In a text the quotes are escaped, so no text is taken for one."""


def bulk_of(wording: Wording) -> int:
    """Its bytes on the wire, an image counted as 10,000 (as many as 5,000 tokens are at most): its size says little."""
    if "image" not in wording:
        return size_of(wording)
    images = [found.group() for found in _IMAGE.finditer(wording)]
    return size_of(wording) - sum(map(len, images)) + _IMAGE_BYTES * len(images)


def size_of(wording: Wording) -> int:
    """Its bytes on the wire."""
    return len(wording) if wording.isascii() else len(wording.encode("utf-8", "surrogatepass"))
