"""What both protocols of OpenAI refuse: the head, the tools, how one is chosen.

Source: the API's errors as clients report them and its reference. Invariant: pure checks.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from remit.testing.provider.asked import Asked
from remit.testing.provider.rule import Found, at, rule
from remit.testing.provider.strict import strict_fault
from remit.testing.provider.value import member, objects, string

__all__ = ["OPENAI_CHOICE", "OPENAI_HEAD", "OPENAI_TOOLS"]

_NAME = re.compile(r"[a-zA-Z0-9_-]+")
_LONGEST = 64


@rule(
    "body",
    "We could not parse the JSON body of your request. (HINT: This likely means you aren't using your HTTP library "
    "correctly. The OpenAI API expects a JSON payload, but what was sent was not valid JSON.)",
)
def _body(asked: Asked) -> Iterator[Found]:
    if not asked.readable:
        yield {}


@rule("model", "you must provide a model parameter")
def _model(asked: Asked) -> Iterator[Found]:
    if not asked.model:
        yield {}


@rule(
    "tool.name",
    "Invalid '{place}.name': string does not match pattern. Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'.",
    param="{place}.name",
)
def _name(asked: Asked) -> Iterator[Found]:
    yield from (at(one) for one in asked.functions if not _NAME.fullmatch(one.text("name")))


@rule(
    "tool.name.long",
    "Invalid '{place}.name': string too long. Expected a string with maximum length 64, but got a string with length "
    "{length} instead.",
    param="{place}.name",
)
def _long_name(asked: Asked) -> Iterator[Found]:
    lengths = ((one, len(one.text("name"))) for one in asked.functions)
    yield from (at(one, length=length) for one, length in lengths if length > _LONGEST)


@rule("tool.strict", "Invalid schema for function '{name}': {why}", param="{place}.parameters")
def _strict(asked: Asked) -> Iterator[Found]:
    for one in asked.functions:
        why = strict_fault(one.value.get("parameters")) if one.value.get("strict") is True else None
        if why:
            yield at(one, name=one.text("name"), why=why)


@rule("answer.strict", "Invalid schema for response_format '{name}': {why}", param="{place}")
def _answer(asked: Asked) -> Iterator[Found]:
    if asked.protocol == "openai-chat":
        place, form = "response_format", member(asked.body, "response_format", "json_schema")
    else:
        place, form = "text.format", member(asked.body, "text", "format")
    why = strict_fault(form.get("schema")) if form.get("strict") is True else None
    if why:
        yield {"name": string(form, "name"), "why": why, "place": place}


@rule("tool_choice.alone", "'tool_choice' is only allowed when 'tools' are specified.", param="tool_choice")
def _choice_alone(asked: Asked) -> Iterator[Found]:
    if asked.body.get("tool_choice") not in (None, "none", "auto") and not asked.tools:
        yield {}


@rule(
    "tool_choice.unknown",
    "Invalid value for 'tool_choice': no function named '{name}' was specified in the 'tools' parameter.",
    param="tool_choice",
)
def _choice_unknown(asked: Asked) -> Iterator[Found]:
    names = {one.text("name") for one in asked.functions}
    choice = member(asked.body, "tool_choice")
    chosen, allowed = choice, choice
    if asked.protocol == "openai-chat":
        chosen, allowed = member(choice, "function"), member(choice, "allowed_tools")
    wanted = [string(chosen, "name")] if string(choice, "type") == "function" else []
    wanted += [string(member(tool, "function"), "name") or string(tool, "name") for tool in objects(allowed, "tools")]
    yield from ({"name": name} for name in wanted if name and name not in names)


OPENAI_HEAD = (_body, _model)
OPENAI_TOOLS = (_name, _long_name, _strict, _answer)
OPENAI_CHOICE = (_choice_alone, _choice_unknown)
"""In the order in which it looks; Chat has rules of its own between these."""
