"""A provider on this machine: raw sockets, so that every way of failing can be written down."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
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


def answer(status: str = "200 OK", body: bytes = b"{}", **headers: str) -> Answer:
    """A whole response."""

    async def write(writer: Writer) -> None:
        lines = [f"HTTP/1.1 {status}", f"content-length: {len(body)}"]
        lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
        writer.write("\r\n".join([*lines, "", ""]).encode() + body)
        await writer.drain()

    return write


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
async def serving(*answers: Answer) -> AsyncGenerator[Server]:
    """Serve the answers in their order, over as many connections as are made."""
    served = Server()
    left = iter(answers)
    tasks: set[asyncio.Task[None]] = set()

    async def talk(reader: asyncio.StreamReader, writer: Writer) -> None:
        served.connections += 1
        try:
            while head := await _head(reader):
                size = int(head.lower().split("content-length:")[1].split("\r\n")[0])
                served.heads.append(head)
                served.bodies.append(await reader.readexactly(size))
                await next(left)(writer)
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    def accept(reader: asyncio.StreamReader, writer: Writer) -> None:
        task = asyncio.get_running_loop().create_task(talk(reader, writer))
        tasks.add(task)
        task.add_done_callback(tasks.discard)

    server = await asyncio.start_server(accept, "127.0.0.1", 0)
    host, port = server.sockets[0].getsockname()[:2]
    served.url = f"http://{host}:{port}"
    try:
        yield served
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
