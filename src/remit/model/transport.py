"""A connection's bytes, over plain asyncio: made for one request and its response after the other.

Knows no HTTP. Invariant: what nobody reads is not taken in without bound; what is waited for has a limit.
"""

from __future__ import annotations

import asyncio
import select
import socket
import ssl

__all__ = ["Transport"]

_HELD_BYTES = 1 << 20
"""So much is taken in ahead of the reader; then the sender is made to wait."""

_READ_BYTES = 1 << 16

_PIECE_BYTES = 1 << 18
"""A long request leaves in such pieces; each is waited for as long as the limit says."""

_ALIVE = tuple(
    (level, getattr(socket, name), value)
    for level, name, value in (
        (socket.SOL_SOCKET, "SO_KEEPALIVE", 1),
        (socket.IPPROTO_TCP, "TCP_KEEPIDLE", 60),
        (socket.IPPROTO_TCP, "TCP_KEEPINTVL", 60),
        (socket.IPPROTO_TCP, "TCP_KEEPCNT", 5),
    )
    if hasattr(socket, name)
)
"""A model thinks for minutes without a byte: routers on the way forget a connection that is silent for so long."""


class Transport(asyncio.Protocol):
    """One end of a connection: what came, what is to go, and the one task that waits for either."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._asyncio: asyncio.Transport | None = None
        self._came = bytearray()
        self._ended = False
        self._error: Exception | None = None
        self._waiter: asyncio.Future[None] | None = None
        self._full = False
        self._held = False
        self._until: float | None = None

    def bound(self, total_s: float | None) -> None:
        """From now on until the next time: no wait lasts longer than so many seconds from here, whatever its own limit."""
        self._until = None if total_s is None else self._loop.time() + total_s

    @property
    def is_overdue(self) -> bool:
        """Whether that moment has come."""
        return self._until is not None and self._loop.time() >= self._until

    async def start_tls(self, context: ssl.SSLContext, host: str) -> None:
        """Speak TLS from here on, with a server that proves to be this host.

        Raises:
            OSError: it does not, or the connection is gone.
        """
        plain = self._asyncio
        if plain is None or plain.is_closing():
            raise ConnectionResetError
        try:
            self._asyncio = await self._loop.start_tls(plain, self, context, server_hostname=host)
        except BaseException:
            plain.abort()
            raise

    async def send(self, data: bytes, limit_s: float | None) -> None:
        """Let it go, and wait until most of it is under way, or the other side speaks before it listened to the end.

        Raises:
            TimeoutError: nothing moved for so long.
            ConnectionError: the connection is gone, and nothing of it was sent.
        """
        transport = self._asyncio
        if transport is None or self._ended or transport.is_closing():
            raise ConnectionResetError
        sent = 0
        while sent < len(data) and not (self._came or self._ended):
            transport.write(data[sent : sent + _PIECE_BYTES])
            sent += _PIECE_BYTES
            if self._full:
                await self._wait(limit_s)
        if sent < len(data) and not self._ended:
            # The answer came early. What it answers is sent to its end all the same, so that another request may follow.
            transport.write(data[sent:])

    async def read(self, limit_s: float | None) -> bytes:
        """The next bytes; empty at the end.

        Raises:
            TimeoutError: nothing came for so long.
            ConnectionError: the connection broke.
        """
        if not (self._came or self._ended):
            await self._wait(limit_s)
        came = self._came
        if not came and self._error is not None:
            raise ConnectionResetError from None
        if len(came) <= _READ_BYTES:
            taken = bytes(came)
            came.clear()
        else:
            taken = bytes(came[:_READ_BYTES])
            del came[:_READ_BYTES]
        if self._held and self._asyncio is not None:
            self._held = False
            self._asyncio.resume_reading()
        return taken

    def close(self) -> None:
        """End it at once: what has not left by now is not wanted any more, and nobody waits for the farewell of TLS."""
        if self._asyncio is not None:
            self._asyncio.abort()

    @property
    def is_stale(self) -> bool:
        """Whether a connection without a request under way has something to say: that is its end."""
        transport = self._asyncio
        if transport is None or self._ended or self._came or transport.is_closing():
            return True
        found: socket.socket | None = transport.get_extra_info("socket")
        if found is None or found.fileno() < 0:
            return True
        # The event loop may not have looked at it yet.
        if not hasattr(select, "poll"):
            return bool(select.select([found], [], [], 0)[0])
        poll = select.poll()
        poll.register(found, select.POLLIN)
        return bool(poll.poll(0))

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        if isinstance(transport, asyncio.Transport):
            self._asyncio = transport
        made: socket.socket | None = transport.get_extra_info("socket")
        if made is not None and made.family in (socket.AF_INET, socket.AF_INET6):
            for option in _ALIVE:
                made.setsockopt(*option)

    def data_received(self, data: bytes) -> None:
        self._came += data
        if len(self._came) > _HELD_BYTES and not self._held and self._asyncio is not None:
            self._held = True
            self._asyncio.pause_reading()
        self._wake()

    def eof_received(self) -> None:
        self._ended = True
        self._wake()

    def connection_lost(self, exc: Exception | None) -> None:
        self._ended = True
        self._error = exc
        self._full = False
        self._wake()

    def pause_writing(self) -> None:
        self._full = True

    def resume_writing(self) -> None:
        self._full = False
        self._wake()

    async def _wait(self, limit_s: float | None) -> None:
        if self.is_overdue:
            raise TimeoutError
        moment = self._until
        if limit_s is not None:
            own = self._loop.time() + limit_s
            moment = own if moment is None else min(own, moment)
        waiter = self._waiter = self._loop.create_future()
        timer = None if moment is None else self._loop.call_at(moment, _expire, waiter)
        try:
            await waiter
        finally:
            self._waiter = None
            if timer is not None:
                timer.cancel()

    def _wake(self) -> None:
        waiter = self._waiter
        if waiter is not None and not waiter.done():
            waiter.set_result(None)


def _expire(waiter: asyncio.Future[None]) -> None:
    if not waiter.done():
        waiter.set_exception(TimeoutError())
