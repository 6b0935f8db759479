"""A Responses body as the events that the API would have streamed.

Knows no socket and no reader of streams. Source: the SDK's event types and recorded streams. Invariant: the last event
holds the body as it was written.
"""

from __future__ import annotations

from collections.abc import Iterator

from remit.wire.slice import Splitter
from remit.wire.text import Node
from remit.wire.write import Members, quote, written

__all__ = ["responses_events"]

_ENDS = {"incomplete": "response.incomplete", "failed": "response.failed"}
_UNKNOWN_YET = ("error", "incomplete_details", "usage", "completed_at")
_WRITTEN = {
    "function_call": ("arguments", "response.function_call_arguments"),
    "mcp_call": ("arguments", "response.mcp_call_arguments"),
    "custom_tool_call": ("input", "response.custom_tool_call_input"),
}
"""What a model writes of an item piece by piece, and how its events are called."""
_PARTS = {
    "output_text": ("text", "response.output_text"),
    "refusal": ("refusal", "response.refusal"),
    "reasoning_text": ("text", "response.reasoning_text"),
}


def responses_events(body: Node, splitter: Splitter) -> Iterator[Members]:
    """The events in their order, each as its members' JSON text."""
    whole = body.members()
    begun = {**whole, **{key: "null" for key in _UNKNOWN_YET if key in whole}, "status": '"in_progress"', "output": "[]"}
    end = _ENDS.get(body.string("status"), "response.completed")
    events: list[Members] = [
        {"type": '"response.created"', "response": written(begun)},
        {"type": '"response.in_progress"', "response": written(begun)},
    ]
    for index, item in enumerate(body.children("output")):
        events += _item(index, item, splitter)
    events.append({"type": quote(end), "response": body.text})
    for number, event in enumerate(events):
        yield {"type": event["type"], "sequence_number": str(number), **event}


def _item(index: int, item: Node, splitter: Splitter) -> Iterator[Members]:
    whole = item.members()
    begun = {**whole, "status": '"in_progress"'} if "status" in whole else dict(whole)
    where = {"item_id": whole.get("id", '""'), "output_index": str(index)}
    kind = item.string("type")
    inner: list[Members] = []
    if kind == "message":
        inner += _parts("content", begun, item, where, splitter)
    elif kind == "reasoning":
        inner += _summary(begun, item, where, splitter)
        inner += _parts("content", begun, item, where, splitter)
    elif kind in _WRITTEN and isinstance(item.value(_WRITTEN[kind][0]), str):
        key, name = _WRITTEN[kind]
        begun[key] = '""'
        inner += _pieces(name, key, item.string(key), where, splitter)
    yield {"type": '"response.output_item.added"', "output_index": str(index), "item": written(begun)}
    yield from inner
    yield {"type": '"response.output_item.done"', "output_index": str(index), "item": written(whole)}


def _pieces(name: str, key: str, text: str, where: Members, splitter: Splitter) -> Iterator[Members]:
    for piece in splitter.split(text):
        yield {"type": quote(f"{name}.delta"), **where, "delta": quote(piece)}
    yield {"type": quote(f"{name}.done"), **where, key: quote(text)}


def _parts(key: str, begun: Members, item: Node, where: Members, splitter: Splitter) -> Iterator[Members]:
    if not isinstance(item.value(key), list):
        return
    begun[key] = "[]"
    for index, part in enumerate(item.children(key)):
        at = {**where, "content_index": str(index)}
        whole = part.members()
        text, name = _PARTS.get(part.string("type"), ("", ""))
        cut = isinstance(part.value(text), str)
        empty = {**whole, text: '""'} if cut else whole
        if part.string("type") == "output_text":
            empty = {**empty, **{one: "[]" for one in ("annotations", "logprobs") if one in whole}}
        yield {"type": '"response.content_part.added"', **at, "part": written(empty)}
        if cut:
            extra = {"logprobs": "[]"} if part.string("type") == "output_text" else {}
            yield from _pieces(name, text, part.string(text), {**at, **extra}, splitter)
        for place, note in enumerate(part.children("annotations")):
            noted = {"annotation_index": str(place), "annotation": written(note.members())}
            yield {"type": '"response.output_text.annotation.added"', **at, **noted}
        yield {"type": '"response.content_part.done"', **at, "part": written(whole)}


def _summary(begun: Members, item: Node, where: Members, splitter: Splitter) -> Iterator[Members]:
    if not isinstance(item.value("summary"), list):
        return
    begun["summary"] = "[]"
    for index, part in enumerate(item.children("summary")):
        at = {**where, "summary_index": str(index)}
        whole = part.members()
        yield {"type": '"response.reasoning_summary_part.added"', **at, "part": written({**whole, "text": '""'})}
        yield from _pieces("response.reasoning_summary_text", "text", part.string("text"), at, splitter)
        yield {"type": '"response.reasoning_summary_part.done"', **at, "part": written(whole)}
