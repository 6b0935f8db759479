"""A model whose every reply, hand-written bodies included, comes as a stream that is cut anywhere."""

from __future__ import annotations

from contextvars import ContextVar

from remit.types.ident import Digest
from remit.types.model import Model, Streaming, Wire
from remit.wire import render

STREAMED: ContextVar[bool] = ContextVar("streamed", default=False)
"""Whether agents of the shop ask for streams."""


class Streamed:
    """Answers as another model does, and streams it where a stream is asked for.

    Args:
        step: bytes in one piece of the stream.
    """

    def __init__(self, model: Model, step: int = 7) -> None:
        self._model = model
        self._step = step

    @property
    def identity(self) -> str:
        return self._model.identity

    @property
    def name(self) -> str:
        return self._model.name

    @property
    def wire(self) -> Wire:
        return self._model.wire

    async def ask(self, body: bytes, stream: Streaming | None = None) -> bytes:
        whole = await self._model.ask(body)
        if stream is None:
            return whole
        data = b"".join(render(self.wire.protocol, whole))
        for start in range(0, len(data), self._step):
            for piece in stream.gather.feed(data[start : start + self._step]):
                stream.on_piece(piece)
        return stream.gather.body()

    def digest(self) -> Digest:
        return self._model.digest()

    async def aclose(self) -> None:
        await self._model.aclose()
