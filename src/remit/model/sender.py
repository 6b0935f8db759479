"""Sending bytes to a provider: one HTTP client per model and event loop.

Knows no protocol. Invariant: one call of `post` is at most one request on the wire; redirects are not
followed, so that a key goes to the address that was given and nowhere else.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from remit.model import failure

if TYPE_CHECKING:
    from httpx2 import AsyncClient, Request, Response

__all__ = ["Sender", "Timeouts"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeouts:
    """How long to wait for a provider, in seconds; None waits for ever.

    Args:
        connect: until the connection stands, and for a free one.
        first_byte: from the request until the response begins; a model thinks here.
        idle: between two pieces of the response, and of the request.
    """

    connect: float | None = 10.0
    first_byte: float | None = 600.0
    idle: float | None = 60.0


class Sender:
    """A provider's address, with the connections to it.

    Args:
        url: where the requests go, whole.
        headers: called when a client is made, so that keys are read then and kept nowhere else.
    """

    def __init__(self, url: str, headers: Callable[[], Mapping[str, str]], timeouts: Timeouts) -> None:
        self._url = url
        self._headers = headers
        self._timeouts = timeouts
        self._clients: WeakKeyDictionary[asyncio.AbstractEventLoop, AsyncClient] = WeakKeyDictionary()

    async def post(self, body: bytes) -> bytes:
        """Send one body, return the response's.

        Raises:
            ModelError: there was no success.
        """
        client = self._client()
        waits = self._timeouts
        phases = {"connect": waits.connect, "read": waits.first_byte, "write": waits.idle, "pool": waits.connect}
        request = client.build_request("POST", self._url, content=body, extensions={"timeout": phases})
        response, content = await _exchange(client, request, phases, waits.idle)
        if response.status_code != 200:
            raise failure.refused(response.status_code, response.headers, content)
        return content

    async def aclose(self) -> None:
        """Close this event loop's connections; a later `post` opens new ones."""
        client = self._clients.pop(asyncio.get_running_loop(), None)
        if client is not None:
            await client.aclose()

    def _client(self) -> AsyncClient:
        loop = asyncio.get_running_loop()
        client = self._clients.get(loop)
        if client is None:
            from httpx2 import AsyncClient, Limits

            # The environment's proxies and certificates are for the way out to a provider (https). A plain
            # address is a server of one's own: its requests, with their keys, pass no proxy.
            client = AsyncClient(
                headers={"content-type": "application/json", "user-agent": "remit", **self._headers()},
                trust_env=self._url.startswith("https:"),
                follow_redirects=False,
                limits=Limits(max_connections=None, max_keepalive_connections=64),
            )
            self._clients[loop] = client
        return client


async def _exchange(
    client: AsyncClient, request: Request, phases: dict[str, float | None], idle: float | None
) -> tuple[Response, bytes]:
    """One request and its whole response; `phases` is what the transport reads its current timeouts from."""
    import httpx2

    begun = False
    try:
        response = await client.send(request, stream=True)
        begun = True
        phases["read"] = idle
        try:
            return response, await response.aread()
        finally:
            await response.aclose()
    except (httpx2.ConnectTimeout, httpx2.PoolTimeout):
        raise failure.timed_out("connect") from None
    except httpx2.WriteTimeout:
        raise failure.timed_out("send") from None
    except httpx2.TimeoutException:
        raise failure.timed_out("idle" if begun else "first_byte") from None
    except (httpx2.ConnectError, httpx2.ProxyError, httpx2.UnsupportedProtocol):
        raise failure.lost(sent=False, why="no connection") from None
    except (httpx2.RequestError, httpx2.InvalidURL, httpx2.StreamError):
        raise failure.lost(sent=True, why="the connection broke") from None
