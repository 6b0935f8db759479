"""How one field of an event is read for those who may see it: as it is, as a code, as a count, or with its words.

A reader makes JSON of a field's value; it does not know which events have the field. Readers of words
give what a person wrote or a model said, and are named so: `words`, `document`, `spoken`, ...
"""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Callable, Iterator
from typing import cast

from remit.canonical import decode, to_plain
from remit.errors import InputError
from remit.types.event import CallConsidered, CallEnded, Event, ToolRecorded
from remit.types.ident import Json
from remit.types.label import Label
from remit.types.model import Call, Mend
from remit.types.outcome import Outcome, Refused, Succeeded
from remit.types.tree import Share, Undo

__all__ = [
    "Reader",
    "calls",
    "code",
    "count",
    "document",
    "kinds",
    "label",
    "outcome",
    "outcome_words",
    "plain",
    "proposals",
    "resolved_tool",
    "shares",
    "size",
    "sources",
    "spoken",
    "spoken_words",
    "tools",
    "undos",
    "usage",
    "words",
]

Reader = Callable[[object, Event], Json]

_CODE = re.compile(r"[a-z][a-z0-9_]*(\.[a-z0-9_]+)*")
_LONGEST_CODE = 64
_NAME = re.compile(r"[A-Za-z_][\w.:/-]{0,127}", re.ASCII)


def plain(value: object, event: Event) -> Json:
    """An id, digest, number, time, or one of a closed list of words."""
    del event
    if isinstance(value, tuple):
        return [cast(Json, item) for item in cast(tuple[object, ...], value)]
    return cast(Json, value)


def undos(value: object, event: Event) -> Json:
    """Which steps are taken back, by which calls of which tools."""
    del event
    return [
        {"step": one.step, "call": one.call, "tool": one.tool if _NAME.fullmatch(one.tool) else None}
        for one in cast(tuple[Undo, ...], value)
    ]


def code(value: object, event: Event) -> Json:
    """A stable code; None where the text does not have the shape of one."""
    del event
    text = str(value)
    return text if len(text) <= _LONGEST_CODE and _CODE.fullmatch(text) else None


def count(value: object, event: Event) -> Json:
    """How many there are; None where it was not said."""
    del event
    return None if value is None else len(cast(tuple[object, ...], value))


def label(value: object, event: Event) -> Json:
    """Whether it is trusted, and to how many sources it goes back."""
    del event
    held = cast(Label, value)
    return {"trusted": held.trusted, "source_count": len(held.sources)}


def sources(value: object, event: Event) -> Json:
    """The label with the names of its sources."""
    held = cast(Label, value)
    return {**cast(dict[str, Json], label(value, event)), "sources": [str(source) for source in sorted(held.sources)]}


def usage(value: object, event: Event) -> Json:
    """Tokens and cost."""
    del event
    return cast(Json, dataclasses.asdict(value)) if dataclasses.is_dataclass(value) and not isinstance(value, type) else None


def tools(value: object, event: Event) -> Json:
    """The tools of the run: name, contract and effect, as the application declared them."""
    del event
    return [
        {"name": tool.name, "contract": tool.contract, "effect": tool.effect} for tool in cast(tuple[ToolRecorded, ...], value)
    ]


def resolved_tool(value: object, event: Event) -> Json:
    """A tool's name where the gate knew it; any other name is a model's own words."""
    match event:
        case CallConsidered(contract=None) | CallEnded(outcome=Refused()):
            return None
        case _:
            return str(value) if _NAME.fullmatch(str(value)) else None


def size(value: object, event: Event) -> Json:
    """How long a text is."""
    del event
    return {"chars": len(str(value))}


def kinds(value: object, event: Event) -> Json:
    """Which mends were made, without what was there."""
    del event
    return [mend.kind for mend in cast(tuple[Mend, ...], value)]


def calls(value: object, event: Event) -> Json:
    """The proposals of a reply, by position."""
    del event
    return [{"position": call.position, "cut": call.cut} for call in cast(tuple[Call, ...], value)]


def outcome(value: object, event: Event) -> Json:
    """What became of a call: kind, code and what may be tried; not the result, not the message."""
    if value is None:
        return None
    ended = cast(Outcome, value)
    shown: dict[str, Json] = {"kind": ended.kind, "retry": ended.retry, "operation": ended.operation}
    match ended:
        case Succeeded():
            shown |= {"repeat": ended.repeat, "available": ended.available, "incomplete": ended.incomplete, "blob": ended.blob}
            shown |= {"attachments": [attachment.digest for attachment in ended.attachments]}
        case _:
            shown |= {"code": code(ended.code, event), "retry_after_s": ended.retry_after_s}
    return shown


# Readers of words.


def words(value: object, event: Event) -> Json:
    """Free text."""
    del event
    match value:
        case None:
            return None
        case tuple():
            return [str(item) for item in cast(tuple[object, ...], value)]
        case _:
            return str(value)


def document(value: object, event: Event) -> Json:
    """A value that is kept as canonical text; the text itself where it is none."""
    del event
    if value is None:
        return None
    try:
        return to_plain(decode(str(value)))
    except InputError:
        return str(value)


def shares(value: object, event: Event) -> Json:
    """The runs above a child, and their budgets."""
    return [{"run": one.run, "budget": document(one.budget, event)} for one in cast(tuple[Share, ...], value)]


def proposals(value: object, event: Event) -> Json:
    """The proposals of a reply with their names and arguments, as the model wrote them."""
    del event
    return [
        {"position": call.position, "cut": call.cut, "name": call.name, "arguments": _parsed(call.arguments)}
        for call in cast(tuple[Call, ...], value)
    ]


def outcome_words(value: object, event: Event) -> Json:
    """The outcome with its result, or its message and the fields to correct."""
    if value is None:
        return None
    shown = cast(dict[str, Json], outcome(value, event))
    ended = cast(Outcome, value)
    match ended:
        case Succeeded():
            return {**shown, "value": ended.value, "shown": ended.shown}
        case _:
            fields: list[Json] = [{"path": one.path, "message": one.message} for one in getattr(ended, "fields", ())]
            return {**shown, "message": ended.message, "fields": fields}


def spoken_words(value: object, event: Event) -> Json:
    """What a message says, out of the provider's form."""
    return {**cast(dict[str, Json], size(value, event)), "text": spoken(str(value))}


def spoken(wording: str) -> str:
    """The text in a message of any protocol: what stands under `text`, or under `content` where that is text."""
    found = _parsed(f"[{wording}]")
    return "\n".join(_texts(found)) if isinstance(found, list) else ""


def _texts(value: Json) -> Iterator[str]:
    match value:
        case list():
            for item in value:
                yield from _texts(item)
        case dict():
            for name, item in value.items():
                if name in ("text", "content") and isinstance(item, str):
                    yield item
                elif name == "content":
                    yield from _texts(item)
        case _:
            return


def _parsed(text: str) -> Json:
    try:
        return cast(Json, json.loads(text))
    except (ValueError, RecursionError):
        return text
