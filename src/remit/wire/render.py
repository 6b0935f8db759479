"""A whole response body as the stream that a provider would have sent instead: for scripted models and fakes.

Knows no socket and no reader of streams. Source: the SDKs' event types and recorded streams. Invariant: what is not cut
into pieces stands in the stream as it was written, numbers and unknown members included; equal seeds cut equally.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from remit.types.model import ProtocolName
from remit.wire.render_responses import responses_events
from remit.wire.slice import Splitter
from remit.wire.text import Node
from remit.wire.write import Members, quote, written

__all__ = ["render"]

_LINE_END = re.compile(r"\r\n|\r|\n")
_INPUTS = ("tool_use", "server_tool_use", "mcp_tool_use")
_AT_THE_END = ("stop_reason", "stop_sequence", "stop_details", "container")
_SUMS = (
    "input_tokens",
    "cache_creation_input_tokens",
    "cache_read_input_tokens",
    "output_tokens",
    "output_tokens_details",
    "server_tool_use",
)
"""The counts that an Anthropic stream gives at its end, as sums."""
_SPOKEN = ("content", "refusal", "reasoning_content", "reasoning")
"""The members of a Chat message that come in pieces."""


def render(protocol: ProtocolName, body: bytes, *, seed: int = 0, usage: bool = True) -> tuple[bytes, ...]:
    """The stream of a response body, an item for each event with its blank line; joined they are the whole stream.

    Args:
        seed: where texts and arguments are cut; equal seeds cut equally.
        usage: whether the request asked for it (Chat's `stream_options`; the others always tell it).

    Raises:
        ProtocolError: the body is no JSON object, or not of the protocol's shape.
    """
    node = Node.of(body)
    splitter = Splitter(seed)
    match protocol:
        case "anthropic":
            return tuple(_named(event) for event in _anthropic(node, splitter))
        case "openai-responses":
            return tuple(_named(event) for event in responses_events(node, splitter))
        case "openai-chat":
            return (*(_data(written(event)) for event in _chat(node, splitter, usage=usage)), _data("[DONE]"))


def _named(event: Members) -> bytes:
    return f"event: {event['type'][1:-1]}\n".encode() + _data(written(event))


def _data(text: str) -> bytes:
    """One event; a body that was written over several lines stays so, which takes a line of data for each."""
    return "".join([*(f"data: {line}\n" for line in _LINE_END.split(text)), "\n"]).encode()


def _anthropic(message: Node, splitter: Splitter) -> Iterator[Members]:
    start = message.members()
    late = {key: start[key] for key in _AT_THE_END if key in start}
    start |= {**dict.fromkeys(late, "null"), "content": "[]", "stop_reason": "null"}
    sums: Members = {}
    usage = message.child("usage")
    if usage is not None:
        counted = usage.members()
        sums = {key: counted[key] for key in _SUMS if key in counted}
        begun = {key: text for key, text in counted.items() if key not in ("output_tokens_details", "server_tool_use")}
        start["usage"] = written({**begun, "output_tokens": "1"})
    yield {"type": '"message_start"', "message": written(start)}
    yield {"type": '"ping"'}
    for index, block in enumerate(message.children("content")):
        yield from _block(index, block, splitter)
    yield {"type": '"message_delta"', "delta": written(late), "usage": written(sums)}
    yield {"type": '"message_stop"'}


def _block(index: int, block: Node, splitter: Splitter) -> Iterator[Members]:
    start = block.members()
    deltas: list[Members] = []
    match block.value("type"):
        case "text" if isinstance(block.value("text"), str):
            start["text"] = '""'
            deltas += _deltas("text_delta", "text", splitter.split(block.string("text")))
            cited = block.children("citations")
            if cited:
                start["citations"] = "[]"
            deltas += [{"type": '"citations_delta"', "citation": written(one.members())} for one in cited]
        case "thinking" if isinstance(block.value("thinking"), str):
            start["thinking"] = '""'
            deltas += _deltas("thinking_delta", "thinking", splitter.split(block.string("thinking")))
            if block.string("signature"):
                start["signature"] = '""'
                deltas += _deltas("signature_delta", "signature", [block.string("signature")])
        case kind if kind in _INPUTS and "input" in start:
            text = start["input"]
            start["input"] = "{}"
            deltas += _deltas(
                "input_json_delta", "partial_json", ["", *([] if block.value("input") == {} else splitter.split(text))]
            )
        case _:
            pass
    yield {"type": '"content_block_start"', "index": str(index), "content_block": written(start)}
    for delta in deltas:
        yield {"type": '"content_block_delta"', "index": str(index), "delta": written(delta)}
    yield {"type": '"content_block_stop"', "index": str(index)}


def _deltas(kind: str, key: str, pieces: list[str]) -> list[Members]:
    return [{"type": quote(kind), key: quote(piece)} for piece in pieces]


def _chat(body: Node, splitter: Splitter, *, usage: bool) -> Iterator[Members]:
    common = body.members()
    counted = common.pop("usage", None)
    common |= {"object": '"chat.completion.chunk"'} | ({"usage": "null"} if usage else {})
    for position, choice in enumerate(body.children("choices")):
        for part in _choice(position, choice, splitter):
            yield {**common, "choices": f"[{written(part)}]"}
    if usage and counted is not None:
        yield {**common, "choices": "[]", "usage": counted}


def _choice(position: int, choice: Node, splitter: Splitter) -> Iterator[Members]:
    own = choice.members()
    message = choice.child("message")
    index = own.pop("index", str(position))
    logprobs = own.pop("logprobs", "null")
    own.pop("message", None)
    for delta in _said(message, splitter) if message is not None else ():
        yield {"index": index, "delta": written(delta), "logprobs": logprobs, "finish_reason": "null"}
        logprobs = "null"
    yield {"index": index, "delta": "{}", "logprobs": "null", **own}


def _said(message: Node, splitter: Splitter) -> Iterator[Members]:
    """The deltas of a Chat message: what comes whole first, then the texts, then the calls."""
    first = message.members()
    texts = {key: text for key in _SPOKEN if isinstance(text := message.value(key), str)}
    calls = message.children("tool_calls")
    if calls:
        del first["tool_calls"]
    for key in texts:
        if key == "content":
            first[key] = '""'
        else:
            del first[key]
    yield first
    for key in sorted(texts, key=lambda one: -_SPOKEN.index(one)):
        for piece in splitter.split(message.string(key)):
            yield {key: quote(piece)}
    for index, call in enumerate(calls):
        for event in _call(str(index), call, splitter):
            yield {"tool_calls": f"[{written(event)}]"}


def _call(index: str, call: Node, splitter: Splitter) -> Iterator[Members]:
    whole = {"index": index, **call.members()}
    for key, text in (("function", "arguments"), ("custom", "input")):
        inner = call.child(key)
        if inner is None or not isinstance(inner.value(text), str):
            continue
        yield {**whole, key: written({**inner.members(), text: '""'})}
        for piece in splitter.split(inner.string(text)):
            yield {"index": whole["index"], key: written({text: quote(piece)})}
        return
    yield whole
