"""A response's body on its way from a provider, whole or as a stream.

Knows no transport. Invariant: what comes out is a whole response body or a failure, never a part of one; no more of it
is taken in than its bound; a listener that raises changes nothing about the reply.
"""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence

from remit.errors import ModelError, ProtocolError
from remit.foreign import contained
from remit.model import failure
from remit.types.model import OnPiece, Streaming

__all__ = ["MOST_BYTES", "BodyReader", "StreamReader", "WholeReader", "play", "reader_for"]

MOST_BYTES = 64 << 20
"""The largest response that is taken in: providers' are smaller by far, and a run holds its replies in memory."""


class BodyReader(ABC):
    """One response's body: fed with what came, asked for the whole at its end."""

    def __init__(self, most_bytes: int) -> None:
        self._left = most_bytes

    def take(self, data: bytes) -> bool:
        """Take the next bytes; True if all was said, and nothing is worth waiting for any more.

        Raises:
            ModelError: it is too large (`model.unusable`).
            ProtocolError: it is a stream, and none of this protocol.
        """
        self._left -= len(data)
        if self._left < 0:
            raise failure.unusable("it is too large")
        return self._add(data)

    @abstractmethod
    def whole(self, headers: Mapping[str, str]) -> bytes:
        """The response body, at the end of what came.

        Raises:
            ModelError: it is a stream that the provider broke off, or that ended before the reply did.
        """

    @abstractmethod
    def broken(self) -> ModelError:
        """What it means that the connection broke before the end."""

    @abstractmethod
    def _add(self, data: bytes) -> bool: ...


class WholeReader(BodyReader):
    """A body that is not streamed."""

    def __init__(self, most_bytes: int = MOST_BYTES) -> None:
        super().__init__(most_bytes)
        self._parts: list[bytes] = []

    def whole(self, headers: Mapping[str, str]) -> bytes:
        """All that came."""
        return b"".join(self._parts)

    def broken(self) -> ModelError:
        """The response is lost."""
        return failure.lost(sent=True, why="the connection broke")

    def _add(self, data: bytes) -> bool:
        self._parts.append(data)
        return False


class StreamReader(BodyReader):
    """A stream, put together; its pieces are told as they come, until the listener raises."""

    def __init__(self, stream: Streaming, most_bytes: int = MOST_BYTES) -> None:
        super().__init__(most_bytes)
        self._gather = stream.gather
        self._on_piece: OnPiece | None = stream.on_piece

    def whole(self, headers: Mapping[str, str]) -> bytes:
        """The response body that the stream said.

        Raises:
            ModelError: the provider broke it off with an error, or it ended before the reply did (`model.stream_cut`).
        """
        error = self._gather.error
        if error is not None:
            raise failure.broken_off(headers, error)
        try:
            return self._gather.body()
        except ProtocolError as cut:
            if cut.code != "stream.cut":
                raise
            raise failure.cut() from None

    def broken(self) -> ModelError:
        """The stream is cut."""
        return failure.cut()

    def _add(self, data: bytes) -> bool:
        for piece in self._gather.feed(data):
            if self._on_piece is None:
                break
            try:
                with contained():
                    self._on_piece(piece)
            except Exception:
                self._on_piece = None
        return self._gather.ended


def reader_for(stream: Streaming | None, content_type: str, most_bytes: int) -> BodyReader:
    """What reads a success: a stream was asked for, and the response does not say that it is one JSON text instead."""
    kind = content_type.partition(";")[0].strip().lower()
    if stream is None or kind == "application/json" or kind.endswith("+json"):
        return WholeReader(most_bytes)
    return StreamReader(stream, most_bytes)


async def play(events: Sequence[bytes], stream: Streaming) -> bytes:
    """Stream events that are there already, others running in between; the whole response body.

    Raises:
        ModelError: they end before the reply does (`model.stream_cut`).
    """
    reader = StreamReader(stream)
    for event in events:
        await asyncio.sleep(0)
        reader.take(event)
    return reader.whole({})
