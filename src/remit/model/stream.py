"""A streamed reply on its way from a provider to those who listen.

Knows no transport. Invariant: a listener that raises changes nothing about the reply; what comes out is a whole
response body or a failure, never a part of one.
"""

from __future__ import annotations

from collections.abc import Mapping

from remit.errors import ProtocolError
from remit.foreign import contained
from remit.model import failure
from remit.types.model import Gather, OnPiece

__all__ = ["StreamReader", "speaks_json"]


class StreamReader:
    """One stream: fed with what came, asked for the whole at its end.

    Args:
        gather: puts it together.
        heard: told the pieces as they come; it is told no more once it raised.
    """

    def __init__(self, gather: Gather, heard: OnPiece | None) -> None:
        self._gather = gather
        self._heard = heard

    def take(self, data: bytes) -> bool:
        """Feed the next bytes; True if the provider broke the stream off, so that nothing is worth waiting for.

        Raises:
            ProtocolError: they are not a stream of this protocol.
        """
        for piece in self._gather.feed(data):
            if self._heard is None:
                break
            try:
                with contained():
                    self._heard(piece)
            except Exception:
                self._heard = None
        return self._gather.error is not None

    def body(self, headers: Mapping[str, str]) -> bytes:
        """The whole response body, at the end of the stream.

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


def speaks_json(content_type: str) -> bool:
    """Whether a response says of itself that it is one JSON text, and so no stream."""
    kind = content_type.partition(";")[0].strip().lower()
    return kind == "application/json" or kind.endswith("+json")
