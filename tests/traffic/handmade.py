"""Streams written by hand, for what no scripted reply can say: how a provider or a server like it breaks a call into pieces."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from remit.types.model import ProtocolName


@dataclass(frozen=True)
class Piece:
    """A piece of a call: its index, and what of id, name and arguments comes in it."""

    index: int
    text: str = ""
    id: str | None = None
    name: str | None = None


def begin(index: int, id: str, name: str = "issue_refund", text: str = "") -> Piece:
    """The first piece of a call."""
    return Piece(index, text, id, name)


def stream(protocol: ProtocolName, pieces: Sequence[Piece], *, stop: str = "calls", tokens: int = 20) -> bytes:
    """A whole stream of these pieces.

    Args:
        stop: `calls` or `length`.
        tokens: how many it says that it wrote.
    """
    match protocol:
        case "anthropic":
            events = _anthropic(pieces, {"calls": "tool_use", "length": "max_tokens"}[stop], tokens)
            return "".join(f"event: {one['type']}\ndata: {json.dumps(one)}\n\n" for one in events).encode()
        case "openai-responses":
            events = _responses(pieces, stop, tokens)
            return "".join(f"event: {one['type']}\ndata: {json.dumps(one)}\n\n" for one in events).encode()
        case "openai-chat":
            chunks = _chat(pieces, {"calls": "tool_calls", "length": "length"}[stop], tokens)
            return ("".join(f"data: {json.dumps(one)}\n\n" for one in chunks) + "data: [DONE]\n\n").encode()


def _anthropic(pieces: Sequence[Piece], stop: str, tokens: int) -> Iterator[dict[str, Any]]:
    usage = {"input_tokens": 10, "output_tokens": 1}
    message = {"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": [], "stop_reason": None}
    yield {"type": "message_start", "message": {**message, "usage": usage}}
    for piece in pieces:
        if piece.id is not None:
            block = {"type": "tool_use", "id": piece.id, "name": piece.name, "input": {}}
            yield {"type": "content_block_start", "index": piece.index, "content_block": block}
        delta = {"type": "input_json_delta", "partial_json": piece.text}
        yield {"type": "content_block_delta", "index": piece.index, "delta": delta}
    for index in dict.fromkeys(piece.index for piece in pieces):
        yield {"type": "content_block_stop", "index": index}
    yield {"type": "message_delta", "delta": {"stop_reason": stop, "stop_sequence": None}, "usage": {"output_tokens": tokens}}
    yield {"type": "message_stop"}


def _chat(pieces: Sequence[Piece], stop: str, tokens: int) -> Iterator[dict[str, Any]]:
    def chunk(delta: dict[str, Any], reason: str | None = None) -> dict[str, Any]:
        return {**common, "choices": [{"index": 0, "delta": delta, "finish_reason": reason}]}

    common = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 0, "model": "m"}
    yield chunk({"role": "assistant", "content": None})
    for piece in pieces:
        call: dict[str, Any] = {"index": piece.index, "function": {"arguments": piece.text}}
        if piece.id is not None:
            call = {**call, "id": piece.id, "type": "function", "function": {"name": piece.name, "arguments": piece.text}}
        yield chunk({"tool_calls": [call]})
    yield chunk({}, stop)
    usage = {"prompt_tokens": 10, "completion_tokens": tokens, "total_tokens": 10 + tokens}
    yield {**common, "choices": [], "usage": usage}


def _responses(pieces: Sequence[Piece], stop: str, tokens: int) -> Iterator[dict[str, Any]]:
    status = "completed" if stop == "calls" else "incomplete"
    response = {"id": "resp_1", "object": "response", "status": "in_progress", "output": []}
    yield {"type": "response.created", "response": response, "sequence_number": 0}
    items: dict[int, dict[str, Any]] = {}
    for number, piece in enumerate(pieces, 1):
        if piece.id is not None:
            item = {"type": "function_call", "id": f"fc_{number}", "call_id": piece.id, "name": piece.name, "arguments": ""}
            items[piece.index] = item
            yield {"type": "response.output_item.added", "output_index": piece.index, "item": item, "sequence_number": number}
        items[piece.index]["arguments"] += piece.text
        delta = {"type": "response.function_call_arguments.delta", "output_index": piece.index, "delta": piece.text}
        yield {**delta, "item_id": items[piece.index]["id"], "sequence_number": number}
    output = [{**item, "status": status} for item in items.values()]
    for index, item in zip(items, output, strict=True):
        yield {"type": "response.output_item.done", "output_index": index, "item": item, "sequence_number": 100 + index}
    usage = {"input_tokens": 10, "output_tokens": tokens, "total_tokens": 10 + tokens}
    reason = None if status == "completed" else {"reason": "max_output_tokens"}
    whole = {**response, "status": status, "output": output, "usage": usage, "incomplete_details": reason}
    yield {"type": f"response.{status}", "response": whole, "sequence_number": 200}
