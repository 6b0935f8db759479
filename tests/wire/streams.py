"""Recorded streams, what the official SDKs make of the same bytes, and streams of our own."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anthropic
import httpx2
import openai

from remit.types.model import Piece, ProtocolName, Reading, Reply
from remit.wire import wire_for
from wire.corpus import ROOT

PROTOCOLS: dict[str, ProtocolName] = {
    "anthropic.messages": "anthropic",
    "openai.chat": "openai-chat",
    "openai.responses": "openai-responses",
}


@dataclass(frozen=True)
class Stream:
    """A recorded stream, up to the end of its first reply."""

    name: str
    protocol: ProtocolName
    raw: bytes


def recorded() -> Iterator[Stream]:
    """Every recorded stream of the three protocols, compatible servers' included."""
    for file in ("anthropic-sdk", "openai-chat", "openai-responses", "vercel-fixtures"):
        for number, line in enumerate(
            (Path(ROOT or "") / "traffic" / f"{file}.jsonl").read_text(encoding="utf-8").splitlines()
        ):
            entry = json.loads(line)
            given = entry["response"]
            if isinstance(given, dict):
                continue
            raw = given if isinstance(given, str) else events(*given)
            compatible = "openai-chat" if '"object":"chat.completion.chunk"' in raw else None
            protocol = PROTOCOLS.get(entry["api"]) or compatible
            if protocol is not None:
                # One fixture is several replies behind each other.
                end = raw.find('{"type":"message_stop"}')
                raw = raw if end < 0 else raw[: raw.index("\n\n", end) + 2]
                yield Stream(f"{file}:{number}", protocol, raw.encode())  # type: ignore[arg-type]


def events(*data: Any) -> str:
    """A stream of data, each as it is or as JSON."""
    written = [one if isinstance(one, str) else json.dumps(one) for one in data]
    return "".join(f"{_named(one)}data: {one}\n\n" for one in written)


def _named(data: str) -> str:
    """The event's name, where its data says one: the SDKs go by it."""
    kind = json.loads(data).get("type") if data.startswith("{") else None
    return f"event: {kind}\n" if isinstance(kind, str) else ""


def gathered(protocol: ProtocolName, *chunks: bytes, names: dict[str, str] | None = None) -> tuple[bytes, list[Piece]]:
    """The body that a stream comes to, and its pieces."""
    gather = wire_for(protocol).gather(names or {})
    pieces = [piece for chunk in chunks for piece in gather.feed(chunk)]
    assert gather.error is None
    return gather.body(), pieces


def read(protocol: ProtocolName, body: bytes, *, mint: Any = lambda position: f"minted_{position}") -> Reply:
    return wire_for(protocol).read(body, Reading(max_tokens=10**9, names={}, mint=mint))


def chunked(raw: bytes, sizes: Sequence[int]) -> list[bytes]:
    """`raw` in pieces of these sizes, over and over."""
    chunks: list[bytes] = []
    at, turn = 0, 0
    while at < len(raw):
        size = sizes[turn % len(sizes)]
        chunks.append(raw[at : at + size])
        at, turn = at + size, turn + 1
    return chunks


def _transport(raw: bytes) -> httpx2.MockTransport:
    return httpx2.MockTransport(lambda _: httpx2.Response(200, headers={"content-type": "text/event-stream"}, content=raw))


def of_anthropic(raw: bytes) -> dict[str, Any]:
    """The message that the anthropic SDK's accumulator makes."""
    with httpx2.Client(transport=_transport(raw)) as http:
        client = anthropic.Anthropic(api_key="k", base_url="http://test", http_client=http)
        with client.messages.stream(model="m", max_tokens=9, messages=[{"role": "user", "content": "x"}]) as stream:
            return stream.get_final_message().to_dict(mode="json")


def of_openai_chat(raw: bytes) -> dict[str, Any]:
    """The completion that the openai SDK's accumulator makes."""
    with httpx2.Client(transport=_transport(raw)) as http:
        client = openai.OpenAI(api_key="k", base_url="http://test", http_client=http)
        with client.chat.completions.stream(model="m", messages=[{"role": "user", "content": "x"}]) as stream:
            return stream.get_final_completion().to_dict(mode="json")


def last_of_responses(raw: bytes) -> str:
    """The text of the last event's `response`, found without a parser of streams."""
    for line in raw.decode().split("\n"):
        if line.startswith("data: ") and '"type":"response.completed"' in line:
            whole = line.removeprefix("data: ")
            text = whole[whole.index('"response":') + len('"response":') :]
            return text[: json.JSONDecoder().raw_decode(text)[1]]
    raise AssertionError("no response.completed")
