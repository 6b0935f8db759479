"""Mending shapes: arguments that are encoded wrongly, parts under another provider's name or in another role.

Invariant: values stay what they are; only their spelling, key or place changes.
"""

from __future__ import annotations

from remit.check.edit import insert, put, remove, rename, written
from remit.check.mend.bench import Bench, again
from remit.check.rule.argument import inner_object
from remit.check.transcript import Result
from remit.check.value import Object, Page, listed, load, member, objects, pointer, string
from remit.errors import InputError
from remit.types.ident import Json

__all__ = ["double_encoded", "empty_calls", "empty_message", "not_text", "schema_key", "wrong_role"]


def _arguments(bench: Bench, place: str, kind: str) -> str:
    if bench.form == "anthropic":
        return pointer("input", base=place)
    inner = ("function",) if bench.form == "openai-chat" and kind != "functions" else ()
    return pointer(*inner, "arguments", base=place)


def double_encoded(bench: Bench) -> str | None:
    """Take one of two encodings away."""
    for call in bench.case.transcript.calls:
        if call.kind in ("custom", "hosted") or bench.index(call) is None:
            continue
        try:
            value = load(call.arguments)
        except InputError:
            continue
        if isinstance(value, str) and inner_object(value):
            new = value if bench.form == "anthropic" else written(value)
            return put(bench.page, _arguments(bench, call.place, call.kind), new)
    return None


def not_text(bench: Bench) -> str | None:
    """Send an object as its text."""
    if bench.form == "anthropic":
        return None
    for call in bench.case.transcript.calls:
        raw: Object = call.raw if isinstance(call.raw, dict) else {}
        inner = (member(raw, "function") or raw) if call.kind == "function" else raw
        if isinstance(inner.get("arguments"), dict) and bench.index(call) is not None:
            place = _arguments(bench, call.place, call.kind)
            return put(bench.page, place, written(bench.cut(place)))
    return None


def schema_key(bench: Bench) -> str | None:
    """Call a tool's schema by the provider's own name."""
    wanted = "input_schema" if bench.form == "anthropic" else "parameters"
    for tool in bench.case.transcript.tools or ():
        raw: Object = tool.raw if isinstance(tool.raw, dict) else {}
        place = pointer("function", base=tool.place) if member(raw, "function") else tool.place
        inner = member(raw, "function") or raw
        for key in ("input_schema", "parameters", "inputSchema"):
            if tool.kind in ("function", "functions") and key != wanted and wanted not in inner and member(inner, key):
                return rename(bench.page, pointer(key, base=place), wanted)
    return None


def empty_calls(bench: Bench) -> str | None:
    """Leave an empty list of calls out."""
    for index, message in enumerate(bench.messages if bench.form == "openai-chat" else ()):
        if message.get("tool_calls", ["left out"]) in (None, []):
            return remove(bench.page, pointer("tool_calls", base=bench.at(index)))
    return None


def empty_message(bench: Bench) -> str | None:
    """Leave out what says nothing."""
    if bench.form == "openai-responses":
        return None
    for index, message in enumerate(bench.messages):
        content = message.get("content")
        last = not any(bench.messages[index + 1 :])
        if not message:
            continue
        if bench.form == "openai-chat":
            instead = string(message, "role") == "assistant" and any(message.get(key) for key in _INSTEAD)
            if content in (None, []) and not instead and string(message, "role") == "assistant":
                return remove(bench.page, bench.at(index))
        elif not content and not last:
            return remove(bench.page, bench.at(index))
        else:
            empty = [at for at, block in objects(content) if _is_blank(block)]
            if empty and len(objects(content)) > 1:
                return remove(bench.page, pointer("content", empty[0], base=bench.at(index)))
            if empty or (isinstance(content, str) and not content.strip() and not last):
                return remove(bench.page, bench.at(index))
    return None


_INSTEAD = ("tool_calls", "refusal", "function_call", "audio")


def _is_blank(block: Object) -> bool:
    return string(block, "type") == "text" and not string(block, "text").strip()


def wrong_role(bench: Bench) -> str | None:
    """Send a result in the role and form of the provider."""
    for result in bench.case.results():
        index = bench.index(result)
        raw: Object = result.raw if isinstance(result.raw, dict) else {}
        if index is None or not result.id:
            continue
        message = bench.messages[index]
        match bench.form:
            case "anthropic" if string(message, "role") == "assistant":
                return _as_user(bench, index)
            case "anthropic" if string(raw, "type") != "tool_result":
                block = f'{{"type": "tool_result", "tool_use_id": {written(result.id)}, "content": {_content(bench, result)}}}'
                return put(bench.page, result.place, f'{{"role": "user", "content": [{block}]}}')
            case "openai-chat" if string(raw, "role") not in ("tool", "function"):
                return _as_tool(bench, index, raw, result)
            case "openai-responses" if string(raw, "type") == "message" or "type" not in raw:
                head = f'{{"type": "function_call_output", "call_id": {written(result.id)}'
                return put(bench.page, result.place, f'{head}, "output": {_content(bench, result)}}}')
            case _:
                continue
    return None


def _content(bench: Bench, result: Result) -> str:
    try:
        return bench.cut(pointer("content", base=result.place))
    except (KeyError, InputError):
        return '""'


def _as_user(bench: Bench, index: int) -> str | None:
    """A message of results only becomes the user's; results among what the model says are taken out of it."""
    place = bench.at(index)
    blocks = objects(bench.messages[index].get("content"))
    if all(string(block, "type") == "tool_result" for _, block in blocks):
        return put(bench.page, pointer("role", base=place), written("user"))
    results = [at for at, block in blocks if string(block, "type") == "tool_result"]
    texts = [bench.cut(pointer("content", at, base=place)) for at in results]
    page: Page = bench.page
    for at in reversed(results):
        page = again(remove(page, pointer("content", at, base=place)))
    end = index + 1
    joined = ", ".join(texts)
    return insert(page, bench.place, end, f'{{"role": "user", "content": [{joined}]}}')


def _as_tool(bench: Bench, index: int, raw: Object, result: Result) -> str | None:
    if "tool_call_id" in raw:
        return put(bench.page, pointer("role", base=result.place), written("tool"))
    content = bench.messages[index].get("content")
    blocks = objects(content)
    if len(blocks) != len(listed(content)):
        return None
    values: list[Json] = [
        {"role": "tool", "tool_call_id": string(block, "tool_use_id"), "content": block.get("content")} for _, block in blocks
    ]
    if all(string(block, "type") == "tool_result" and isinstance(block.get("content"), str) for _, block in blocks):
        return put(bench.page, bench.at(index), ", ".join(written(one) for one in values))
    return None
