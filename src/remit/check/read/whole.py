"""What a document holds, and how what its parties say is put together to messages.

Knows no protocol. Invariant: nothing that is said is lost or put in another order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from remit.check.transcript import Item, Message, Result, Role, Transcript
from remit.check.value import Object, Page
from remit.types.ident import Json

__all__ = ["Reader", "Said", "Whole", "merged"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Whole:
    """What a document is made of, with places.

    Args:
        page: where the text of its parts is.
        request: a request's members; None where there are messages only, or a response only.
        messages: the listed messages or items, at `place`.
        response: a response's object, at `response_place`; in `response_page`, where a stream was put together.
    """

    page: Page
    request: Object | None = None
    request_place: str = ""
    messages: Json = None
    place: str = ""
    response: Object | None = None
    response_place: str = ""
    response_page: Page | None = None


Reader = Callable[[Whole], Transcript]
"""Reads a document of one protocol."""


@dataclass(frozen=True, slots=True)
class Said:
    """One message of the document, or one item of Responses."""

    role: Role
    items: tuple[Item, ...]
    place: str
    raw: Object
    stop: str = ""
    received: bool = False


def merged(said: Iterable[Said]) -> tuple[Message, ...]:
    """Messages of one role after each other are one; results stand in messages of their own, and so does a response."""
    found: list[Message] = []
    for one in said:
        for role, items in _apart(one):
            last = found[-1] if found else None
            if last is not None and (last.role, last.received) == (role, one.received) and role != "system":
                written = last.written if last.places[-1:] == (one.place,) else (*last.written, (one.place, one.raw))
                joined = Message(
                    role=role,
                    said=(*last.said, *items),
                    written=written,
                    stop=one.stop or last.stop,
                    received=one.received,
                )
                found[-1] = joined
            else:
                found.append(
                    Message(role=role, said=items, written=((one.place, one.raw),), stop=one.stop, received=one.received)
                )
    return tuple(found)


def _apart(said: Said) -> list[tuple[Role, tuple[Item, ...]]]:
    """What one message says, by who says it."""
    groups: list[tuple[Role, tuple[Item, ...]]] = []
    for item in said.items:
        role: Role = "tool" if isinstance(item, Result) else said.role
        if groups and groups[-1][0] == role:
            groups[-1] = (role, (*groups[-1][1], item))
        else:
            groups.append((role, (item,)))
    return groups or [(said.role, ())]
