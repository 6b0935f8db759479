"""Anthropic Messages, read.

Source: the SDK's request and response types. Invariant: a call's arguments are the text of its `input`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace

from remit.check.read.whole import Said, Whole, merged
from remit.check.transcript import (
    Call,
    Content,
    Declared,
    Item,
    Media,
    Opaque,
    Result,
    Role,
    Text,
    Thought,
    Transcript,
    meaning,
)
from remit.check.value import Object, Page, member, objects, pointer, string
from remit.types.ident import Json

__all__ = ["read_anthropic"]

_OURS = ("system", "tools", "messages")
_ROLES: dict[str, Role] = {"assistant": "assistant", "system": "system", "developer": "system", "tool": "tool"}


def read_anthropic(whole: Whole) -> Transcript:
    """The transcript of a document."""
    request = whole.request
    said = [_message(whole.page, one, pointer(index, base=whole.place)) for index, one in objects(whole.messages)]
    if whole.response is not None:
        page = whole.response_page or whole.page
        said.append(_message(page, whole.response, whole.response_place, received=True))
    count = next((index for index, one in enumerate(said) if one.role != "system"), len(said))
    top = [item for one in said[:count] for item in one.items if isinstance(item, Text)]
    return Transcript(
        form="anthropic",
        system=(*_system(request, whole.request_place), *top),
        tools=None if request is None else tuple(_tools(request, whole.request_place)),
        messages=merged(said[count:]),
        settings={} if request is None else {key: one for key, one in request.items() if key not in _OURS},
        place=whole.request_place,
        asked=request is not None,
        reaches=request is not None and string(member(request, "thread"), "type") == "continue",
    )


def _system(request: Object | None, base: str) -> Iterator[Text]:
    system = None if request is None else request.get("system")
    place = pointer("system", base=base)
    if isinstance(system, str):
        yield Text(text=system, place=place, raw=system)
    for index, block in objects(system):
        yield Text(text=string(block, "text"), place=pointer(index, base=place), raw=dict(block))


def _tools(request: Object, base: str) -> Iterator[Declared]:
    for index, tool in objects(request.get("tools")):
        place = pointer("tools", index, base=base)
        kind, name = string(tool, "type"), string(tool, "name")
        if kind not in ("", "custom", "function"):
            yield Declared(name=name or kind, kind="hosted", place=place, raw=dict(tool))
            continue
        strict = tool.get("strict")
        yield Declared(
            name=name,
            description=string(tool, "description"),
            schema=tool.get("input_schema"),
            strict=strict if isinstance(strict, bool) else None,
            place=place,
            raw=dict(tool),
        )


def _message(page: Page, message: Object, place: str, *, received: bool = False) -> Said:
    role = _ROLES.get(string(message, "role"), "user")
    content = message.get("content")
    at = pointer("content", base=place)
    if role == "tool":
        result = _result({**message, "tool_use_id": message.get("tool_call_id")}, place)
        return Said("tool", (replace(result, raw=dict(message)),), place, message)
    if isinstance(content, str):
        items: list[Item] = [Text(text=content, place=at, raw=content)]
    else:
        items = [_block(page, block, pointer(index, base=at)) for index, block in objects(content)]
    return Said(role, tuple(items), place, message, string(message, "stop_reason"), received)


def _block(page: Page, block: Object, place: str) -> Item:
    raw: Json = dict(block)
    match string(block, "type"):
        case "text":
            return Text(text=string(block, "text"), place=place, raw=raw)
        case "thinking":
            return Thought(text=string(block, "thinking"), seal=string(block, "signature"), place=place, raw=raw)
        case "redacted_thinking":
            return Thought(text="", seal=string(block, "data"), place=place, raw=raw)
        case "image" | "document":
            return _media(block, place)
        case "tool_use":
            return _call(page, block, place)
        case "tool_result":
            return _result(block, place)
        case kind:
            return Opaque(kind=kind, place=place, raw=raw)


def _call(page: Page, block: Object, place: str) -> Call:
    value = block.get("input")
    inner = pointer("input", base=place)
    arguments = page.cut(inner, value) if isinstance(value, (dict, list)) else json.dumps(value, ensure_ascii=False)
    return Call(
        id=string(block, "id"),
        name=string(block, "name"),
        arguments=arguments,
        asked=meaning(arguments),
        place=place,
        raw=dict(block),
    )


def _result(block: Object, place: str) -> Result:
    error, content = block.get("is_error"), block.get("content")
    at = pointer("content", base=place)
    said: tuple[Content, ...] = (Text(text=content, place=at, raw=content),) if isinstance(content, str) else ()
    if isinstance(content, list):
        said = tuple(_part(part, pointer(index, base=at)) for index, part in objects(content))
    return Result(
        id=string(block, "tool_use_id"),
        said=said,
        error=error is True,
        place=place,
        raw=dict(block),
    )


def _part(part: Object, place: str) -> Content:
    match string(part, "type"):
        case "text":
            return Text(text=string(part, "text"), place=place, raw=dict(part))
        case "image" | "document":
            return _media(part, place)
        case kind:
            return Opaque(kind=kind, place=place, raw=dict(part))


def _media(block: Object, place: str) -> Media | Opaque:
    source, raw = member(block, "source"), dict(block)
    kind = "image" if string(block, "type") == "image" else "file"
    match string(source, "type"):
        case "base64":
            data, url = string(source, "data"), ""
        case "url":
            data, url = "", string(source, "url")
        case "file":
            data, url = "", string(source, "file_id")
        case _:
            return Opaque(kind=string(block, "type"), place=place, raw=raw)
    media_type, name = string(source, "media_type"), string(block, "title")
    return Media(kind=kind, data=data, url=url, media_type=media_type, name=name, place=place, raw=raw)
