"""From a transcript to a document of a protocol: one writer for each.

Invariant: nothing is raised; what is not written is a loss; what is written is read as it was said.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from remit.check.convert.ident import Ids
from remit.check.convert.paper import Losses, Paper, Verbatim
from remit.check.convert.part import NAMES, media, noted, plain
from remit.check.transcript import Call, Content, Form, Item, Media, Message, Opaque, Refused, Result, Text
from remit.check.value import load
from remit.errors import InputError

__all__ = ["WRITERS", "Desk", "Writer"]


class Desk:
    """What a writer needs beside the message: the ids, and where losses go."""

    def __init__(self, to: Form, ids: Ids, losses: Losses) -> None:
        self.to: Form = to
        self.ids = ids
        self.losses = losses

    def drop(self, item: Call | Result, what: str) -> None:
        """Note that a call or result cannot be said."""
        self.losses.add(item.place, what, f"{NAMES[self.to]} has no such call")


Writer = Callable[[Message, Desk], list[Paper]]
"""Writes a message."""


def _text(item: Text | Refused, kind: str) -> Paper:
    return {"type": kind, "text": item.text}


def _content(items: list[Paper], key: str) -> Paper:
    """One text alone is a string."""
    if len(items) == 1 and isinstance(items[0], Mapping) and set(items[0]) == {"type", "text"} and items[0]["type"] == key:
        return items[0]["text"]
    return items


def _parts(said: tuple[Item, ...] | tuple[Content, ...], desk: Desk, key: str, *, error: bool = False) -> list[Paper]:
    """Texts and media; everything else is a loss."""
    found: list[Paper] = []
    for item in said:
        if isinstance(item, (Call, Result)) or not plain(item, desk.losses, desk.to, error=error):
            continue
        if isinstance(item, Media):
            made = media(item, desk.losses, desk.to)
            found += [made] if made is not None else []
        elif isinstance(item, (Text, Refused)) and item.text:
            noted(desk.losses, item, "part", desk.to)
            found.append(_text(item, key))
    return found


def _result_text(result: Result, desk: Desk) -> list[Paper]:
    """A result in Chat: text only."""
    found: list[Paper] = []
    for item in result.said:
        if isinstance(item, Media):
            desk.losses.add(item.place, item.kind, "OpenAI Chat takes text only in a result")
        elif isinstance(item, Opaque):
            plain(item, desk.losses, desk.to)
        elif item.text:
            noted(desk.losses, item, "part", desk.to)
            found.append(_text(item, "text"))
    return found


def write_anthropic(message: Message, desk: Desk) -> list[Paper]:
    """A message of Anthropic Messages."""
    if message.role == "tool":
        blocks: list[Paper] = []
        for result in message.results:
            if result.kind == "hosted":
                desk.drop(result, "result")
                continue
            noted(desk.losses, result, "result", desk.to)
            content = _content(_parts(result.said, desk, "text", error=result.error), "text") or ""
            flag: dict[str, Paper] = {"is_error": True} if result.error else {}
            blocks.append({"type": "tool_result", "tool_use_id": desk.ids.of(result), "content": content, **flag})
        return [{"role": "user", "content": blocks}] if blocks else []
    if message.role != "assistant":
        parts = _parts(message.said, desk, "text")
        return [{"role": message.role, "content": _content(parts, "text")}] if parts else []
    said: list[Paper] = []
    for item in message.said:
        if isinstance(item, Call):
            said += _tool_use(item, desk)
        elif isinstance(item, Refused):
            desk.losses.add(item.place, "refusal", "Anthropic Messages keeps no refusal apart; it is written as text")
            said += _parts((item,), desk, "text")
        elif isinstance(item, Media):
            desk.losses.add(item.place, item.kind, "the assistant says text only")
        else:
            said += _parts((item,), desk, "text")
    return [{"role": "assistant", "content": said}] if said else []


def _tool_use(call: Call, desk: Desk) -> list[Paper]:
    if call.kind == "hosted":
        desk.drop(call, "call")
        return []
    _noted_call(call, desk)
    given: Paper = Verbatim(call.arguments if call.arguments.strip() else "{}")
    if call.kind == "custom":
        desk.losses.add(call.place, "input", "free text is no object; it is written as the member `input` of one")
        given = {"input": call.arguments}
    elif not _is_object(given.text):
        desk.losses.add(call.place, "arguments", "they are no JSON object; they are written as the member `arguments` of one")
        given = {"arguments": call.arguments}
    return [{"type": "tool_use", "id": desk.ids.of(call), "name": call.name, "input": given}]


def _is_object(text: str) -> bool:
    try:
        return isinstance(load(text), dict)
    except InputError:
        return False


def _noted_call(call: Call, desk: Desk) -> None:
    noted(desk.losses, call, "call", desk.to)
    if call.kind == "functions":
        desk.losses.add(call.place, "function_call", "the old form has no ids; it is written in the new one")
    if not call.waits:
        desk.losses.add(call.place, "async", f"{NAMES[desk.to]} has no calls that are answered later")


def write_chat(message: Message, desk: Desk) -> list[Paper]:
    """Messages of OpenAI Chat."""
    if message.role == "tool":
        found: list[Paper] = []
        for result in message.results:
            if result.kind == "hosted":
                desk.drop(result, "result")
                continue
            noted(desk.losses, result, "result", desk.to)
            if result.error:
                desk.losses.add(result.place, "is_error", "OpenAI Chat has no flag for errors")
            content = _content(_result_text(result, desk), "text") or ""
            found.append({"role": "tool", "tool_call_id": desk.ids.of(result), "content": content})
        return found
    if message.role != "assistant":
        parts = _parts(message.said, desk, "text")
        return [{"role": message.role, "content": _content(parts, "text")}] if parts else []
    return _chat_reply(message, desk)


def _chat_reply(message: Message, desk: Desk) -> list[Paper]:
    texts: list[Paper] = []
    calls: list[Paper] = []
    refusals: list[str] = []
    for item in message.said:
        if isinstance(item, Call):
            calls += _tool_call(item, desk)
        elif isinstance(item, Refused):
            refusals.append(item.text)
        elif isinstance(item, Media):
            desk.losses.add(item.place, item.kind, "the assistant says text only")
        else:
            made = _parts((item,), desk, "text")
            if made and (calls or refusals):
                desk.losses.add(item.place, "order", "OpenAI Chat puts text before calls and refusals")
            texts += made
    if not (texts or calls or refusals):
        return []
    content = _content(texts, "text") if texts else None
    more: dict[str, Paper] = {"tool_calls": calls} if calls else {}
    said: dict[str, Paper] = {"refusal": "\n".join(refusals)} if refusals else {}
    if len(refusals) > 1:
        desk.losses.add(message.places[0], "refusal", "OpenAI Chat has one refusal in a message; they are joined")
    if refusals and calls:
        desk.losses.add(message.places[0], "order", "OpenAI Chat does not say whether a refusal came before a call")
    return [{"role": "assistant", "content": content, **said, **more}]


def _tool_call(call: Call, desk: Desk) -> list[Paper]:
    if call.kind == "hosted":
        desk.drop(call, "call")
        return []
    _noted_call(call, desk)
    if call.kind == "custom":
        return [{"id": desk.ids.of(call), "type": "custom", "custom": {"name": call.name, "input": call.arguments}}]
    return [{"id": desk.ids.of(call), "type": "function", "function": {"name": call.name, "arguments": call.arguments}}]


def write_responses(message: Message, desk: Desk) -> list[Paper]:
    """Items of OpenAI Responses."""
    if message.role == "tool":
        return [item for result in message.results for item in _output(result, desk)]
    if message.role != "assistant":
        parts = _parts(message.said, desk, "input_text")
        return [{"role": message.role, "content": _content(parts, "input_text")}] if parts else []
    found: list[Paper] = []
    texts: list[Paper] = []
    for item in message.said:
        if isinstance(item, Call):
            found += [*_spoken(texts), *_function_call(item, desk)]
            texts = []
        elif isinstance(item, Refused):
            texts.append({"type": "refusal", "refusal": item.text})
        elif isinstance(item, Media):
            desk.losses.add(item.place, item.kind, "the assistant says text only")
        else:
            texts += _parts((item,), desk, "output_text")
    return [*found, *_spoken(texts)]


def _spoken(texts: list[Paper]) -> list[Paper]:
    return [{"type": "message", "role": "assistant", "content": texts}] if texts else []


def _function_call(call: Call, desk: Desk) -> list[Paper]:
    if call.kind == "hosted":
        desk.drop(call, "call")
        return []
    _noted_call(call, desk)
    kind, key = ("custom_tool_call", "input") if call.kind == "custom" else ("function_call", "arguments")
    return [{"type": kind, "call_id": desk.ids.of(call), "name": call.name, key: call.arguments}]


def _output(result: Result, desk: Desk) -> list[Paper]:
    if result.kind == "hosted":
        desk.drop(result, "result")
        return []
    noted(desk.losses, result, "result", desk.to)
    if result.error:
        desk.losses.add(result.place, "is_error", "OpenAI Responses has no flag for errors")
    content = _content(_parts(result.said, desk, "input_text"), "input_text") or ""
    kind = "custom_tool_call_output" if result.kind == "custom" else "function_call_output"
    return [{"type": kind, "call_id": desk.ids.of(result), "output": content}]


WRITERS: Mapping[Form, Writer] = {
    "anthropic": write_anthropic,
    "openai-chat": write_chat,
    "openai-responses": write_responses,
}
"""The writer of each protocol."""
