"""The OpenAI Chat Completions protocol: reading a reply.

Knows no socket. The message goes back whole, response-only members included (`annotations`, `refusal: null`,
`audio: null`): the API takes its own message back, as its own examples do, and what a compatible server adds
(reasoning) it wants back. Invariant: nothing runs on `length`, `content_filter`, a refusal or an unknown word.
"""

from __future__ import annotations

import re

from remit.types.ident import Wording
from remit.types.model import Call, Mend, Reading, Reply, Stop
from remit.wire.ident import settle
from remit.wire.name import tool_of
from remit.wire.openai_usage import CHAT, read_usage
from remit.wire.text import Node, Splices, is_object, quote, unread

__all__ = ["FIT", "read"]

FIT = re.compile(r"[!-~]{1,256}")
"""Compatible servers write ids like `functions.search:0`, and want them back."""


def read(body: bytes, reading: Reading) -> Reply:
    """Our reading of a response body.

    Raises:
        ProtocolError: it is not one completion.
    """
    whole = Node.of(body)
    choices = whole.children("choices")
    message = choices[0].child("message") if len(choices) == 1 else None
    if message is None or message.string("role") != "assistant":
        raise unread("response.choices", "is not one assistant message")
    raw_stop = choices[0].string("finish_reason")
    items = message.children("tool_calls")
    usage = read_usage(whole.child("usage"), CHAT)
    refusal = message.string("refusal") or None
    stop = _stop(raw_stop, bool(items), refusal, message)
    if stop in ("calls", "end") and 0 < reading.max_tokens <= usage.output_tokens:
        stop = "length"
    text = _text(message)
    splices = Splices()
    calls, mends = _calls(items, stop, splices, reading)
    empty = not (items or text or refusal or message.child("function_call") or message.child("audio"))
    return Reply(
        wording=Wording("" if empty else splices.apply(message.text, message.start, message.end)),
        text=text,
        calls=calls,
        stop=stop,
        raw_stop=raw_stop,
        usage=usage,
        model=whole.string("model"),
        response_id=whole.string("id"),
        refusal=refusal if stop in ("refusal", "filter") else None,
        mends=tuple(mends),
    )


def _stop(raw: str, calls: bool, refusal: str | None, message: Node) -> Stop:
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
        case "stop" | "tool_calls" if calls and message.child("function_call") is None:
            return "calls"
        case "stop" if message.child("function_call") is None:
            return "end"
        case _:
            return "unknown"


def _calls(items: list[Node], stop: Stop, splices: Splices, reading: Reading) -> tuple[tuple[Call, ...], list[Mend]]:
    ids, mends = settle([item.value("id") for item in items], reading, fit=FIT)
    for mend in mends:
        splices.member(items[mend.position], "id", quote(mend.now))
    calls: list[Call] = []
    for position, (item, wire_id) in enumerate(zip(items, ids, strict=True)):
        function = item.child("function")
        cut = stop in ("length", "filter") and position == len(items) - 1
        if function is None:
            calls.append(_foreign(item, position, wire_id, cut))
            continue
        arguments = _arguments(function)
        if cut and not is_object(arguments):
            splices.member(function, "arguments", '"{}"')
            mends.append(Mend("call.cut", arguments, "{}", position))
        name = tool_of(reading.names, "", function.string("name"))
        calls.append(Call(position=position, wire_id=wire_id, name=name, arguments=arguments, cut=cut))
    return tuple(calls), mends


def _foreign(item: Node, position: int, wire_id: str, cut: bool) -> Call:
    """A call of another kind: it is answered like any, and its name is one that no tool of ours has."""
    kind = item.string("type")
    custom = item.child("custom")
    name = tool_of({}, kind or "unknown", custom.string("name") if custom else "")
    arguments = quote(custom.string("input")) if custom else "{}"
    return Call(position=position, wire_id=wire_id, name=name, arguments=arguments, cut=cut)


def _arguments(function: Node) -> str:
    """The text that the model wrote; some servers send it as the object that it means."""
    given = function.value("arguments")
    if given is not None and not isinstance(given, str):
        return function.raw("arguments") or "{}"
    text = function.string("arguments")
    return text if text.strip() else "{}"


def _text(message: Node) -> str:
    if not isinstance(message.value("content"), list):
        return message.string("content")
    return "".join(part.string("text") for part in message.children("content") if part.string("type") == "text")
