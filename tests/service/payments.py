"""A payment service on this machine with books of its own, which can break off anywhere; and a desk that calls it."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from model.server import listening
from remit import Agent, MemoryLedger, Principal, Remit, ScriptedModel, ambient
from remit.http import Http
from remit.tool import Tool
from remit.types.event import CallEnded, OperationMoved
from remit.types.label import TRUSTED
from remit.types.operation import Operation
from remit.types.outcome import Awaiting, Outcome

ALICE = Principal("alice")

PLACES = (
    *("accepted", "in the head", "in the body", "read", "done", "in the status line", "answer headed", "in the answer"),
    *("said yes first", "yes first, and closed in order", "yes first, without an end"),
)
"""Where the service may break off."""


@dataclass(frozen=True)
class Way:
    """What the service does with a request: it breaks off at a place, or answers with a status, having done it or not."""

    breaks: str | None = None
    status: int = 200
    does: bool = True
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes | None = None


@dataclass
class Service:
    """What it was asked, and what it did: the paths of its effects, in order. `dedupes`: it knows a key again."""

    ways: list[Way]
    dedupes: bool = True
    url: str = ""
    effects: list[str] = field(default_factory=list)
    books: dict[str, str] = field(default_factory=dict)
    asked: list[tuple[str, str, dict[str, str], bytes]] = field(default_factory=list)
    connections: int = 0
    hold: asyncio.Event = field(default_factory=asyncio.Event)
    heard: asyncio.Event = field(default_factory=asyncio.Event)

    def did(self, path: str) -> int:
        """How often something was done about a path."""
        return self.effects.count(path)

    async def talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        while True:
            first = await reader.read(1)
            if not first:
                return
            writes = first == b"P" or first == b"D"
            way = self.ways.pop(0) if writes and self.ways else Way()
            if way.breaks == "accepted":
                return
            if way.breaks == "in the head":
                await reader.read(10)
                return
            head = first + await reader.readuntil(b"\r\n\r\n")
            method, target, headers = _parsed(head.decode())
            size = int(headers.get("content-length", "0"))
            if way.breaks == "in the body":
                await reader.readexactly(size // 2)
                return
            body = await reader.readexactly(size)
            self.asked.append((method, target, headers, body))
            self.heard.set()
            path = target.partition("?")[0]
            if not writes:
                found = self.books.get(path)
                _answer(writer, Way(status=404 if found is None else 200), json.dumps({"by": found}).encode())
            elif not await self._write(writer, way, path, headers.get("idempotency-key", "")):
                return
            await writer.drain()

    async def _write(self, writer: asyncio.StreamWriter, way: Way, path: str, key: str) -> bool:
        if way.breaks == "read":
            return False
        if way.breaks in ("said yes first", "yes first, and closed in order"):
            writer.write(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\n{}\r\n")
            await writer.drain()
            if way.breaks != "said yes first":
                writer.close()
            return False
        if way.breaks == "yes first, without an end":
            writer.write(b'HTTP/1.1 200 OK\r\n\r\n{"by": "me"}')
            await writer.drain()
            writer.close()
            await writer.wait_closed()
            return False
        if way.does and not (self.dedupes and self.books.get(path) == key):
            self.books[path] = key
            self.effects.append(path)
        if way.breaks == "done":
            return False
        if way.breaks == "hold":
            await self.hold.wait()
            return False
        body = json.dumps({"by": key}).encode() if way.body is None else way.body
        if way.breaks is None:
            _answer(writer, way, body)
            return True
        whole = b"HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\n"
        writer.write({"in the status line": whole[:11], "answer headed": whole}.get(way.breaks, whole + body))
        await writer.drain()
        return False


def _answer(writer: asyncio.StreamWriter, way: Way, body: bytes) -> None:
    lines = [f"HTTP/1.1 {way.status} Said", f"content-length: {len(body)}"]
    lines += [f"{name}: {value}" for name, value in way.headers.items()]
    writer.write("\r\n".join([*lines, "", ""]).encode() + body)


def _parsed(head: str) -> tuple[str, str, dict[str, str]]:
    first, *lines = head.strip().split("\r\n")
    method, target, _ = first.split(" ")
    pairs = [line.split(": ", 1) for line in lines]
    return method, target, {name.lower(): value for name, value in pairs}


@asynccontextmanager
async def serving(*ways: Way, dedupes: bool = True) -> AsyncGenerator[Service]:
    """The service, which meets the writes that it is asked for in these ways, and those after them with a yes."""
    service = Service(list(ways), dedupes)
    async with listening(service.talk) as (host, port):
        service.url = f"http://{host}:{port}"
        yield service


@dataclass
class Desk:
    """An open owner with one agent, for calls of a host's loop."""

    remit: Remit
    service: Service

    async def call(self, tool: str, *, call: str = "1", **arguments: object) -> Outcome:
        given = {"id": "a", **arguments}
        outcome = await self.remit.gate("payer").call(tool, given, principal=ALICE, run="run", call=call, label=TRUSTED)  # type: ignore[arg-type]
        assert not isinstance(outcome, Awaiting)
        return outcome

    async def operation(self) -> Operation:
        [one] = await self.remit.operations()
        return one

    async def evidence(self) -> str:
        return "\n".join((await self.operation()).evidence)

    async def ended(self) -> CallEnded:
        return [one.event for one in await self.remit.events("run") if isinstance(one.event, CallEnded)][-1]

    async def moves(self) -> list[OperationMoved]:
        return [one.event for one in await self.remit.events("run") if isinstance(one.event, OperationMoved)]


@asynccontextmanager
async def desk_of(
    service: Service, tools: Sequence[Tool], *, http: Http | None = None, secrets: Sequence[str] = ()
) -> AsyncGenerator[Desk]:
    """A desk whose tools find the service's address in `ctx.deps`."""
    agent = Agent("payer", model=ScriptedModel([]), tools=tools)
    async with Remit(MemoryLedger(), [agent], deps=service.url, http=http, secrets=secrets) as remit:
        yield Desk(remit, service)
        assert await remit.verify() == []


def told(
    story: Callable[[Desk], Awaitable[None]],
    *tools: Tool,
    ways: Sequence[Way] = (),
    http: Http | None = None,
    secrets: Sequence[str] = (),
    dedupes: bool = True,
) -> None:
    """Tell a story with the service and a desk, by a clock of their own."""

    async def whole() -> None:
        async with serving(*ways, dedupes=dedupes) as service, desk_of(service, tools, http=http, secrets=secrets) as desk:
            await story(desk)

    with ambient.use(ambient.Seeded()):
        asyncio.run(whole())


def closed_port() -> int:
    """A port of this machine where nobody listens."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]
