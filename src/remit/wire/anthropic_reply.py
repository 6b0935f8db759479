"""The Anthropic Messages protocol: reading a reply.

Knows no socket. Source: the SDK's types and the provider's page on stop reasons. Invariant: `calls` is read
only from `stop_reason: tool_use`; blocks of unknown types are kept and mean nothing.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from remit.types.budget import Usage
from remit.types.ident import Json, Wording
from remit.types.model import Call, Mend, Reading, Reply, Stop
from remit.wire.anthropic_mend import mended
from remit.wire.ident import settle
from remit.wire.name import tool_of
from remit.wire.text import Node, count_of, is_object, object_of, objects_of, string_of, unread
from remit.wire.write import quote

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
_OURS = frozenset({"text", "thinking", "redacted_thinking", "tool_use"})
"""Blocks that no tool of the provider's has made."""

_THOUGHTS = ("thinking", "redacted_thinking")
_AT = "response.content[]"


def read(body: bytes, reading: Reading) -> Reply:
    """Our reading of a response body.

    Raises:
        ProtocolError: it is not a message.
    """
    node = Node.of(body)
    message, content = node.values, node.raw("content")
    if content is None or message.get("type") == "error":
        raise unread("response", "is not a message")
    blocks = objects_of(message["content"], "response.content")
    kinds = [string_of(block, "type", _AT) for block in blocks]
    usage = object_of(message, "usage", "response")
    raw_stop = string_of(message, "stop_reason", "response")
    stop = _stop(raw_stop, usage, kinds, reading.max_tokens)
    calls, mends = _calls(node.children("content"), kinds, stop, reading) if "tool_use" in kinds else ((), [])
    text, dropped = _said(blocks, kinds)
    if kinds and (kinds[-1] in _THOUGHTS or dropped) and stop not in ("pause", "compaction"):
        dropped += _last_thoughts(blocks, kinds, {mend.position for mend in dropped})
    mends += dropped
    content = mended(node, mends) if mends else content
    return Reply(
        wording=Wording(f'{{"role":"assistant","content":{content}}}' if len(dropped) < len(blocks) else ""),
        text=text,
        calls=calls,
        stop=stop,
        raw_stop=raw_stop,
        usage=_usage(usage) if usage else Usage(reported=False),
        model=string_of(message, "model", "response"),
        response_id=string_of(message, "id", "response"),
        refusal=_refusal(message) if stop == "refusal" else None,
        unresolved=_unresolved(blocks, kinds),
        mends=tuple(mends),
        server_ran=_server_ran(kinds),
    )


def _stop(raw: str, usage: Mapping[str, Json] | None, kinds: list[str], max_tokens: int) -> Stop:
    """Why it stopped. A stop that contradicts the blocks is `unknown`: nothing runs, nothing is finished."""
    stop: Stop = _STOPS.get(raw, "unknown")
    spent = count_of(usage, "output_tokens", "response.usage") if usage else 0
    # A server tool's own loop may sample several times, so that its sum may pass the cap and be whole.
    if stop in ("calls", "end") and 0 < max_tokens <= spent and (spent == max_tokens or not _server_ran(kinds)):
        return "length"
    if stop in ("calls", "end", "pause") and ("tool_use" in kinds) != (stop == "calls"):
        return "unknown"
    return stop


