"""A provider's address, and the connections to it in each event loop.

Knows no protocol and, until it is asked to send, no HTTP. Invariant: one call of `post` is at most one request on the
wire; redirects are not followed, so that a key goes to the address that was given and nowhere else.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from remit.model.stream import StreamReader

if TYPE_CHECKING:
    from remit.model.exchange import Exchange
    from remit.types.model import Gather, OnPiece

__all__ = ["Sender", "Timeouts"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeouts:
    """How long to wait for a provider, in seconds; None waits for ever.

    Args:
        connect: until the connection stands.
        first_byte: from the request until the response begins; a model thinks here.
        idle: between two pieces of the response, and of the request.
    """

    connect: float | None = 10.0
    first_byte: float | None = 600.0
    idle: float | None = 60.0


_MOST_BYTES = 64 << 20
"""The largest response that is taken in: providers' are smaller by far, and a run holds its replies in memory."""


class Sender:
    """A provider's address, with the connections to it.

    Args:
        url: where the requests go, whole.
        headers: called when the connections of an event loop are set up, so that keys are read then and kept nowhere
            else.
        most_bytes: the largest response that is taken in.
    """

    def __init__(
        self, url: str, headers: Callable[[], Mapping[str, str]], timeouts: Timeouts, *, most_bytes: int = _MOST_BYTES
    ) -> None:
        self._url = url
        self._headers = headers
        self._timeouts = timeouts
        self._most_bytes = most_bytes
        self._clients: WeakKeyDictionary[asyncio.AbstractEventLoop, Exchange] = WeakKeyDictionary()

    async def post(self, body: bytes, gather: Gather | None = None, heard: OnPiece | None = None) -> bytes:
        """Send one body, return the response's; put together by `gather` where it is streamed.

        Raises:
            ModelError: there was no success.
            ProtocolError: the stream is none of the protocol's.
            InputError: there is no key, or no way out.
        """
        client = self._client()
        hearing = None if gather is None else StreamReader(gather, heard)
        return await client.post(body, hearing)

    async def aclose(self) -> None:
        """Close this event loop's connections; a later `post` opens new ones."""
        client = self._clients.pop(asyncio.get_running_loop(), None)
        if client is not None:
            await client.aclose()

    def _client(self) -> Exchange:
        loop = asyncio.get_running_loop()
        client = self._clients.get(loop)
        if client is None:
            from remit.model.exchange import Exchange

            for gone in [one for one in self._clients if one.is_closed()]:
                del self._clients[gone]  # its connections name it, so that it would not go by itself
            client = self._clients[loop] = Exchange(self._url, self._headers(), self._timeouts, self._most_bytes)
        return client
