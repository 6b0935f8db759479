"""One streamed reply, put together: what the three protocols' streams have in common.

Knows no protocol's events. Invariant: nothing comes out unless the stream said that the reply is whole; what a
stream holds after that, or after an error, is not read.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import cast

import orjson

from remit.errors import ProtocolError
from remit.types.ident import Json
from remit.types.model import Piece
from remit.wire.sse import Events
from remit.wire.text import Node, unread
from remit.wire.write import storable

__all__ = ["StreamGather", "index_of", "parsed"]


class StreamGather:
    """`remit.types.model.Gather`, but for what the events mean.

    A server that was asked for a stream and answers with one JSON object, as some do and all may for an error, has
    answered whole: the object's end is the end.
    """

    def __init__(self, names: Mapping[str, str]) -> None:
        self._names = names
        self._events = Events()
        self._plain: list[bytes] | None = None
        self._read_object: tuple[int, Node | None] = (0, None)
        """What the first so many parts of `_plain` are together."""
        self._begun = False
        self._error: bytes | None = None
        self._whole = False
        self._broken = False
        """Something could not be read; what was read before it stands for nothing."""

    def feed(self, data: bytes) -> Sequence[Piece]:
        if not self._begun:
            data = data.lstrip()
            self._begun = bool(data)
            self._plain = [] if data.startswith(b"{") else None
        if self._plain is not None:
            self._plain.append(data)
            return ()
        pieces: list[Piece] = []
        broken, self._broken = self._broken, True
        for name, text in self._events.feed(data):
            if self._whole or self._error is not None:
                break
            self._take(name, text, pieces)
        self._broken = broken
        return [one if one.text.isascii() else Piece(one.kind, storable(one.text)) for one in pieces]

    @property
    def ended(self) -> bool:
        return self._whole or self._error is not None

    @property
    def error(self) -> bytes | None:
        plain = self._object()
        if plain is not None and plain.value("error") is not None:
            return plain.text.encode()
        return self._error

    def body(self) -> bytes:
        plain = self._object()
        if plain is not None and plain.value("error") is None:
            return plain.text.encode()
        if self._broken or self._error is not None or not (self._whole or self._ends_here()):
            raise ProtocolError("the stream ended before its reply did", code="stream.cut", retryable=True)
        return self._written().encode()

    @abstractmethod
    def _take(self, name: str, data: bytes, pieces: list[Piece]) -> None:
        """Read one event; what it says goes to `pieces`, or to `_error`, or it ends the reply."""

    @abstractmethod
    def _written(self) -> str:
        """The response's text."""

    def _ends_here(self) -> bool:
        """Whether a stream that ends now was not cut, although it did not say so."""
        return False

    def _object(self) -> Node | None:
        if self._plain is None:
            return None
        parts, node = self._read_object
        if parts != len(self._plain):
            try:
                node = Node.of(b"".join(self._plain))
            except ProtocolError:
                node = None
            self._read_object = (len(self._plain), node)
        return node


def parsed(data: bytes) -> Mapping[str, Json]:
    """The values of an event's object.

    Raises:
        ProtocolError: it is none.
    """
    try:
        values: object = orjson.loads(data)
    except ValueError:
        return Node.of(data).values
    if not isinstance(values, dict):
        raise unread("stream", "has an event that is not a JSON object")
    return cast("Mapping[str, Json]", values)


def index_of(event: Mapping[str, Json], key: str = "index") -> int:
    """The place that an event is about.

    Raises:
        ProtocolError: it has none.
    """
    index = event.get(key)
    if not isinstance(index, int) or isinstance(index, bool):
        raise unread(f"stream.{key}", "is not a number")
    return index
