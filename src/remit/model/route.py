"""The way to an address: through which proxy, and whose certificates are believed.

Knows no provider. Invariant: the environment's proxies and certificates are for the way out to a provider (https); a
plain address is a server of one's own, and requests to it, with their keys, pass no proxy.
"""

from __future__ import annotations

import socket
import ssl
from base64 import b64encode
from urllib.parse import quote, unquote, urlsplit

import h11

from remit.errors import InputError
from remit.model.connection import Connection, ConnectionBroken
from remit.model.dial import dial
from remit.model.failure import NoConnection
from remit.model.transport import Transport

__all__ = ["Address", "NoRoute", "Route"]

_PATH = "/%:@!$&'()*+,;=~-._"


_OTHER_NAME = frozenset({62, 63, 64})
"""OpenSSL's `X509_V_ERR_HOSTNAME_MISMATCH`, and the same for addresses of mail and of IP."""

_NOT_NOW = frozenset({9, 10})
"""OpenSSL's `X509_V_ERR_CERT_NOT_YET_VALID` and `_HAS_EXPIRED`."""


class NoRoute(Exception):
    """A connection could not be made, and why; `status` is that of a proxy which said so."""

    def __init__(self, reason: NoConnection, *, status: int | None = None) -> None:
        super().__init__()
        self.reason: NoConnection = reason
        self.status = status


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


class Route:
    """How connections to an address are made, as the environment says when the route is.

    Raises:
        InputError: the environment names a proxy or certificates that cannot be used (`model.proxy`,
            `model.certificates`).
    """

    def __init__(self, address: Address) -> None:
        is_secure = address.scheme == "https"
        self._address = address
        self._proxy = _proxy(address) if is_secure else None
        self._tls = _tls() if is_secure else None

    async def connect(self) -> Connection:
        """A new connection, through the proxy if there is one.

        Raises:
            NoRoute: there is none to be had.
        """
        address = self._address
        end = self._proxy or address
        try:
            transport = await dial(end.host, end.port)
        except OSError as error:
            raise NoRoute("proxy_unreachable" if self._proxy else _reason(error)) from None
        try:
            if self._proxy is not None:
                await _pass_through(self._proxy, transport, address)
            if self._tls is not None:
                await _secure(transport, self._tls, address.host)
        except BaseException:
            transport.close()
            raise
        return Connection(transport)


async def _pass_through(proxy: Address, transport: Transport, address: Address) -> None:
    """Have a proxy let what follows through to an address."""
    if proxy.scheme == "https":
        await _secure(transport, _tls(), proxy.host)
    headers = [("host", address.authority), *([("proxy-authorization", proxy.basic)] if proxy.basic else [])]
    asked = Connection(transport)
    try:
        await asked.send(h11.Request(method="CONNECT", target=address.authority, headers=headers), b"", None)
        status, _ = await asked.response(None)
    except ConnectionBroken:
        raise NoRoute("proxy_failed") from None
    if not 200 <= status < 300:
        raise NoRoute("proxy_failed" if status >= 500 else "proxy_refused", status=status)


async def _secure(transport: Transport, context: ssl.SSLContext, host: str) -> None:
    try:
        await transport.start_tls(context, host)
    except OSError as error:
        if isinstance(error, TimeoutError):
            raise
        raise NoRoute(_reason(error)) from None


def _reason(error: OSError) -> NoConnection:
    match error:
        case ssl.SSLCertVerificationError():
            if error.verify_code in _OTHER_NAME:
                return "certificate_name"
            return "certificate_expired" if error.verify_code in _NOT_NOW else "certificate_untrusted"
        case ssl.SSLError():
            return "no_tls"
        case socket.gaierror():
            return "name_not_found"
        case ConnectionRefusedError():
            return "refused"
        case _:
            return "unreachable"


def _tls() -> ssl.SSLContext:
    from httpx2 import create_ssl_context  # knows where each system keeps its certificates, and `SSL_CERT_FILE` and `_DIR`

    try:
        context = create_ssl_context()
    except OSError:  # an `SSLError` is one
        message = "the certificates to trust cannot be read: SSL_CERT_FILE must name a file of them, SSL_CERT_DIR a folder"
        raise InputError(message, code="model.certificates", sent=False) from None
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
        raise InputError(message, code="model.proxy", sent=False)
    return proxy
