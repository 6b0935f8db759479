"""OpenAI Chat Completions, read; the old form with `functions` too.

Source: the SDK's request and response types. Invariant: a call's arguments are the string that was sent.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

from remit.check.read.whole import Said, Whole, merged
from remit.check.transcript import (
    Call,
    Content,
    Declared,
    Item,
    Kind,
    Media,
    Opaque,
    Refused,
    Result,
    Role,
    Text,
    Thought,
    Transcript,
    meaning,
)
from remit.check.value import Object, member, objects, pointer, string

__all__ = ["declared_function", "media_of", "read_chat"]

_OURS = ("tools", "functions", "messages")
_ROLES: dict[str, Role] = {
    "system": "system",
    "developer": "system",
    "assistant": "assistant",
    "tool": "tool",
    "function": "tool",
}


def read_chat(whole: Whole) -> Transcript:
    """The transcript of a document."""
    request = whole.request
    said = [_message(one, pointer(index, base=whole.place)) for index, one in objects(whole.messages)]
    for index, choice in objects((whole.response or {}).get("choices"))[:1]:
        place = pointer("choices", index, "message", base=whole.response_place)
        answer = _message(member(choice, "message"), place)
        said.append(Said("assistant", answer.items, place, answer.raw, string(choice, "finish_reason"), received=True))
    count = next((index for index, one in enumerate(said) if one.role != "system"), len(said))
    return Transcript(
        form="openai-chat",
        system=tuple(item for one in said[:count] for item in one.items if isinstance(item, Text)),
        tools=None if request is None else tuple(_tools(request, whole.request_place)),
        messages=merged(said[count:]),
        settings={} if request is None else {key: one for key, one in request.items() if key not in _OURS},
        place=whole.request_place,
        asked=request is not None,
    )


def _tools(request: Object, base: str) -> Iterator[Declared]:
    for index, tool in objects(request.get("tools")):
        place = pointer("tools", index, base=base)
        if string(tool, "type") == "custom":
            inner = member(tool, "custom")
            about = string(inner, "description")
            yield Declared(name=string(inner, "name"), description=about, kind="custom", place=place, raw=dict(tool))
        elif string(tool, "type") in ("function", ""):
            yield declared_function(member(tool, "function") or tool, tool, place)
        else:
            yield Declared(name=string(tool, "type"), kind="hosted", place=place, raw=dict(tool))
    for index, tool in objects(request.get("functions")):
        yield declared_function(tool, tool, pointer("functions", index, base=base), "functions")


def declared_function(inner: Object, tool: Object, place: str, kind: Kind = "function") -> Declared:
    """A declared function: `inner` says what it is."""
    strict = inner.get("strict")
    return Declared(
        name=string(inner, "name"),
        description=string(inner, "description"),
        schema=inner.get("parameters"),
        strict=strict if isinstance(strict, bool) else None,
        kind=kind,
        place=place,
        raw=dict(tool),
    )


def _message(message: Object, place: str) -> Said:
    role = _ROLES.get(string(message, "role"), "user")
    stop = string(message, "finish_reason")
    if role == "tool" or (role == "user" and "tool_call_id" in message):
        return Said("tool", (_result(message, place),), place, message)
    items = list(_content(message, place))
    if role == "assistant":
        reasoning = string(message, "reasoning_content") or string(message, "reasoning")
        if reasoning:
            items.insert(0, Thought(text=reasoning, place=place))
        refusal = string(message, "refusal")
        if refusal:
            items.append(Refused(text=refusal, place=pointer("refusal", base=place)))
        items += _calls(message, place)
    return Said(role, tuple(items), place, message, stop)


def _content(message: Object, place: str) -> Iterator[Item]:
    content, at = message.get("content"), pointer("content", base=place)
    if isinstance(content, str) and (content or string(message, "role") != "assistant"):
        yield Text(text=content, place=at, raw=content)
    for index, part in objects(content):
        inner = pointer(index, base=at)
        match string(part, "type"):
            case "text":
                yield Text(text=string(part, "text"), place=inner, raw=dict(part))
            case "refusal":
                yield Refused(text=string(part, "refusal"), place=inner, raw=dict(part))
            case "tool_result":
                said = string(part, "content")
                text = (Text(text=said, place=pointer("content", base=inner), raw=said),) if said else ()
                yield Result(id=string(part, "tool_use_id"), said=text, place=inner, raw=dict(part))
            case kind:
                yield media_of(part, inner) or Opaque(kind=kind, place=inner, raw=dict(part))


def media_of(part: Object, place: str) -> Media | None:
    """An image, a file or a sound in OpenAI's form; None where it is none."""
    raw = dict(part)
    match string(part, "type"):
        case "image_url" | "input_image":
            url = string(member(part, "image_url"), "url") or string(part, "image_url") or string(part, "file_id")
            media_type, data = _inline(url)
            return Media(kind="image", data=data, url="" if data else url, media_type=media_type, place=place, raw=raw)
        case "file" | "input_file":
            inner = member(part, "file") or part
            media_type, data = _inline(string(inner, "file_data"))
            url = "" if data else string(inner, "file_id") or string(inner, "file_url")
            name = string(inner, "filename")
            return Media(kind="file", data=data, url=url, media_type=media_type, name=name, place=place, raw=raw)
        case "input_audio":
            inner = member(part, "input_audio")
            media_type = f"audio/{string(inner, 'format')}"
            return Media(kind="audio", data=string(inner, "data"), media_type=media_type, place=place, raw=raw)
        case _:
            return None


def _inline(url: str) -> tuple[str, str]:
    """The media type and the data of a `data:` address; empty where it is another one."""
    head, comma, data = url.partition(";base64,")
    return (head.removeprefix("data:"), data) if comma and head.startswith("data:") else ("", "")


def _calls(message: Object, place: str) -> Iterator[Call]:
    for index, call in objects(message.get("tool_calls")):
        at = pointer("tool_calls", index, base=place)
        custom = "custom" in call and "function" not in call
        inner = member(call, "custom" if custom else "function")
        yield _call(string(call, "id"), inner, call, at, "custom" if custom else "function")
    old = message.get("function_call")
    if isinstance(old, dict):
        yield _call("", old, old, pointer("function_call", base=place), "functions")


def _call(call_id: str, inner: Object, raw: Object, place: str, kind: Kind) -> Call:
    value = inner.get("input" if kind == "custom" else "arguments")
    arguments = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    asked = arguments if kind == "custom" else meaning(arguments if arguments.strip() else "{}")
    name = string(inner, "name")
    return Call(id=call_id, name=name, arguments=arguments, asked=asked, kind=kind, place=place, raw=dict(raw))


def _result(message: Object, place: str) -> Result:
    old = string(message, "role") == "function"
    said = tuple(item for item in _content(message, place) if isinstance(item, (Text, Media, Opaque)))
    call_id, name = string(message, "tool_call_id"), string(message, "name")
    said_as: tuple[Content, ...] = said
    return Result(id=call_id, said=said_as, name=name, kind="functions" if old else "function", place=place, raw=dict(message))
