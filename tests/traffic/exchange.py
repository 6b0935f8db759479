"""Exchanges of the three protocols, and what a request says whatever its protocol.

Those written by hand are there for everybody; `REMIT_CORPUS` adds the recorded ones.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from remit.types.model import ProtocolName
from remit.wire import render
from traffic import handwritten
from wire.corpus import ROOT, Spell, spelled

FILES = (
    "anthropic-messages",
    "anthropic-sdk",
    "openai-chat",
    "openai-responses",
    "trajectories-openai-chat",
    "vercel-fixtures",
)
SPLICED = "vercel-fixtures-25"
PROTOCOLS: tuple[ProtocolName, ...] = ("anthropic", "openai-chat", "openai-responses")
_API: dict[str, ProtocolName] = {
    "anthropic.messages": "anthropic",
    "openai.chat": "openai-chat",
    "openai.responses": "openai-responses",
}


@dataclass(frozen=True)
class Exchange:
    """A request (where there is one) and its response: an object, or the bytes of a stream."""

    name: str
    protocol: ProtocolName
    request: dict[str, Any] | None
    response: dict[str, Any] | bytes

    @property
    def plain(self) -> dict[str, Any]:
        """The response, which was not streamed."""
        assert isinstance(self.response, dict)
        return self.response

    @property
    def stream(self) -> bytes:
        """The response, which was."""
        assert isinstance(self.response, bytes)
        return self.response


WRITTEN: dict[ProtocolName, tuple[list[Any], list[Any]]] = {
    "anthropic": (handwritten.ANTHROPIC, handwritten.ANTHROPIC_STREAMED),
    "openai-chat": (handwritten.CHAT, handwritten.CHAT_STREAMED),
    "openai-responses": (handwritten.RESPONSES, handwritten.RESPONSES_STREAMED),
}


@functools.cache
def exchanges() -> tuple[Exchange, ...]:
    """All of them: those written by hand, then the recorded ones in the order of the files."""
    return (*_written(), *(_recorded(Path(ROOT)) if ROOT else ()))


def recorded(number: int) -> int:
    """How many more there are where recorded ones are read."""
    return number if ROOT else 0


def _written() -> Iterator[Exchange]:
    for protocol, (whole, in_streams) in WRITTEN.items():
        for request, response in whole:
            yield Exchange(f"written-{protocol}-{response['id']}", protocol, request, response)
        for request, response in in_streams:
            events = render(protocol, json.dumps(response, ensure_ascii=False).encode(), seed=7)
            yield Exchange(f"written-{protocol}-{response['id']}", protocol, request, b"".join(events))


def _recorded(root: Path) -> Iterator[Exchange]:
    for file in FILES:
        lines = (root / "traffic" / f"{file}.jsonl").read_text(encoding="utf-8").splitlines()
        for index, line in enumerate(lines):
            entry = json.loads(line)
            if entry.get("api") in _API:
                protocol = _API[entry["api"]]
                request = entry["request"] if isinstance(entry["request"], dict) else None
                yield Exchange(f"{file}-{index}", protocol, request, _response(entry["response"], protocol))


def _response(recorded: Any, protocol: ProtocolName) -> dict[str, Any] | bytes:
    """Streams are recorded whole, or as the data of their events."""
    if isinstance(recorded, dict):
        return recorded
    if isinstance(recorded, str):
        return recorded.encode()
    events = [f"event: {json.loads(one)['type']}\ndata: {one}\n\n" for one in recorded]
    assert protocol != "openai-chat"
    return "".join(events).encode()


def plain() -> tuple[Exchange, ...]:
    """Those whose response was not streamed."""
    return tuple(one for one in exchanges() if isinstance(one.response, dict))


def streamed() -> tuple[Exchange, ...]:
    """Those whose response was, but for one that begins a second message before the first has ended, on purpose."""
    return tuple(one for one in exchanges() if isinstance(one.response, bytes) and one.name != SPLICED)


def spell_reply(exchange: Exchange, spell: Spell) -> tuple[bytes, str]:
    """The response in a spelling, and the part of it that must come back as it was."""
    response = exchange.plain
    match exchange.protocol:
        case "anthropic":
            content = spell(response["content"])
            return spelled(response, spell, content=content), content
        case "openai-chat":
            message = spell(response["choices"][0]["message"])
            choice = spelled(response["choices"][0], spell, message=message).decode()
            return spelled(response, spell, choices=f"[ {choice} ]"), message
        case "openai-responses":
            output = spell(response["output"])
            return spelled(response, spell, output=output), output[1:-1].strip()


def listed(protocol: ProtocolName, body: dict[str, Any]) -> list[dict[str, Any]]:
    """The messages or items of a request, without instructions."""
    value = body["input" if protocol == "openai-responses" else "messages"]
    if isinstance(value, str):
        return [{"type": "message", "role": "user", "content": value}]
    return [one for one in value if one.get("role") not in ("system", "developer")]


def told(protocol: ProtocolName, messages: list[dict[str, Any]]) -> list[tuple[Any, ...]]:
    """What messages say: who speaks, the ids, names and arguments of calls, their results, in order."""
    return [*{"anthropic": _anthropic, "openai-chat": _chat, "openai-responses": _responses}[protocol](messages)]


def _anthropic(messages: list[dict[str, Any]]) -> Iterator[tuple[Any, ...]]:
    for message in messages:
        content = message["content"]
        for block in [{"type": "text", "text": content}] if isinstance(content, str) else content:
            match block["type"]:
                case "text":
                    yield message["role"], "text", block["text"]
                case "tool_use":
                    yield message["role"], "call", block["id"], block["name"], block["input"]
                case "tool_result":
                    yield message["role"], "result", block["tool_use_id"], _text(block.get("content"))
                case kind:
                    yield message["role"], kind


def _chat(messages: list[dict[str, Any]]) -> Iterator[tuple[Any, ...]]:
    for message in messages:
        if message["role"] == "tool":
            yield "tool", "result", message["tool_call_id"], _text(message["content"])
            continue
        if message.get("content"):
            yield message["role"], "text", _text(message["content"])
        for call in message.get("tool_calls") or []:
            yield message["role"], "call", call["id"], call["function"]["name"], call["function"]["arguments"]


def _responses(items: list[dict[str, Any]]) -> Iterator[tuple[Any, ...]]:
    for item in items:
        match item.get("type", "message"):
            case "message":
                yield item["role"], "text", _text(item["content"])
            case "function_call":
                yield "assistant", "call", item["call_id"], item["name"], item["arguments"]
            case "function_call_output":
                yield "tool", "result", item["call_id"], _text(item["output"])
            case kind:
                yield "", kind, item.get("id"), item.get("call_id")


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    return "\n".join(part.get("text", f"({part['type']})") for part in content or [])
