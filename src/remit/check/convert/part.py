"""Images, files and sounds in each protocol's form, and which members of an object are said again in another.

Invariant: what has no form in a protocol is None, and a loss is noted for it.
"""

from __future__ import annotations

from collections.abc import Mapping

from remit.check.convert.paper import Losses, Paper
from remit.check.transcript import Form, Item, Media, Opaque, Refused, Text, Thought

__all__ = ["CARRIED", "NAMES", "media", "noted", "plain"]

NAMES: Mapping[Form, str] = {
    "anthropic": "Anthropic Messages",
    "openai-chat": "OpenAI Chat",
    "openai-responses": "OpenAI Responses",
}

CARRIED: Mapping[str, tuple[str, ...]] = {
    "part": (
        "type",
        "text",
        "refusal",
        "image_url",
        "file",
        "input_audio",
        "source",
        "title",
        "file_data",
        "filename",
        "file_url",
    ),
    "call": ("type", "id", "call_id", "name", "input", "arguments", "function", "custom", "status"),
    "result": ("type", "tool_use_id", "tool_call_id", "call_id", "content", "output", "is_error", "role", "name", "status"),
    "message": (
        *("type", "role", "content", "status", "tool_calls", "function_call", "refusal", "tool_call_id", "name"),
        *("call_id", "arguments", "output", "input", "id", "stop_reason", "usage", "model", "summary", "encrypted_content"),
        *("action", "queries", "results", "reasoning", "reasoning_content", "stop_sequence", "stop_details", "container"),
    ),
    "tool": ("type", "name", "description", "input_schema", "parameters", "strict", "function", "custom"),
}
"""Members that are said again, or are another item's own."""


def noted(losses: Losses, item: Item, kind: str, to: Form) -> None:
    """Note what an item says beside what is carried."""
    losses.members(item.place, item.raw, CARRIED[kind], f"{NAMES[to]} has no place for it")


def plain(item: Text | Refused | Media | Opaque | Thought, losses: Losses, to: Form, *, error: bool = False) -> bool:
    """Whether an item can be carried as it is; a loss is noted where it cannot."""
    match item:
        case Thought():
            losses.add(item.place, "thought", "only the provider that sealed it takes it back")
            return False
        case Opaque():
            losses.add(item.place, item.kind or "part", f"{NAMES[to]} has no form for it")
            return False
        case Media():
            if error and to == "anthropic":
                losses.add(item.place, item.kind, "a result that is flagged as an error takes text only")
                return False
            return True
        case _:
            return True


def media(item: Media, losses: Losses, to: Form) -> Paper:
    """An image, a file or a sound in a protocol's form, None where it has none."""
    if not item.data and not item.url.startswith(("http://", "https://")):
        losses.add(item.place, item.kind, "it is kept at the other provider, under an id of its own")
        return None
    made = {"anthropic": _anthropic, "openai-chat": _chat, "openai-responses": _responses}[to](item)
    if made is None:
        losses.add(item.place, item.kind, f"{NAMES[to]} takes no {item.kind} of this kind")
        return None
    noted(losses, item, "part", to)
    return made


def _anthropic(item: Media) -> Paper:
    if item.kind == "audio" or (item.kind == "file" and item.data and item.media_type != "application/pdf"):
        return None
    source: Paper = {"type": "url", "url": item.url}
    if item.data:
        source = {"type": "base64", "media_type": item.media_type, "data": item.data}
    if item.kind == "image":
        return {"type": "image", "source": source}
    return {"type": "document", "source": source, **({"title": item.name} if item.name else {})}


def _inline(item: Media) -> str:
    return f"data:{item.media_type};base64,{item.data}" if item.data else item.url


def _chat(item: Media) -> Paper:
    match item.kind:
        case "image":
            return {"type": "image_url", "image_url": {"url": _inline(item)}}
        case "audio":
            return {"type": "input_audio", "input_audio": {"data": item.data, "format": item.media_type.partition("/")[2]}}
        case "file" if item.data:
            return {"type": "file", "file": {"file_data": _inline(item), **({"filename": item.name} if item.name else {})}}
        case "file":
            return None


def _responses(item: Media) -> Paper:
    match item.kind:
        case "image":
            return {"type": "input_image", "image_url": _inline(item)}
        case "audio":
            return None
        case "file":
            where: Paper = {"file_data": _inline(item)} if item.data else {"file_url": item.url}
            return {"type": "input_file", **where, **({"filename": item.name} if item.name else {})}  # pyright: ignore
