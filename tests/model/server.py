"""A provider on this machine: raw sockets, so that every way of failing can be written down."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field

Writer = asyncio.StreamWriter
Answer = Callable[[Writer], Awaitable[None]]


@dataclass
class Server:
    """What was asked: request heads and bodies, and how many connections were made."""

    url: str = ""
    heads: list[str] = field(default_factory=list)
    bodies: list[bytes] = field(default_factory=list)
    connections: int = 0
    ended: int = 0
    """How many connections are over, on both sides."""
    moved: asyncio.Event = field(default_factory=asyncio.Event)

    async def until(self, *, ended: int = 0, asked: int = 0) -> None:
        """Return when so many connections are over, and so many requests were heard."""
        while self.ended < ended or len(self.bodies) < asked:
            self.moved.clear()
            await self.moved.wait()


def answer(status: str = "200 OK", body: bytes = b"{}", **headers: str) -> Answer:
    """A whole response."""

    async def write(writer: Writer) -> None:
        lines = [f"HTTP/1.1 {status}", f"content-length: {len(body)}"]
        lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
        writer.write("\r\n".join([*lines, "", ""]).encode() + body)
        await writer.drain()

    return write


def raw(*pieces: bytes, close: bool = False) -> Answer:
    """Bytes as they are, one piece after the other."""

    async def write(writer: Writer) -> None:
        for piece in pieces:
            writer.write(piece)
            await writer.drain()
            await asyncio.sleep(0)
        if close:
            writer.close()

    return write


def streamed(*chunks: bytes, whole: bool = True, kind: str = "text/event-stream; charset=utf-8") -> Answer:
    """A response in chunks; without its end, the connection is closed instead."""
    head = f"HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\ntransfer-encoding: chunked\r\n\r\n".encode()
    sent = [b"%x\r\n%b\r\n" % (len(chunk), chunk) for chunk in chunks]
    return raw(head, *sent, *([b"0\r\n\r\n"] if whole else []), close=not whole)


async def nothing(writer: Writer) -> None:
    """Take the request and never answer."""
    await writer.drain()
    await asyncio.Event().wait()


async def half(writer: Writer) -> None:
    """Begin an answer and never end it."""
    writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{")
    await writer.drain()
    await asyncio.Event().wait()


async def hang_up(writer: Writer) -> None:
    """Close without a word."""
    writer.close()


async def torn(writer: Writer) -> None:
    """Close in the middle of the answer."""
    writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{")
    await writer.drain()
    writer.close()


@asynccontextmanager
async def serving(*answers: Answer, tls: ssl.SSLContext | None = None) -> AsyncGenerator[Server]:
    """Serve the answers in their order, over as many connections as are made."""
    served = Server()
    left = iter(answers)

    async def talk(reader: asyncio.StreamReader, writer: Writer) -> None:
        served.connections += 1
        try:
            while head := await _head(reader):
                size = int(head.lower().split("content-length:")[1].split("\r\n")[0])
                served.heads.append(head)
                served.bodies.append(await reader.readexactly(size))
                served.moved.set()
                await next(left)(writer)
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()
            with suppress(ConnectionError):
                await writer.wait_closed()
            served.ended += 1
            served.moved.set()

    async with listening(talk, tls=tls) as (host, port):
        served.url = f"{'https' if tls else 'http'}://{host}:{port}"
        yield served


@asynccontextmanager
async def listening(
    talk: Callable[[asyncio.StreamReader, Writer], Awaitable[None]], *, tls: ssl.SSLContext | None = None
) -> AsyncGenerator[tuple[str, int]]:
    """Have every connection talked to, and gone at the end."""
    tasks: set[asyncio.Task[None]] = set()

    async def whole(reader: asyncio.StreamReader, writer: Writer) -> None:
        try:
            await talk(reader, writer)
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.transport.abort()

    def accept(reader: asyncio.StreamReader, writer: Writer) -> None:
        task = asyncio.ensure_future(whole(reader, writer))
        tasks.add(task)
        task.add_done_callback(tasks.discard)

    server = await asyncio.start_server(accept, "127.0.0.1", 0, ssl=tls)
    host, port = server.sockets[0].getsockname()[:2]
    try:
        yield host, port
    finally:
        for task in list(tasks):
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        server.close()


async def _head(reader: asyncio.StreamReader) -> str:
    try:
        return (await reader.readuntil(b"\r\n\r\n")).decode()
    except (asyncio.IncompleteReadError, ConnectionError):
        return ""
