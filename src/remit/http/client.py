"""The two clients: how a request is made over `httpx2`, awaited or not.

Knows sockets through `httpx2` only. Invariant: one request on one connection, which nothing used before it and
nothing uses after it, so that no dead connection makes a doubt; no cookie, redirect or answer of one is another's.
"""

from __future__ import annotations

import asyncio
import ssl
import threading
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Literal, TypedDict, Unpack, cast

from remit import ambient
from remit.http.exchange import Exchange
from remit.http.setting import Http
from remit.tool import Answer, Context, How, SyncWeb, Web

if TYPE_CHECKING:
    from httpcore2 import AsyncNetworkStream

__all__ = ["Client", "Clients", "SyncClient"]


class _Options(TypedDict):
    verify: ssl.SSLContext
    proxy: str | None
    trust_env: bool
    follow_redirects: bool


class Clients:
    """Makes the clients of attempts: `Context(..., web=Clients())` in a test of a handler."""

    def __init__(self, http: Http | None = None) -> None:
        self.http = http or Http()
        self._lock = threading.Lock()
        self._verify = self.http.verify

    def client(self, context: Context[object]) -> Web:
        """For an attempt that awaits."""
        return Client(self, context)

    def sync_client(self, context: Context[object]) -> SyncWeb:
        """For an attempt that blocks its thread."""
        return SyncClient(self, context)

    def options(self) -> _Options:
        """What every client of `httpx2` is made with."""
        from httpx2 import create_ssl_context

        with self._lock:
            if self._verify is None:
                self._verify = create_ssl_context(trust_env=self.http.trust_env)
        return {
            "verify": self._verify,
            "proxy": self.http.proxy,
            "trust_env": self.http.trust_env,
            "follow_redirects": False,
        }


class Client(Web):
    """For one attempt, awaited."""

    def __init__(self, clients: Clients, context: Context[object]) -> None:
        self._clients, self._context = clients, context

    async def request(self, method: str, url: str, **how: Unpack[How]) -> Answer:
        """See `Web.request`."""
        exchange = Exchange(self._context, self._clients.http, method, url, how)
        try:
            async with asyncio.timeout(exchange.limit_s):
                content = await self._sent(exchange, how)
        except asyncio.CancelledError:
            exchange.ended()
            self._context.trail.note("cancelled while it was under way")
            raise
        except Exception as error:  # whatever the transport raises; what it proves, the exchange knows
            raise exchange.failed(*_why(error)) from None
        return exchange.finished(content)

    async def _sent(self, exchange: Exchange, how: How) -> bytes:
        from httpx2 import USE_CLIENT_DEFAULT, AsyncClient

        made: list[object] = []

        async def trace(name: str, info: Mapping[str, object]) -> None:
            if name == "connection.connect_tcp.complete":
                made.append(info.get("return_value"))
            exchange.traced(name, info)

        async with _closing(made), AsyncClient(**self._clients.options()) as client:
            request = exchange.request(client)
            request.extensions = {**request.extensions, "trace": trace}
            response = await client.send(request, stream=True, auth=how.get("auth", USE_CLIENT_DEFAULT))
            try:
                exchange.head(response.status_code, response.headers)
                content = bytearray()
                async for chunk in response.aiter_bytes():
                    content += chunk
                    if len(content) > exchange.most_bytes:
                        raise _TooLarge
                return bytes(content)
            finally:
                await response.aclose()


class SyncClient(SyncWeb):
    """For one attempt, in its thread."""

    def __init__(self, clients: Clients, context: Context[object]) -> None:
        self._clients, self._context = clients, context

    def request(self, method: str, url: str, **how: Unpack[How]) -> Answer:
        """See `SyncWeb.request`."""
        exchange = Exchange(self._context, self._clients.http, method, url, how)
        try:
            content = self._sent(exchange, how)
        except Exception as error:  # whatever the transport raises; what it proves, the exchange knows
            raise exchange.failed(*_why(error)) from None
        return exchange.finished(content)

    def _sent(self, exchange: Exchange, how: How) -> bytes:
        from httpx2 import USE_CLIENT_DEFAULT
        from httpx2 import Client as HttpxClient

        until_s = ambient.monotonic_s() + exchange.limit_s
        with HttpxClient(**self._clients.options()) as client:
            request = exchange.request(client)
            request.extensions = {**request.extensions, "trace": exchange.traced}
            response = client.send(request, stream=True, auth=how.get("auth", USE_CLIENT_DEFAULT))
            try:
                exchange.head(response.status_code, response.headers)
                content = bytearray()
                for chunk in response.iter_bytes():
                    content += chunk
                    if len(content) > exchange.most_bytes:
                        raise _TooLarge
                    if ambient.monotonic_s() > until_s:
                        raise TimeoutError
                return bytes(content)
            finally:
                response.close()


@asynccontextmanager
async def _closing(made: list[object]) -> AsyncGenerator[None]:
    """Close connections that were made: `httpx2` leaves one open where it is cancelled in the midst of TLS."""
    try:
        yield
    finally:
        for one in cast("list[AsyncNetworkStream]", made):
            await one.aclose()


class _TooLarge(Exception):
    """The body is larger than what is taken in."""


_WHY: Mapping[str, str] = {
    "_TooLarge": "the answer is too large",
    "ConnectError": "no connection could be made",
    "ConnectTimeout": "no connection could be made in time",
    "DecodingError": "the answer cannot be decoded",
    "InvalidURL": "the address is none",
    "PoolTimeout": "no connection could be made in time",
    "ProxyError": "the proxy did not let it through",
    "ReadError": "the connection broke",
    "ReadTimeout": "no answer came in time",
    "RemoteProtocolError": "the connection ended before the answer did, or what came is no HTTP",
    "Sealed": "the attempt was over",
    "TimeoutError": "it was not over in time",
    "UnsupportedProtocol": "the address is not one of http or https",
    "WriteTimeout": "it could not be written in time",
}


_LATER = frozenset(
    {"ConnectError", "ConnectTimeout", "PoolTimeout", "ProxyError", "ReadError", "ReadTimeout", "TimeoutError", "WriteTimeout"}
)
"""What may be otherwise the next time."""


def _why(error: Exception) -> tuple[str, Literal["no", "after"]]:
    """What the transport raised, in words of ours (its own may hold an address), and whether later may be better."""
    name = type(error).__name__
    return _WHY.get(name, name), "after" if name in _LATER else "no"