def _calls(blocks: list[Node], kinds: list[str], stop: Stop, reading: Reading) -> tuple[tuple[Call, ...], list[Mend]]:
    at = [index for index, kind in enumerate(kinds) if kind == "tool_use"]
    taken = {block.string("id") for block, kind in zip(blocks, kinds, strict=True) if kind in _SERVER_CALLS}
    ids, mends = settle([blocks[index].value("id") for index in at], reading, fit=FIT, reserved=taken)
    # Calls before a mid-reply change of model may be the refusing model's, cut off.
    handed_over = max((index for index, kind in enumerate(kinds) if kind == "fallback"), default=-1)
    calls: list[Call] = []
    for position, (index, wire_id) in enumerate(zip(at, ids, strict=True)):
        block = blocks[index]
        cut_off = index < handed_over or (stop in ("length", "context", "refusal") and index == len(blocks) - 1)
        given = block.value("input")
        arguments = (block.string("input") if isinstance(given, str) else block.raw("input")) or ""
        arguments = arguments if arguments.strip() else "{}"
        if not isinstance(given, dict):
            # The API takes back nothing but an object; what is whole inside a text stays what it is.
            whole = not cut_off and is_object(arguments)
            mends.append(Mend("call.cut", arguments, arguments if whole else "{}", position))
        caller = object_of(block.values, "caller", _AT)
        calls.append(
            Call(
                position=position,
                wire_id=wire_id,
                name=tool_of(reading.names, block.string("toolset_name"), block.string("name")),
                arguments=arguments,
                cut=cut_off,
                caller=string_of(caller, "type", _AT) or "unknown" if caller is not None else "direct",
            )
        )
    return tuple(calls), mends


def _said(blocks: list[dict[str, Json]], kinds: list[str]) -> tuple[str, list[Mend]]:
    """The visible text, and the text blocks that say nothing, which the API refuses to take back.

    Neighbouring blocks are one text (citations split it); what other blocks part is on lines of its own.
    """
    pieces: list[str] = []
    empty: list[Mend] = []
    parted = False
    for index, kind in enumerate(kinds):
        parted = parted or kind != "text"
        if kind == "text":
            text = string_of(blocks[index], "text", _AT)
            if text:
                pieces.append(f"\n{text}" if pieces and parted else text)
            if not text or text.isspace():
                empty.append(Mend("text.empty", text, "", index))
            parted = False
    return "".join(pieces), empty


def _last_thoughts(blocks: list[dict[str, Json]], kinds: list[str], empty: set[int]) -> list[Mend]:
    """Thoughts that nothing follows, as where the cap came in the middle of one: no message may end in one when it is sent."""
    last: list[Mend] = []
    for index in range(len(blocks) - 1, -1, -1):
        if kinds[index] in _THOUGHTS:
            last.append(Mend("thought.last", quote(blocks[index]), "", index))
        elif index not in empty:
            break
    return last


def _server_ran(kinds: list[str]) -> bool:
    """Whether the provider ran tools of its own: a call of one is there, or the result of an earlier reply's."""
    return any(kind in _SERVER_CALLS or kind.endswith("_tool_result") for kind in kinds)


def _unresolved(blocks: list[dict[str, Json]], kinds: list[str]) -> tuple[str, ...]:
    if _OURS.issuperset(kinds):
        return ()
    typed = list(zip(kinds, blocks, strict=True))
    done = {string_of(block, "tool_use_id", _AT) for kind, block in typed if kind.endswith("tool_result")}
    asked = [string_of(block, "id", _AT) for kind, block in typed if kind in _SERVER_CALLS]
    return tuple(one for one in asked if one not in done)


def _refusal(message: Mapping[str, Json]) -> str | None:
    details = object_of(message, "stop_details", "response")
    place = "response.stop_details"
    return (string_of(details, "explanation", place) or string_of(details, "category", place) or None) if details else None


def _usage(usage: Mapping[str, Json]) -> Usage:
    """Input is the sum of its three counts; a compaction is not in the top-level ones and is added."""
    details = object_of(usage, "output_tokens_details", "response.usage")
    total = _counted(usage, count_of(details, "thinking_tokens", "response.usage") if details else 0)
    for entry in objects_of(usage.get("iterations"), "response.usage.iterations"):
        if string_of(entry, "type", "response.usage.iterations[]") == "compaction":
            total += _counted(entry, 0)
    return total


def _counted(usage: Mapping[str, Json], thinking: int) -> Usage:
    place = "response.usage"
    written = count_of(usage, "cache_creation_input_tokens", place)
    cached = count_of(usage, "cache_read_input_tokens", place)
    return Usage(
        input_tokens=count_of(usage, "input_tokens", place) + written + cached,
        cache_read_tokens=cached,
        cache_write_tokens=written,
        output_tokens=count_of(usage, "output_tokens", place),
        reasoning_tokens=thinking,
        reported=usage.get("input_tokens") is not None and usage.get("output_tokens") is not None,
    )
