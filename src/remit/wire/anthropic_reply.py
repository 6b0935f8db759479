"""The Anthropic Messages protocol: reading a reply.

Knows no socket. Source: the SDK's types and the provider's page on stop reasons. Invariant: `calls` is read
only from `stop_reason: tool_use`; blocks of unknown types are kept and mean nothing.
"""

from __future__ import annotations

import re

from remit.types.budget import Usage
from remit.types.ident import Wording
from remit.types.model import Call, Mend, Reading, Reply, Stop
from remit.wire.ident import settle
from remit.wire.name import tool_of
from remit.wire.text import Node, Splices, quote, unread

__all__ = ["FIT", "read"]

FIT = re.compile(r"[a-zA-Z0-9_-]{1,128}")
_STOPS: dict[str, Stop] = {
    "tool_use": "calls",
    "end_turn": "end",
    "stop_sequence": "end",
    "max_tokens": "length",
    "model_context_window_exceeded": "context",
    "refusal": "refusal",
    "pause_turn": "pause",
    "compaction": "compaction",
}
_SERVER_CALLS = ("server_tool_use", "mcp_tool_use")
_Block = tuple[str, Node]
"""A content block with its type."""


def read(body: bytes, reading: Reading) -> Reply:
    """Our reading of a response body.

    Raises:
        ProtocolError: it is not a message.
    """
    message = Node.of(body)
    if message.string("type") == "error" or "content" not in message.values:
        raise unread("response", "is not a message")
    blocks = [(block.string("type"), block) for block in message.children("content")]
    raw_stop = message.string("stop_reason")
    stop = _stop(raw_stop, message, [kind for kind, _ in blocks], reading.max_tokens)
    splices = Splices()
    calls, mends = _calls(blocks, stop, splices, reading)
    kept = _drop_empty(blocks, splices, mends)
    content = splices.apply(message.text, *message.spans["content"])
    return Reply(
        wording=Wording(f'{{"role":"assistant","content":{content}}}' if kept else ""),
        text=_text(blocks),
        calls=calls,
        stop=stop,
        raw_stop=raw_stop,
        usage=_usage(message.child("usage")),
        model=message.string("model"),
        response_id=message.string("id"),
        refusal=_refusal(message) if stop == "refusal" else None,
        unresolved=_unresolved(blocks),
        mends=tuple(mends),
        hosted=any(kind in _SERVER_CALLS or kind.endswith("_tool_result") for kind, _ in blocks),
    )


def _stop(raw: str, message: Node, kinds: list[str], max_tokens: int) -> Stop:
    """Why it stopped. A stop that contradicts the blocks is `unknown`: nothing runs, nothing is finished."""
    stop: Stop = _STOPS.get(raw, "unknown")
    usage = message.child("usage")
    spent = usage.count("output_tokens") if usage else 0
    hosted = any(kind in _SERVER_CALLS for kind in kinds)
    # A server tool's own loop may sample several times, so that its sum may pass the cap and be whole.
    if stop in ("calls", "end") and 0 < max_tokens <= spent and (spent == max_tokens or not hosted):
        return "length"
    if stop in ("calls", "end", "pause") and ("tool_use" in kinds) != (stop == "calls"):
        return "unknown"
    return stop


def _calls(blocks: list[_Block], stop: Stop, splices: Splices, reading: Reading) -> tuple[tuple[Call, ...], list[Mend]]:
    at = [(index, block) for index, (kind, block) in enumerate(blocks) if kind == "tool_use"]
    hosted = frozenset(block.string("id") for kind, block in blocks if kind in _SERVER_CALLS)
    ids, mends = settle([block.value("id") for _, block in at], reading, fit=FIT, reserved=hosted)
    for mend in mends:
        splices.member(at[mend.position][1], "id", quote(mend.now))
    # Calls before a mid-reply change of model may be the refusing model's, cut off.
    handed_over = max((index for index, (kind, _) in enumerate(blocks) if kind == "fallback"), default=-1)
    calls: list[Call] = []
    for position, ((index, block), wire_id) in enumerate(zip(at, ids, strict=True)):
        cut = index < handed_over or (stop in ("length", "context", "refusal") and index == len(blocks) - 1)
        arguments = _arguments(block)
        if cut and not isinstance(block.value("input"), dict):
            splices.member(block, "input", "{}")
            mends.append(Mend("call.cut", arguments, "{}", position))
        caller = block.child("caller")
        calls.append(
            Call(
                position=position,
                wire_id=wire_id,
                name=tool_of(reading.names, block.string("toolset_name"), block.string("name")),
                arguments=arguments,
                cut=cut,
                caller=caller.string("type") or "unknown" if caller else "direct",
            )
        )
    return tuple(calls), mends


def _arguments(block: Node) -> str:
    """`input` as it was written; compatible servers send the model's text as a string, and then it is that text."""
    if not isinstance(block.value("input"), str):
        return block.raw("input") or "{}"
    text = block.string("input")
    return text if text.strip() else "{}"


def _drop_empty(blocks: list[_Block], splices: Splices, mends: list[Mend]) -> bool:
    """Cut out text blocks that say nothing, which the API refuses to take back. Returns whether anything is left."""
    kept = [kind != "text" or bool(block.string("text").strip()) for kind, block in blocks]
    first = kept.index(True) if True in kept else len(kept)
    if 0 < first < len(blocks):
        splices.put(blocks[0][1].start, blocks[first][1].start, "")
    for index, keep in enumerate(kept):
        if keep:
            continue
        mends.append(Mend("text.empty", blocks[index][1].string("text"), "", index))
        if index > first:
            splices.put(blocks[index - 1][1].end, blocks[index][1].end, "")
    return first < len(kept)


def _text(blocks: list[_Block]) -> str:
    """Visible text. Neighbouring blocks are one text (citations split it); what other blocks part is on lines of its own."""
    pieces: list[str] = []
    parted = False
    for kind, block in blocks:
        text = block.string("text") if kind == "text" else ""
        if text:
            pieces.append(f"\n{text}" if pieces and parted else text)
        parted = kind != "text"
    return "".join(pieces)


def _unresolved(blocks: list[_Block]) -> tuple[str, ...]:
    done = {block.string("tool_use_id") for kind, block in blocks if kind.endswith("tool_result")}
    asked = [block.string("id") for kind, block in blocks if kind in _SERVER_CALLS]
    return tuple(one for one in asked if one not in done)


def _refusal(message: Node) -> str | None:
    details = message.child("stop_details")
    return (details.string("explanation") or details.string("category") or None) if details else None


def _usage(usage: Node | None) -> Usage:
    """Input is the sum of its three counts; a compaction is not in the top-level ones and is added."""
    if usage is None:
        return Usage()
    details = usage.child("output_tokens_details")
    total = _counted(usage, details.count("thinking_tokens") if details else 0)
    for entry in usage.children("iterations"):
        if entry.string("type") == "compaction":
            total += _counted(entry, 0)
    return total


def _counted(usage: Node, thinking: int) -> Usage:
    written, cached = usage.count("cache_creation_input_tokens"), usage.count("cache_read_input_tokens")
    return Usage(
        input_tokens=usage.count("input_tokens") + written + cached,
        cache_read_tokens=cached,
        cache_write_tokens=written,
        output_tokens=usage.count("output_tokens"),
        reasoning_tokens=thinking,
    )
