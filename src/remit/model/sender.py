"""A provider's address, and the connections to it in each event loop.

Knows no protocol and, until it is asked to send, no HTTP. Invariant: one call of `post` is at most one request on the
wire; redirects are not followed, so that a key goes to the address that was given and nowhere else.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from remit.model.response import MOST_BYTES
from remit.model.timeouts import Timeouts
from remit.types.model import Streaming

if TYPE_CHECKING:
    from remit.model.http_client import HttpClient

__all__ = ["Sender"]


class Sender:
    """A provider's address, with the connections to it.

    Args:
        url: where the requests go, whole.
        headers: called when the connections of an event loop are set up, so that keys are read then and kept nowhere
            else.
        most_bytes: the largest response that is taken in.
    """

    def __init__(
        self, url: str, headers: Callable[[], Mapping[str, str]], timeouts: Timeouts, *, most_bytes: int = MOST_BYTES
    ) -> None:
        self.url = url
        self._headers = headers
        self._timeouts = timeouts
        self._most_bytes = most_bytes
        self._clients: dict[asyncio.AbstractEventLoop, HttpClient] = {}

    async def post(self, body: bytes, stream: Streaming | None = None) -> bytes:
        """Send one body, return the response's; put together where it is streamed.

        Raises:
            ModelError: there was no success.
            ProtocolError: the stream is none of the protocol's.
            InputError: there is no key, or no way out.
        """
        return await self._client().post(body, stream)

    async def aclose(self) -> None:
        """Close this event loop's connections; a later `post` opens new ones."""
        client = self._clients.pop(asyncio.get_running_loop(), None)
        if client is not None:
            await client.aclose()

    def _client(self) -> HttpClient:
        loop = asyncio.get_running_loop()
        client = self._clients.get(loop)
        if client is None:
            from remit.model.http_client import HttpClient

            for gone in [one for one in self._clients if one.is_closed()]:
                del self._clients[gone]
            client = self._clients[loop] = HttpClient(self.url, self._headers(), self._timeouts, self._most_bytes)
        return client
