"""One request and its response over HTTP: headers, waits, and what went wrong, named once.

Knows no provider's protocol. Invariant: what is raised is a `ModelError` that says whether anything was sent; nothing
is tried again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import suppress

import h11

from remit.errors import ModelError
from remit.model import failure
from remit.model.connection import Connection, ConnectionBroken
from remit.model.pool import Pool
from remit.model.response import BodyReader, WholeReader, reader_for
from remit.model.route import Address, NoRoute, Route
from remit.model.timeouts import Timeouts
from remit.types.model import Streaming

__all__ = ["HttpClient"]

_PARTING_S = 0.25
"""A stream's last event and the end of its response leave a server together; one that ends later is not worth a wait."""


class _Head:
    """What all requests of a kind begin with. `h11` checks it once: a list of its own it takes as it is."""

    def __init__(self, target: str, headers: Mapping[str, str]) -> None:
        self._target = target.encode()
        encoded = [(name.encode(), value.encode()) for name, value in headers.items()]
        checked = h11.Request(method=b"POST", target=self._target, headers=encoded).headers
        self._kind = type(checked)
        self._items = [(sent, name, value) for (sent, _), (name, value) in zip(checked.raw_items(), checked, strict=True)]

    def request(self, size: int) -> h11.Request:
        """The request with a body of so many bytes."""
        length = (b"content-length", b"content-length", b"%d" % size)
        return h11.Request(method=b"POST", target=self._target, headers=self._kind([*self._items, length]))


class HttpClient:
    """The connections of one event loop to an address, and what every request over them has in common.

    Args:
        headers: those of the provider, its key among them.
        most_bytes: the largest response that is taken in.

    Raises:
        InputError: the environment names a proxy or certificates that cannot be used (`model.proxy`,
            `model.certificates`).
    """

    def __init__(self, url: str, headers: Mapping[str, str], timeouts: Timeouts, most_bytes: int) -> None:
        address = Address(url)
        self._route = Route(address)
        self._pool = Pool()
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
        self._plain = _Head(address.target, {**common, "accept": "application/json"})
        self._streamed = _Head(address.target, {**common, "accept": "text/event-stream"})

    async def post(self, body: bytes, stream: Streaming | None) -> bytes:
        """One request and its response, put together where it is a stream.

        Raises:
            ModelError: there was no success.
            ProtocolError: the stream is none of the protocol's.
        """
        connection = self._pool.take() or await self._connect()
        try:
            connection.bound(self._timeouts.total)
            whole = await self._exchange(connection, body, stream)
            connection.bound(None)
            if connection.has_rest:
                await _part(connection)
            return whole
        finally:
            self._pool.give(connection)

    async def aclose(self) -> None:
        """Close what is not in use; what is closes when its request is over."""
        self._pool.close()
        await asyncio.sleep(0)  # the event loop closes sockets on its next round

    async def _exchange(self, connection: Connection, body: bytes, stream: Streaming | None) -> bytes:
        head = self._plain if stream is None else self._streamed
        status, headers = await self._sent(connection, head.request(len(body)), body)
        if status != 200:
            raise failure.refused(status, headers, await self._refusal(connection))
        if headers.get("content-encoding", "").strip().lower() not in ("", "identity"):
            raise failure.unusable("it is compressed, which was not asked for")
        reader = reader_for(stream, headers.get("content-type", ""), self._most_bytes)
        await self._read(connection, reader)
        return reader.whole(headers)

    async def _connect(self) -> Connection:
        try:
            async with asyncio.timeout(self._timeouts.connect):
                return await self._route.connect()
        except TimeoutError:
            raise failure.timed_out("connect") from None
        except NoRoute as error:
            raise failure.no_connection(error.reason, status=error.status) from None

    async def _sent(self, connection: Connection, request: h11.Request, body: bytes) -> tuple[int, Mapping[str, str]]:
        """Send the request; what the response begins with."""
        phase: failure.Phase = "send"
        try:
            await connection.send(request, body, self._timeouts.idle)
            phase = "first_byte"
            return await connection.response(self._timeouts.first_byte)
        except TimeoutError:
            raise _timed_out(connection, phase) from None
        except ConnectionBroken as broken:
            raise failure.lost(sent=broken.sent, why="the connection broke") from None

    async def _refusal(self, connection: Connection) -> bytes:
        """The body of a refusal, empty where it does not come in time: the refusal stands without it."""
        reader = WholeReader(self._most_bytes)
        try:
            async with asyncio.timeout(self._timeouts.idle):
                await self._read(connection, reader)
        except (ModelError, TimeoutError):
            if connection.is_overdue:
                raise failure.timed_out("total") from None
            return b""
        return reader.whole({})

    async def _read(self, connection: Connection, reader: BodyReader) -> None:
        """Have the reader take the body, to its end or as far as it wants."""
        try:
            while (data := await connection.read(self._timeouts.idle)) is not None:
                if reader.take(data):
                    break
        except TimeoutError:
            raise _timed_out(connection, "idle") from None
        except ConnectionBroken:
            raise reader.broken() from None


def _timed_out(connection: Connection, phase: failure.Phase) -> ModelError:
    return failure.timed_out("total" if connection.is_overdue else phase)


async def _part(connection: Connection) -> None:
    """Wait for the end of a response that has said all, so that its connection can be kept; not for long."""
    with suppress(TimeoutError, ConnectionBroken):
        async with asyncio.timeout(_PARTING_S):
            await connection.skip_rest()
