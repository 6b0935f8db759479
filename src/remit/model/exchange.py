"""One request and its response over HTTP: headers, waits, and what went wrong, named once.

Knows no provider's protocol. Invariant: what is raised is a `ModelError` that says whether anything was sent; nothing
is tried again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import TYPE_CHECKING

import h11

from remit.errors import ModelError
from remit.model import failure
from remit.model.connection import Broken, Connection, Headers
from remit.model.pool import Address, Pool
from remit.model.stream import StreamReader, speaks_json

if TYPE_CHECKING:
    from remit.model.sender import Timeouts

__all__ = ["Exchange"]


class Exchange:
    """The connections of one event loop to an address, and what every request over them has in common.

    Args:
        headers: those of the provider, its key among them.
        most_bytes: the largest response that is taken in.
    """

    def __init__(self, url: str, headers: Mapping[str, str], timeouts: Timeouts, most_bytes: int) -> None:
        address = Address(url)
        self._pool = Pool(address)
        self._timeouts = timeouts
        self._most_bytes = most_bytes
        common = {
            "host": address.host_header,
            "content-type": "application/json",
            "accept-encoding": "identity",
            "user-agent": "remit",
            **headers,
        }
        if address.basic is not None:
            common["authorization"] = address.basic
        self._common = [(name.encode(), value.encode()) for name, value in common.items()]
        self._target = address.target.encode()

    async def post(self, body: bytes, hearing: StreamReader | None) -> bytes:
        """One request and its response, put together by `hearing` where it is a stream.

        Raises:
            ModelError: there was no success.
            ProtocolError: the stream is none of the protocol's.
        """
        connection = self._pool.take() or await self._connect()
        try:
            status, headers = await self._sent(connection, body, hearing)
            if status != 200:
                raise failure.refused(status, _read(headers), await self._said(connection))
            content_type, encoding = _kind(headers)
            if encoding not in (b"", b"identity"):
                raise failure.unusable("it is compressed, which was not asked for")
            if hearing is None or speaks_json(content_type):
                return await self._whole(connection)
            return await self._heard(connection, hearing, headers)
        finally:
            self._pool.give(connection)

    async def aclose(self) -> None:
        """Close what is not in use; what is closes when its request is over."""
        self._pool.close()
        await asyncio.sleep(0)  # the event loop closes sockets on its next round

    async def _connect(self) -> Connection:
        try:
            async with asyncio.timeout(self._timeouts.connect):
                return await self._pool.connect()
        except TimeoutError:
            raise failure.timed_out("connect") from None
        except (OSError, Broken):  # a certificate that is refused is the former, too
            raise failure.lost(sent=False, why="no connection") from None

    async def _sent(self, connection: Connection, body: bytes, hearing: StreamReader | None) -> tuple[int, Headers]:
        """Send the request; what the response begins with."""
        accept = b"application/json" if hearing is None else b"text/event-stream"
        headers = [*self._common, (b"accept", accept), (b"content-length", b"%d" % len(body))]
        request = h11.Request(method=b"POST", target=self._target, headers=headers)
        phase: failure.Phase = "send"
        try:
            await connection.send(request, body, self._timeouts.idle)
            phase = "first_byte"
            return await connection.head(self._timeouts.first_byte)
        except TimeoutError:
            raise failure.timed_out(phase) from None
        except Broken as broken:
            raise failure.lost(sent=broken.sent, why="the connection broke") from None

    async def _said(self, connection: Connection) -> bytes:
        """The body of a refusal, empty where it does not come: the refusal stands without it."""
        try:
            return await self._whole(connection)
        except ModelError:
            return b""

    async def _whole(self, connection: Connection) -> bytes:
        parts: list[bytes] = []
        size = 0
        try:
            while (chunk := await connection.more(self._timeouts.idle)) is not None:
                size += len(chunk)
                if size > self._most_bytes:
                    raise failure.unusable("it is too large")
                parts.append(chunk)
        except TimeoutError:
            raise failure.timed_out("idle") from None
        except Broken:
            raise failure.lost(sent=True, why="the connection broke") from None
        return parts[0] if len(parts) == 1 else b"".join(parts)

    async def _heard(self, connection: Connection, hearing: StreamReader, headers: Headers) -> bytes:
        size = 0
        try:
            while (chunk := await connection.more(self._timeouts.idle)) is not None:
                size += len(chunk)
                if size > self._most_bytes:
                    raise failure.unusable("it is too large")
                if hearing.take(chunk):
                    break
        except TimeoutError:
            raise failure.timed_out("idle") from None
        except Broken:
            raise failure.cut() from None
        return hearing.body(_read(headers))


def _read(headers: Headers) -> Mapping[str, str]:
    return {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in headers}


def _kind(headers: Headers) -> tuple[str, bytes]:
    """Content type and encoding of a response."""
    content_type, encoding = "", b""
    for name, value in headers:
        match name.lower():
            case b"content-type":
                content_type = value.decode("latin-1")
            case b"content-encoding":
                encoding = value.strip().lower()
            case _:
                pass
    return content_type, encoding
