"""The OpenAI Chat Completions protocol: reading a reply.

Knows no socket. The message goes back whole, response-only members included (`annotations`, `refusal: null`,
`audio: null`): the API takes its own message back, as its own examples do, and what a compatible server adds
(reasoning) it wants back. Invariant: nothing runs on `length`, `content_filter`, a refusal or an unknown word.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from remit.types.ident import Json, Wording
from remit.types.model import Call, Mend, Reading, Reply, Stop
from remit.wire.ident import settle
from remit.wire.name import tool_of
from remit.wire.openai_chat_mend import enveloped, mended
from remit.wire.openai_usage import CHAT, read_usage
from remit.wire.text import Node, is_object, object_of, objects_of, string_of, unread
from remit.wire.write import quote

__all__ = ["FIT", "read"]

FIT = re.compile(r"[!-~]{1,256}")
"""Compatible servers write ids like `functions.search:0`, and want them back."""

_ROLES = ("assistant", "", None)
_AT = "response.choices[0].message"
_CALLED = f"{_AT}.tool_calls[]"


def read(body: bytes, reading: Reading) -> Reply:
    """Our reading of a response body.

    Raises:
        ProtocolError: it is not one completion.
    """
    whole = Node.of(body)
    choices = whole.children("choices")
    node = choices[0].child("message") if len(choices) == 1 else None
    if node is None or node.value("role") not in _ROLES:
        raise unread("response.choices", "is not one assistant message")
    message, written = node.values, whole.part("choices", 0, "message")
    raw_stop = choices[0].string("finish_reason")
    items = objects_of(message.get("tool_calls"), f"{_AT}.tool_calls")
    usage = read_usage(object_of(whole.values, "usage", "response"), CHAT)
    refusal = string_of(message, "refusal", _AT) or None
    legacy = object_of(message, "function_call", _AT) is not None
    stop = _stop(raw_stop, bool(items), refusal, legacy)
    if stop in ("calls", "end") and 0 < reading.max_tokens <= usage.output_tokens:
        stop = "length"
    text = _text(message)
    calls, mends = _calls(node, items, stop, reading) if items else ((), [])
    empty = not (items or text or refusal or legacy or object_of(message, "audio", _AT))
    if mends:
        written = mended(written, mends)
    envelope = _envelope(message)
    if envelope:
        written = enveloped(written)
    return Reply(
        wording=Wording("" if empty else written),
        text=text,
        calls=calls,
        stop=stop,
        raw_stop=raw_stop,
        usage=usage,
        model=whole.string("model"),
        response_id=whole.string("id"),
        refusal=refusal if stop in ("refusal", "filter") else None,
        mends=(*mends, *envelope),
    )


def _envelope(message: Mapping[str, Json]) -> list[Mend]:
    """What is wrong around the content: the API wants a role back, and no list of calls rather than an empty one."""
    mends = [] if message.get("role") else [Mend("role.missing", "", "assistant", 0)]
    if "tool_calls" in message and not message["tool_calls"]:
        mends.append(Mend("calls.empty", quote(message["tool_calls"]), "", 0))
    return mends


def _stop(raw: str, calls: bool, refusal: str | None, legacy: bool) -> Stop:
    """Why it stopped.

    `stop` with `tool_calls` is a stop to call tools: the API itself says so where a function was forced, and
    compatible servers always do; the message ended whole. The legacy `function_call` has no id to answer.
    """
    match raw:
        case "length":
            return "length"
        case "content_filter":
            return "filter"
        case "stop" | "tool_calls" if refusal:
            return "refusal"
        case "stop" | "tool_calls" if calls and not legacy:
            return "calls"
        case "stop" if not legacy:
            return "end"
        case _:
            return "unknown"


def _calls(message: Node, items: list[dict[str, Json]], stop: Stop, reading: Reading) -> tuple[tuple[Call, ...], list[Mend]]:
    ids, mends = settle([item.get("id") for item in items], reading, fit=FIT)
    calls: list[Call] = []
    for position, (item, wire_id) in enumerate(zip(items, ids, strict=True)):
        function = object_of(item, "function", _CALLED)
        cut_off = stop in ("length", "filter") and position == len(items) - 1
        if function is None:
            calls.append(_foreign(item, position, wire_id, cut_off))
            continue
        arguments = _arguments(function, message, position)
        if cut_off and not is_object(arguments):
            mends.append(Mend("call.cut", arguments, "{}", position))
        name = tool_of(reading.names, "", string_of(function, "name", _CALLED))
        calls.append(Call(position=position, wire_id=wire_id, name=name, arguments=arguments, cut=cut_off))
    return tuple(calls), mends


def _foreign(item: Mapping[str, Json], position: int, wire_id: str, cut: bool) -> Call:
    """A call of another kind: it is answered like any, and its name is one that no tool of ours has."""
    kind = string_of(item, "type", _CALLED)
    custom = object_of(item, "custom", _CALLED)
    name = tool_of({}, kind or "unknown", string_of(custom, "name", _CALLED) if custom else "")
    arguments = quote(string_of(custom, "input", _CALLED)) if custom else "{}"
    return Call(position=position, wire_id=wire_id, name=name, arguments=arguments, cut=cut)


def _arguments(function: Mapping[str, Json], message: Node, position: int) -> str:
    """The text that the model wrote; some servers send it as the object that it means."""
    given = function.get("arguments")
    if given is None or isinstance(given, str):
        text = string_of(function, "arguments", _CALLED)
        return text if text.strip() else "{}"
    asked = message.children("tool_calls")[position].child("function")
    return (asked.raw("arguments") if asked else None) or "{}"


def _text(message: Mapping[str, Json]) -> str:
    content = message.get("content")
    if not isinstance(content, list):
        return string_of(message, "content", _AT)
    parts = objects_of(content, f"{_AT}.content")
    return "".join(string_of(part, "text", _AT) for part in parts if part.get("type") == "text")
