"""OpenAI Responses, read.

Source: the SDK's request and response types. Invariant: a call's arguments are the string that was sent; an answer may
stand anywhere behind its call, and need not where it is declared asynchronous.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

from remit.check.read.chat import declared_function, media_of
from remit.check.read.whole import Said, Whole, merged
from remit.check.transcript import (
    Call,
    Content,
    Declared,
    Item,
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
from remit.types.ident import Json

__all__ = ["OUTPUTS", "read_responses"]

OUTPUTS = {
    "function_call": "function_call_output",
    "custom_tool_call": "custom_tool_call_output",
    "computer_call": "computer_call_output",
    "shell_call": "shell_call_output",
    "local_shell_call": "local_shell_call_output",
    "apply_patch_call": "apply_patch_call_output",
}
"""The type of a call -> that of its answer."""

_ANSWERS = {output: call for call, output in OUTPUTS.items()}
_OURS = ("instructions", "tools", "input")
_ROLES: dict[str, Role] = {"system": "system", "developer": "system", "assistant": "assistant", "tool": "tool"}


def read_responses(whole: Whole) -> Transcript:
    """The transcript of a document."""
    request = whole.request
    said = [_item(one, pointer(index, base=whole.place)) for index, one in objects(whole.messages)]
    if isinstance(whole.messages, str):
        said = [Said("user", (Text(text=whole.messages, place=whole.place, raw=whole.messages),), whole.place, {})]
    if whole.response is not None:
        said += _output(whole.response, whole.response_place)
    instructions = "" if request is None else string(request, "instructions")
    place = pointer("instructions", base=whole.request_place)
    top = (Text(text=instructions, place=place, raw=instructions),) if instructions else ()
    count = next((index for index, one in enumerate(said) if one.role != "system"), len(said))
    return Transcript(
        form="openai-responses",
        system=(*top, *(item for one in said[:count] for item in one.items if isinstance(item, Text))),
        tools=None if request is None else tuple(_tools(request, whole.request_place)),
        messages=merged(said[count:]),
        settings={} if request is None else {key: one for key, one in request.items() if key not in _OURS},
        place=whole.request_place,
        asked=request is not None,
        reaches=_reaches(request, whole.messages),
    )


def _reaches(request: Object | None, items: Json) -> bool:
    if any(string(item, "type") == "item_reference" for _, item in objects(items)):
        return True
    return request is not None and bool(request.get("previous_response_id") or request.get("conversation"))


def _tools(request: Object, base: str) -> Iterator[Declared]:
    for index, tool in objects(request.get("tools")):
        place = pointer("tools", index, base=base)
        match string(tool, "type"):
            case "function" | "":
                yield declared_function(member(tool, "function") or tool, tool, place)
            case "custom":
                about = string(tool, "description")
                yield Declared(name=string(tool, "name"), description=about, kind="custom", place=place, raw=dict(tool))
            case kind:
                yield Declared(name=kind, kind="hosted", place=place, raw=dict(tool))


def _output(response: Object, place: str) -> Iterator[Said]:
    status = string(response, "status")
    stop = string(member(response, "incomplete_details"), "reason") or status
    for index, item in objects(response.get("output")):
        one = _item(item, pointer("output", index, base=place))
        yield Said("assistant", one.items, one.place, item, stop, received=True)


def _item(item: Object, place: str) -> Said:
    kind, raw = string(item, "type"), dict(item)
    if kind == "message" or (not kind and "role" in item):
        role = _ROLES.get(string(item, "role"), "user")
        if role == "tool":
            said = tuple(_plain(item.get("content"), pointer("content", base=place)))
            return Said("tool", (Result(id=string(item, "tool_call_id"), said=said, place=place, raw=raw),), place, item)
        return Said(role, tuple(_content(item.get("content"), pointer("content", base=place))), place, item)
    if kind in OUTPUTS:
        return Said("assistant", (_call(item, kind, place),), place, item)
    if kind in _ANSWERS:
        return Said("tool", (_result(item, kind, place),), place, item)
    if kind == "reasoning":
        return Said("assistant", (_thought(item, place),), place, item)
    role = "user" if kind in ("mcp_approval_response", "additional_tools", "compaction_trigger") else "assistant"
    return Said(role, (Opaque(kind=kind, place=place, raw=raw),), place, item)


def _content(content: Json, place: str) -> Iterator[Item]:
    if isinstance(content, str):
        yield Text(text=content, place=place, raw=content)
    for index, part in objects(content):
        at, raw = pointer(index, base=place), dict(part)
        match string(part, "type"):
            case "input_text" | "output_text" | "text":
                yield Text(text=string(part, "text"), place=at, raw=raw)
            case "refusal":
                yield Refused(text=string(part, "refusal"), place=at, raw=raw)
            case kind:
                yield media_of(part, at) or Opaque(kind=kind, place=at, raw=raw)


def _plain(content: Json, place: str) -> Iterator[Content]:
    yield from (one for one in _content(content, place) if isinstance(one, (Text, Media, Opaque)))


def _thought(item: Object, place: str) -> Thought:
    texts = [string(part, "text") for key in ("content", "summary") for _, part in objects(item.get(key))]
    return Thought(text="\n".join(texts), seal=string(item, "encrypted_content"), place=place, raw=dict(item))


def _call(item: Object, kind: str, place: str) -> Call:
    if kind in ("function_call", "custom_tool_call"):
        value = item.get("arguments" if kind == "function_call" else "input")
        arguments = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        free = kind == "custom_tool_call"
        name = string(item, "name")
    else:
        arguments = json.dumps(item.get("action", item.get("operation")), ensure_ascii=False)
        free, name = False, kind
    return Call(
        id=string(item, "call_id"),
        name=name,
        arguments=arguments,
        asked=arguments if free else meaning(arguments if arguments.strip() else "{}"),
        kind="custom" if free else "function" if kind == "function_call" else "hosted",
        waits=item.get("async") is not True,
        place=place,
        raw=dict(item),
    )


def _result(item: Object, kind: str, place: str) -> Result:
    call = _ANSWERS[kind]
    said = tuple(_plain(item.get("output"), pointer("output", base=place)))
    if call not in ("function_call", "custom_tool_call") and not said:
        said = (Opaque(kind=kind, place=place, raw=dict(item)),)
    return Result(
        id=string(item, "call_id") or (string(item, "id") if call == "local_shell_call" else ""),
        said=said,
        kind="custom" if call == "custom_tool_call" else "function" if call == "function_call" else "hosted",
        place=place,
        raw=dict(item),
    )
