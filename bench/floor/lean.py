"""The lean floor: the same loop as tight as it can be written, one connection, `h11` over asyncio, no client library.

Each message is kept as the bytes that it is sent as, so a request is a join of what is there already; replies are read
with `orjson`. It has no time limits, no retries, no pool and no proxies, and dies with the first thing that goes wrong.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import h11
import orjson
from task import SCHEMA, Task, add

Call = tuple[str, dict[str, int]]
"""Its id and its arguments."""


@dataclass(frozen=True)
class Dialect:
    """What differs between the protocols.

    Args:
        path: where it is asked.
        headers: beside those of HTTP.
        head: the request up to its first message.
        read: what goes back of a reply, as bytes, and its calls.
        told: the messages for these calls and what they came to.
    """

    path: str
    headers: Sequence[tuple[str, str]]
    head: bytes
    read: Callable[[Any], tuple[list[bytes], list[Call]]]
    told: Callable[[Sequence[tuple[str, str]]], list[bytes]]


def _head(messages: str, **members: Any) -> bytes:
    return orjson.dumps(members)[:-1] + b',"' + messages.encode() + b'":['


def _anthropic(reply: Any) -> tuple[list[bytes], list[Call]]:
    calls = [(block["id"], block["input"]) for block in reply["content"] if block["type"] == "tool_use"]
    return [orjson.dumps({"role": "assistant", "content": reply["content"]})], calls


def _anthropic_told(results: Sequence[tuple[str, str]]) -> list[bytes]:
    blocks = [{"type": "tool_result", "tool_use_id": call, "content": result} for call, result in results]
    return [orjson.dumps({"role": "user", "content": blocks})]


def _chat(reply: Any) -> tuple[list[bytes], list[Call]]:
    message = reply["choices"][0]["message"]
    calls = message.get("tool_calls", ())
    return [orjson.dumps(message)], [(call["id"], orjson.loads(call["function"]["arguments"])) for call in calls]


def _chat_told(results: Sequence[tuple[str, str]]) -> list[bytes]:
    return [orjson.dumps({"role": "tool", "tool_call_id": call, "content": result}) for call, result in results]


def _responses(reply: Any) -> tuple[list[bytes], list[Call]]:
    items = reply["output"]
    calls = [(one["call_id"], orjson.loads(one["arguments"])) for one in items if one["type"] == "function_call"]
    return [orjson.dumps(item) for item in items], calls


def _responses_told(results: Sequence[tuple[str, str]]) -> list[bytes]:
    return [orjson.dumps({"type": "function_call_output", "call_id": call, "output": result}) for call, result in results]


_ADD = {"name": "add", "description": "Add two integers."}
_BEARER = [("authorization", "Bearer k")]

DIALECTS = {
    "anthropic": Dialect(
        "/v1/messages",
        [("x-api-key", "k"), ("anthropic-version", "2023-06-01")],
        _head("messages", model="m", max_tokens=1024, tools=[{**_ADD, "input_schema": SCHEMA}]),
        _anthropic,
        _anthropic_told,
    ),
    "chat": Dialect(
        "/v1/chat/completions",
        _BEARER,
        _head("messages", model="m", tools=[{"type": "function", "function": {**_ADD, "parameters": SCHEMA}}]),
        _chat,
        _chat_told,
    ),
    "responses": Dialect(
        "/v1/responses",
        _BEARER,
        _head("input", model="m", store=False, tools=[{"type": "function", **_ADD, "parameters": SCHEMA}]),
        _responses,
        _responses_told,
    ),
}


class Line:
    """One connection, kept alive."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, host: str) -> None:
        self._reader = reader
        self._writer = writer
        self._host = host
        self._h11 = h11.Connection(h11.CLIENT)

    async def post(self, dialect: Dialect, body: bytes) -> bytes:
        """The body of the response."""
        protocol = self._h11
        headers = [("host", self._host), ("content-type", "application/json"), ("content-length", str(len(body)))]
        head = protocol.send(h11.Request(method="POST", target=dialect.path, headers=[*headers, *dialect.headers]))
        protocol.send_with_data_passthrough(h11.Data(data=body))
        protocol.send(h11.EndOfMessage())
        self._writer.write((head or b"") + body)
        await self._writer.drain()
        parts: list[bytes] = []
        while True:
            event = protocol.next_event()
            if event is h11.NEED_DATA:
                protocol.receive_data(await self._reader.read(65_536))
            elif isinstance(event, h11.Response) and event.status_code != 200:
                raise RuntimeError(f"status {event.status_code}")
            elif isinstance(event, h11.Data):
                parts.append(event.data)
            elif isinstance(event, h11.EndOfMessage):
                protocol.start_next_cycle()
                return b"".join(parts)


line: Line | None = None


async def _dial(url: str) -> Line:
    place = urlsplit(url)
    return Line(*await asyncio.open_connection(place.hostname, place.port), place.netloc)


async def run(task: Task, *, protocol: str) -> None:
    global line
    line = line or await _dial(task.url)
    dialect = DIALECTS[protocol]
    messages = [orjson.dumps({"role": "user", "content": task.prompt})]
    while True:
        reply = orjson.loads(await line.post(dialect, dialect.head + b",".join(messages) + b"]}"))
        said, calls = dialect.read(reply)
        messages += said
        if not calls:
            return
        messages += dialect.told([(call, add(**arguments)) for call, arguments in calls])
