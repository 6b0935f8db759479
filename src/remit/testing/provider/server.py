"""HTTP/1.1 on this machine: requests in, responses out, in as many pieces as they are given, and endings of every kind.

Knows no provider. Invariant: when it is closed, no connection and no task of it is left.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import struct
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import h11

__all__ = ["Received", "Response", "Server", "Wait"]

_READ = 65_536
_HEAD = 262_144


@dataclass(frozen=True, slots=True)
class Received:
    """A request as it came. Header names are lower-case."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes


@dataclass(frozen=True, slots=True)
class Wait:
    """A pause inside a response; what `hold` returns ends it."""

    hold: Callable[[], Awaitable[None]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Response:
    """A response: its pieces go out one by one, each a chunk of its own, and `end` says what comes after them."""

    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    pieces: Sequence[bytes | Wait] = ()
    end: Literal["whole", "torn", "reset"] = "whole"


class Server:
    """Serves one function.

    Args:
        answer: makes the response; None closes the connection.
        deaf: whether the connection is closed before the body of the request is read.
    """

    def __init__(self, answer: Callable[[Received], Awaitable[Response | None]], deaf: Callable[[], bool]) -> None:
        self._answer = answer
        self._deaf = deaf
        self._tasks: set[asyncio.Task[None]] = set()
        self._server: asyncio.Server | None = None

    async def open(self) -> str:
        """Listen on a free port of this machine; returns the address."""
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        host, port = self._server.sockets[0].getsockname()[:2]
        return f"http://{host}:{port}"

    async def aclose(self) -> None:
        """Close every connection and stop listening."""
        if self._server is not None:
            self._server.close()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.get_running_loop().create_task(self._talk(reader, writer))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        spoken = h11.Connection(h11.SERVER, max_incomplete_event_size=_HEAD)
        try:
            while (received := await self._receive(spoken, reader)) is not None:
                response = await self._answer(received)
                if response is None or not await _send(spoken, writer, response):
                    break
                if spoken.our_state is not h11.DONE or spoken.their_state is not h11.DONE:
                    break
                spoken.start_next_cycle()
        except (ConnectionError, h11.ProtocolError):
            pass
        finally:
            writer.close()
            with contextlib.suppress(ConnectionError):
                await writer.wait_closed()

    async def _receive(self, spoken: h11.Connection, reader: asyncio.StreamReader) -> Received | None:
        head: h11.Request | None = None
        body = bytearray()
        while True:
            event = spoken.next_event()
            match event:
                case h11.NEED_DATA:
                    spoken.receive_data(await reader.read(_READ))
                case h11.Request():
                    if self._deaf():
                        return None
                    head = event
                case h11.Data():
                    body += event.data
                case h11.EndOfMessage() if head is not None:
                    headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in head.headers}
                    return Received(head.method.decode(), head.target.decode("latin-1"), headers, bytes(body))
                case _:
                    return None


async def _send(spoken: h11.Connection, writer: asyncio.StreamWriter, response: Response) -> bool:
    """Write a response; whether the connection can be used again."""
    head = h11.Response(status_code=response.status, headers=[*response.headers.items()], reason=b"")
    writer.write(spoken.send(head) or b"")
    for piece in response.pieces:
        if writer.transport.is_closing():  # nobody listens any more
            return False
        if isinstance(piece, Wait):
            await writer.drain()
            await piece.hold()
        else:
            writer.write(spoken.send(h11.Data(data=piece)) or b"")
    match response.end:
        case "whole":
            writer.write(spoken.send(h11.EndOfMessage()) or b"")
            await writer.drain()
            return True
        case "torn":
            await writer.drain()
            return False
        case "reset":
            await writer.drain()
            wire: socket.socket = writer.get_extra_info("socket")
            wire.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            writer.transport.abort()
            return False
