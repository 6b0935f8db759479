"""Rules about the shape of messages and declared tools: what a provider refuses before it looks at any call.

Source: the providers' request types and the wording of their errors. Invariant: pure checks.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from remit.check.rule.rule import Case, Found, Rule, found, named, rule
from remit.check.transcript import Call, Opaque, Result, Text
from remit.check.value import Object, member, pointer, string

__all__ = ["SHAPE"]

_ID = re.compile(r"[a-zA-Z0-9_-]+")
_LONGEST = 64
_INSTEAD = ("tool_calls", "refusal", "function_call", "audio")


@rule("result.role", "error", "A result is in the wrong role or in another provider's form", mended=True)
def _role(case: Case) -> Iterator[Found]:
    wanted = {
        "anthropic": "a `tool_result` block in a user message",
        "openai-chat": "a message of role `tool` with `tool_call_id`",
        "openai-responses": "an item of type `function_call_output`",
    }[case.form]
    spoken = _spoken(case)
    for message in case.transcript.messages:
        for result in message.results:
            if _is_foreign(case.form, result) or result.place in spoken:
                yield found(result, "the result is not where this provider wants it", f"send it as {wanted}")


def _spoken(case: Case) -> set[str]:
    """Results that stand in a message of the assistant's."""
    return {
        result.place
        for message in case.transcript.messages
        for result in message.results
        for place, raw in message.written
        if case.form != "openai-responses" and string(raw, "role") == "assistant" and result.place.startswith(place + "/")
    }


def _is_foreign(form: str, result: Result) -> bool:
    raw: Object = result.raw if isinstance(result.raw, dict) else {}
    match form:
        case "anthropic":
            return string(raw, "type") != "tool_result"
        case "openai-chat":
            return string(raw, "role") not in ("tool", "function")
        case _:
            return not string(raw, "type").endswith("_output")


@rule("message.empty", "error", "A message or a block says nothing", mended=True)
def _empty(case: Case) -> Iterator[Found]:
    messages = case.transcript.messages
    if case.form == "anthropic":
        for message, item in case.items():
            if isinstance(item, Text) and not item.text.strip() and not message.received:
                yield found(item, "the text block is empty", "leave it out; this provider refuses it")
    sent = [one for message in messages if not message.received for one in message.written]
    for place, raw in sent:
        begun = (place, raw) == sent[-1] and string(raw, "role") == "assistant"
        if case.form == "anthropic" and not raw.get("content") and not begun:
            yield found(place, "the message says nothing", "leave it out; this provider refuses it")
        if case.form == "openai-chat" and not _speaks(raw):
            yield found(place, "the message says nothing", "leave it out, or keep what the model said in it")


def _speaks(raw: Object) -> bool:
    content = raw.get("content")
    instead = string(raw, "role") == "assistant" and any(raw.get(key) for key in _INSTEAD)
    return isinstance(content, str) or (isinstance(content, list) and bool(content)) or instead


@rule("calls.empty", "error", "An assistant message has an empty list of calls", mended=True)
def _no_calls(case: Case) -> Iterator[Found]:
    for message in case.transcript.messages if case.form == "openai-chat" else ():
        for place, raw in message.written:
            if not message.received and raw.get("tool_calls", ["left out"]) in (None, []):
                yield found(place, "`tool_calls` is there and empty", "leave the member out; this provider refuses it")


@rule("form.mixed", "error", "Part of a message is in another provider's form")
def _mixed(case: Case) -> Iterator[Found]:
    foreign = {
        "anthropic": ("function_call", "function_call_output", "image_url", "input_text", "output_text", "function"),
        "openai-chat": ("tool_use", "tool_result", "thinking", "function_call", "function_call_output", "input_text"),
        "openai-responses": ("tool_use", "tool_result", "thinking", "image_url"),
    }[case.form]
    said = "this is the form of another provider"
    mend = "convert the whole transcript: `remit convert`"
    for _, item in case.items():
        if isinstance(item, Opaque) and item.kind in foreign:
            yield found(item, said, mend)
    if case.form != "openai-chat":
        for place, message in case.transcript.written:
            if "tool_calls" in message:
                yield found(place, said, mend)


@rule("id.unfit", "error", "An id has signs that the provider does not take")
def _unfit(case: Case) -> Iterator[Found]:
    for _, item in case.items():
        if isinstance(item, Call) and item.id:
            if case.form == "anthropic" and not _ID.fullmatch(item.id):
                yield found(item, f"the id {named(item.id)} has other signs than letters, digits, `_` and `-`", _RENAME)
            if case.form == "openai-responses" and len(item.id) > _LONGEST:
                yield found(item, f"the id of the call is longer than {_LONGEST}", _RENAME)


_RENAME = "give the call and its result another id"


@rule("tool.schema_key", "error", "A tool's schema stands under another provider's name", mended=True)
def _schema(case: Case) -> Iterator[Found]:
    wanted = "input_schema" if case.form == "anthropic" else "parameters"
    for tool in case.transcript.tools or ():
        raw: Object = tool.raw if isinstance(tool.raw, dict) else {}
        inner = member(raw, "function") or raw
        given = [key for key in ("input_schema", "parameters", "inputSchema") if isinstance(inner.get(key), dict)]
        if tool.kind in ("function", "functions") and given and wanted not in given:
            said = f"{named(tool.name)} has `{given[0]}`, and this provider reads `{wanted}`"
            yield found(tool, said, f"call it `{wanted}`: otherwise the model sees a tool without parameters")


@rule("tools.missing", "error", "Tools are missing on a later request")
def _tools(case: Case) -> Iterator[Found]:
    transcript = case.transcript
    used = bool(transcript.calls) or any(True for _ in case.results())
    sent = [message for message in transcript.messages if not message.received]
    if transcript.tools != () or not used or not any(message.calls or message.results for message in sent):
        return
    hard = case.form == "anthropic" or any(case.memory.had_tools(call) for call in transcript.calls)
    said = "calls were made before, and this request declares no tools"
    mend = "send the same tools with every request of the conversation"
    yield found(pointer("tools", base=transcript.place), said, mend, None if hard else "warning")


SHAPE: tuple[Rule, ...] = (_role, _empty, _no_calls, _mixed, _unfit, _schema, _tools)
