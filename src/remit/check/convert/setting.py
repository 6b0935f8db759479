"""A request's settings and tools in another protocol.

Invariant: what both can say is said, and everything else is a loss with its name.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from remit.check.convert.paper import Losses, Paper
from remit.check.convert.part import CARRIED, NAMES
from remit.check.transcript import Declared, Form, Transcript
from remit.check.value import Object, member, pointer, string
from remit.types.ident import Json

__all__ = ["settings", "tools"]

_SAME = ("model", "temperature", "top_p", "stream")
_CAPS = ("max_completion_tokens", "max_tokens", "max_output_tokens")
_CHOICES: Mapping[str, str] = {"any": "required", "auto": "auto", "none": "none", "required": "required"}


def tools(transcript: Transcript, losses: Losses, to: Form) -> list[Paper]:
    """The declared tools."""
    found: list[Paper] = []
    for tool in transcript.tools or ():
        if tool.kind == "hosted" or (tool.kind == "custom" and to == "anthropic"):
            losses.add(tool.place, "tool", f"{NAMES[to]} has no such tool")
            continue
        raw = tool.raw if isinstance(tool.raw, dict) else {}
        for part in (raw, raw.get("function"), raw.get("custom")):
            losses.members(tool.place, part, CARRIED["tool"], f"{NAMES[to]} has no place for it")
        found.append(_tool(tool, losses, to))
    return found


def _tool(tool: Declared, losses: Losses, to: Form) -> Paper:
    head: dict[str, Paper] = {"name": tool.name, **({"description": tool.description} if tool.description else {})}
    schema = cast("Paper", tool.schema)
    strict: dict[str, Paper] = {} if tool.strict is None else {"strict": tool.strict}
    if tool.kind == "custom":
        return {"type": "custom", "custom": head} if to == "openai-chat" else {"type": "custom", **head}
    match to:
        case "anthropic":
            if not isinstance(tool.schema, dict):
                losses.add(tool.place, "schema", f"there is none, and {NAMES[to]} wants one: an empty one was written")
                schema = {"type": "object"}
            return {**head, "input_schema": schema, **strict}
        case "openai-chat":
            given = {} if schema is None else {"parameters": schema}
            return {"type": "function", "function": {**head, **given, **strict}}
        case "openai-responses":
            return {"type": "function", **head, "parameters": schema, "strict": tool.strict is True}


_KEPT = ("previous_response_id", "conversation", "thread")


def settings(transcript: Transcript, losses: Losses, to: Form, base: str, *, has_tools: bool) -> dict[str, Paper]:
    """The other members of a request.

    Args:
        transcript: whose request it is.
        losses: what is noted.
        to: the other protocol.
        base: the place of the request.
        has_tools: whether tools are declared in what is written: without them none can be chosen.
    """
    given = transcript.settings
    found: dict[str, Paper] = {key: cast("Paper", given[key]) for key in _SAME if key in given}
    if "model" in given:
        losses.add(pointer("model", base=base), "model", "its name is the other provider's; put one of the new provider there")
    carried = {*_SAME, "messages", "input"}
    for makes in (_cap, _stop, _answer, _effort, *((_choice,) if has_tools else ())):
        made, used = makes(given, to)
        found |= made
        carried |= used
    if to == "anthropic" and "max_tokens" not in found:
        losses.add(base, "max_tokens", "there is none, and Anthropic Messages wants one")
    for key, value in given.items():
        if key not in carried and value not in (None, [], {}):
            kept = "earlier messages are kept at the other provider, and are not here"
            why = kept if key in _KEPT else f"{NAMES[to]} has no such setting, or another one"
            losses.add(pointer(key, base=base), key, why)
    return found


_Made = tuple[dict[str, Paper], set[str]]
"""What is written, and which members it says."""


def _cap(given: Object, to: Form) -> _Made:
    key = {"anthropic": "max_tokens", "openai-chat": "max_completion_tokens", "openai-responses": "max_output_tokens"}[to]
    cap = next((given[one] for one in _CAPS if isinstance(given.get(one), int)), None)
    return ({} if cap is None else {key: cast("Paper", cap)}), {one for one in _CAPS if given.get(one) == cap}


def _stop(given: Object, to: Form) -> _Made:
    stop = given.get("stop_sequences", given.get("stop"))
    if stop is None or to == "openai-responses":
        return {}, set()
    listed: Json = [stop] if isinstance(stop, str) else stop
    return {"stop_sequences" if to == "anthropic" else "stop": cast("Paper", listed)}, {"stop", "stop_sequences"}


def _choice(given: Object, to: Form) -> _Made:
    choice, parallel = given.get("tool_choice"), given.get("parallel_tool_calls")
    held: Object = choice if isinstance(choice, dict) else {}
    if isinstance(held.get("disable_parallel_tool_use"), bool):
        parallel = held["disable_parallel_tool_use"] is False
    word = choice if isinstance(choice, str) else string(held, "type")
    name = string(held, "name") or string(member(held, "function"), "name")
    used: set[str] = set()
    made: dict[str, Paper] = {}
    if choice is None or (word in ("tool", "function") and name) or word in _CHOICES:
        used = {"tool_choice", "parallel_tool_calls"}
        made = _written_choice(_CHOICES.get(word, ""), name, to) if choice is not None else {}
    if used and isinstance(parallel, bool):
        if to != "anthropic":
            made["parallel_tool_calls"] = parallel
        elif not parallel:
            before = made.get("tool_choice")
            made["tool_choice"] = {
                **(before if isinstance(before, Mapping) else {"type": "auto"}),
                "disable_parallel_tool_use": True,
            }
    return made, used


def _written_choice(word: str, name: str, to: Form) -> dict[str, Paper]:
    match to:
        case "anthropic":
            named: Paper = {"type": "tool", "name": name} if name else {"type": "any" if word == "required" else word}
            return {"tool_choice": named}
        case "openai-chat":
            return {"tool_choice": {"type": "function", "function": {"name": name}} if name else word}
        case "openai-responses":
            return {"tool_choice": {"type": "function", "name": name} if name else word}


def _answer(given: Object, to: Form) -> _Made:
    """The form of an answer, which both protocols of OpenAI have."""
    chat, responses = member(given, "response_format"), member(given, "text", "format")
    if to == "openai-responses" and chat:
        inner = member(chat, "json_schema")
        form = {"type": string(chat, "type"), **inner}
        return {"text": {"format": cast("Paper", form)}}, {"response_format"}
    if to == "openai-chat" and responses and set(member(given, "text")) == {"format"}:
        rest = {key: one for key, one in responses.items() if key != "type"}
        kind = string(responses, "type")
        form = {"type": kind, **({"json_schema": rest} if kind == "json_schema" else {})}
        return {"response_format": cast("Paper", form)}, {"text"}
    return {}, set()


def _effort(given: Object, to: Form) -> _Made:
    chat, responses = string(given, "reasoning_effort"), member(given, "reasoning")
    if to == "openai-responses" and chat:
        return {"reasoning": {"effort": chat}}, {"reasoning_effort"}
    if to == "openai-chat" and set(responses) == {"effort"}:
        return {"reasoning_effort": string(responses, "effort")}, {"reasoning"}
    return {}, set()
