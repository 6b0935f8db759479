"""The connections of one event loop to one address: used one at a time, kept for the next request.

Knows no provider. Invariant: a connection that is handed out belongs to one request alone. The environment's proxies
and certificates are for the way out to a provider (https); a plain address is a server of one's own, and requests to
it, with their keys, pass no proxy.
"""

from __future__ import annotations

import ssl
from base64 import b64encode
from collections import deque
from urllib.parse import quote, unquote, urlsplit

import h11

from remit import ambient
from remit.errors import InputError
from remit.model.connection import Broken, Connection
from remit.model.line import Line, dial

__all__ = ["Address", "Pool"]

_KEPT = 64
_KEPT_S = 30.0
"""A provider's servers close an idle connection after a minute or later; what is closed earlier is seen before use."""

_PATH = "/%:@!$&'()*+,;=~-._"


class Address:
    """A URL as it goes on the wire: its parts, its `host` header, and the user that it names."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        name = parts.hostname or ""
        self.scheme = parts.scheme
        self.host = name if name.isascii() else name.encode("idna").decode()
        default = 443 if parts.scheme == "https" else 80
        self.port = parts.port or default
        shown = f"[{self.host}]" if ":" in self.host else self.host
        self.authority = f"{shown}:{self.port}"
        self.host_header = shown if self.port == default else self.authority
        self.target = quote(parts.path or "/", safe=_PATH)
        self.basic: str | None = None
        if parts.username or parts.password:
            user = f"{unquote(parts.username or '')}:{unquote(parts.password or '')}"
            self.basic = f"Basic {b64encode(user.encode()).decode()}"


class Pool:
    """The connections to an address, made as they are needed.

    Raises:
        InputError: the environment names a proxy that cannot be used (`model.proxy`).
    """

    def __init__(self, address: Address) -> None:
        self.address = address
        self._is_secure = address.scheme == "https"
        self._proxy = _proxy(address) if self._is_secure else None
        self._tls = _tls() if self._is_secure else None
        self._idle: deque[tuple[Connection, float]] = deque()
        self._closed = False

    def take(self) -> Connection | None:
        """The kept connection that was used last and still stands, if there is one."""
        while self._idle:
            connection, since_s = self._idle.pop()
            if not connection.is_stale and ambient.monotonic_s() - since_s < _KEPT_S:
                return connection
            connection.close()
        return None

    async def connect(self) -> Connection:
        """A new connection, through the proxy if there is one.

        Raises:
            OSError: there is none to be had.
            Broken: the proxy does not let it through.
        """
        address = self.address
        end = self._proxy or address
        line = await dial(end.host, end.port)
        try:
            if self._proxy is not None:
                await _pass_through(self._proxy, line, address)
            if self._tls is not None:
                await line.start_tls(self._tls, address.host)
        except BaseException:
            line.close()
            raise
        return Connection(line)

    def give(self, connection: Connection) -> None:
        """Take back a connection whose request is over, whatever came of it."""
        if self._closed or len(self._idle) >= _KEPT or not connection.rest():
            connection.close()
        else:
            self._idle.append((connection, ambient.monotonic_s()))
        while len(self._idle) > 1 and ambient.monotonic_s() - self._idle[0][1] >= _KEPT_S:
            self._idle.popleft()[0].close()

    def close(self) -> None:
        """Close what is not in use; what is closes when it comes back."""
        self._closed = True
        while self._idle:
            self._idle.pop()[0].close()


async def _pass_through(proxy: Address, line: Line, address: Address) -> None:
    """Have a proxy let the line through to an address."""
    if proxy.scheme == "https":
        await line.start_tls(_tls(), proxy.host)
    headers = [("host", address.authority), *([("proxy-authorization", proxy.basic)] if proxy.basic else [])]
    asked = Connection(line)
    await asked.send(h11.Request(method="CONNECT", target=address.authority, headers=headers), b"", None)
    status, _ = await asked.head(None)
    if not 200 <= status < 300:
        raise Broken(sent=False)


def _tls() -> ssl.SSLContext:
    from httpx2 import create_ssl_context

    context = create_ssl_context()
    context.set_alpn_protocols(["http/1.1"])
    return context


def _proxy(address: Address) -> Address | None:
    """The environment's proxy for https: `HTTPS_PROXY` or `ALL_PROXY`, unless `NO_PROXY` names the host."""
    from urllib.request import getproxies, proxy_bypass

    found = getproxies()
    url = found.get("https") or found.get("all")
    if not url or proxy_bypass(address.host_header):
        return None
    try:
        proxy = Address(url if "://" in url else f"http://{url}")
    except ValueError:  # a port or a host that cannot be one
        proxy = None
    if proxy is None or proxy.scheme not in ("http", "https") or not proxy.host:
        message = "the environment's proxy cannot be used: it must be an http or https one, not socks"
        raise InputError(message, code="model.proxy")
    return proxy
