"""The conversation as the provider reads it: the wordings of the events that have one, in order.

Knows no protocol. Invariant: a wording is passed on as it was recorded, and nothing already sent is
left out or edited.
"""

from __future__ import annotations

from collections.abc import Iterable

from remit.types.event import MessageAppended, Recorded, Replied, ResultsAppended
from remit.types.ident import Wording

__all__ = ["size_of", "transcript", "wire_ids"]


def transcript(events: Iterable[Recorded]) -> list[Wording]:
    """The messages that these events say, in order; an empty reply says none."""
    said: list[Wording] = []
    for recorded in events:
        match recorded.event:
            case MessageAppended(wording=wording) | ResultsAppended(wording=wording):
                said.append(wording)
            case Replied(wording=wording) if wording:
                said.append(wording)
            case _:
                pass
    return said


def wire_ids(events: Iterable[Recorded]) -> frozenset[str]:
    """The call ids that stand on the transcript of these events."""
    return frozenset(call.wire_id for one in events if isinstance(one.event, Replied) for call in one.event.calls)


def size_of(wording: Wording) -> int:
    """Its bytes on the wire."""
    return len(wording) if wording.isascii() else len(wording.encode("utf-8", "surrogatepass"))
