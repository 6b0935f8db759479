"""What both protocols of OpenAI refuse: the head, the tools, how one is chosen.

Source: the API's errors as clients report them and its reference. Invariant: pure data and pure checks, made once
for each of the two protocols.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from remit.testing.provider.asked import Asked, Object, member, objects, string
from remit.testing.provider.memory import Memory
from remit.testing.provider.rule import Check, Found, Rule
from remit.testing.provider.strict import strict_fault
from remit.types.model import ProtocolName

__all__ = ["functions", "openai_rules"]

_NAME = re.compile(r"[a-zA-Z0-9_-]+")
_LONGEST = 64


def functions(asked: Asked) -> Iterator[tuple[str, Object]]:
    """The declared functions, with their places."""
    for tool in asked.tools:
        if tool.kind != "function":
            continue
        if asked.protocol == "openai-chat":
            yield f"{tool.place}.function", member(tool.value, "function")
        else:
            yield tool.place, tool.value


def _unreadable(asked: Asked, _: Memory) -> Found:
    return None if asked.readable else {}


def _no_model(asked: Asked, _: Memory) -> Found:
    return None if asked.model else {}


def _no_tools(asked: Asked, _: Memory) -> Found:
    return {} if asked.body.get("tools") == [] else None


def _name(asked: Asked, _: Memory) -> Found:
    for place, function in functions(asked):
        if not _NAME.fullmatch(string(function, "name")):
            return {"place": place}
    return None


def _long_name(asked: Asked, _: Memory) -> Found:
    for place, function in functions(asked):
        if len(string(function, "name")) > _LONGEST:
            return {"place": place, "length": len(string(function, "name"))}
    return None


def _strict(asked: Asked, _: Memory) -> Found:
    for place, function in functions(asked):
        why = strict_fault(function.get("parameters")) if function.get("strict") is True else None
        if why:
            return {"name": string(function, "name"), "why": why, "place": place}
    return None


def _answer(asked: Asked, _: Memory) -> Found:
    """The schema of a strict answer."""
    if asked.protocol == "openai-chat":
        place, form = "response_format", member(member(asked.body, "response_format"), "json_schema")
    else:
        place, form = "text.format", member(member(asked.body, "text"), "format")
    why = strict_fault(form.get("schema")) if form.get("strict") is True else None
    return {"name": string(form, "name"), "why": why, "place": place} if why else None


def _chosen(asked: Asked) -> str:
    choice = member(asked.body, "tool_choice")
    if string(choice, "type") != "function":
        return ""
    return string(member(choice, "function") if asked.protocol == "openai-chat" else choice, "name")


def _choice_unknown(asked: Asked, _: Memory) -> Found:
    names = {string(function, "name") for _, function in functions(asked)}
    choice = member(asked.body, "tool_choice")
    allowed = member(choice, "allowed_tools") if asked.protocol == "openai-chat" else choice
    wanted = [_chosen(asked)]
    for tool in objects(allowed, "tools"):
        wanted.append(string(member(tool, "function"), "name") or string(tool, "name"))
    missing = next((name for name in wanted if name and name not in names), None)
    return {"name": missing} if missing else None


def _choice_alone(asked: Asked, _: Memory) -> Found:
    choice = asked.body.get("tool_choice")
    return {} if choice not in (None, "none", "auto") and not asked.tools else None


def _parallel_alone(asked: Asked, _: Memory) -> Found:
    given = asked.body.get("parallel_tool_calls") is not None
    return {} if given and not asked.tools else None


_RULES: tuple[tuple[str, str, Check, str | None], ...] = (
    (
        "body",
        "We could not parse the JSON body of your request. (HINT: This likely means you aren't using your HTTP library "
        "correctly. The OpenAI API expects a JSON payload, but what was sent was not valid JSON.)",
        _unreadable,
        None,
    ),
    ("model", "you must provide a model parameter", _no_model, None),
    (
        "tools.empty",
        "Invalid 'tools': empty array. Expected an array with minimum length 1, but got an empty array instead.",
        _no_tools,
        "tools",
    ),
    (
        "tool.name",
        "Invalid '{place}.name': string does not match pattern. Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'.",
        _name,
        "{place}.name",
    ),
    (
        "tool.name.long",
        "Invalid '{place}.name': string too long. Expected a string with maximum length 64, but got a string with length "
        "{length} instead.",
        _long_name,
        "{place}.name",
    ),
    ("tool.strict", "Invalid schema for function '{name}': {why}", _strict, "{place}.parameters"),
    ("answer.strict", "Invalid schema for response_format '{name}': {why}", _answer, "{place}"),
    ("tool_choice.alone", "'tool_choice' is only allowed when 'tools' are specified.", _choice_alone, "tool_choice"),
    (
        "tool_choice.unknown",
        "Invalid value for 'tool_choice': no function named '{name}' was specified in the 'tools' parameter.",
        _choice_unknown,
        "tool_choice",
    ),
    (
        "parallel.alone",
        "Invalid value for 'parallel_tool_calls': 'parallel_tool_calls' is only allowed when 'tools' are specified.",
        _parallel_alone,
        "parallel_tool_calls",
    ),
)

_CHAT_ONLY = ("tools.empty", "parallel.alone")


def openai_rules(protocol: ProtocolName) -> Iterator[Rule]:
    """These rules for one of the two protocols."""
    for code, message, check, param in _RULES:
        if protocol == "openai-chat" or code not in _CHAT_ONLY:
            yield Rule(code=f"{protocol}.{code}", protocol=protocol, message=message, check=check, param=param)
