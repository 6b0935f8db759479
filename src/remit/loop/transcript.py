"""The conversation as the provider reads it: the wordings of the events that have one, in order.

Knows no protocol. Invariant: a wording is passed on as it was recorded, and nothing already sent is
left out or edited.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from remit.types.event import MessageAppended, Recorded, Replied, ResultsAppended
from remit.types.ident import Wording

__all__ = ["bulk_of", "size_of", "transcript", "wire_ids"]


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
