"""What OpenAI Chat Completions refuses in a request.

Source: the API's errors as clients report them, its reference and the SDK's types. Invariant: pure checks; the answers
of a round are looked for directly after its message.
"""

from __future__ import annotations

from collections.abc import Iterator

from remit.testing.provider.asked import Asked, Placed, repeated
from remit.testing.provider.rule import Found, Rule, at, rule
from remit.testing.provider.rule_openai import OPENAI_CHOICE, OPENAI_HEAD, OPENAI_TOOLS
from remit.testing.provider.value import member, objects, string, strings

__all__ = ["CHAT"]

_ROLES = ("system", "assistant", "user", "function", "tool", "developer")
_INSTEAD = ("tool_calls", "refusal", "function_call", "audio")


def _calls(message: Placed) -> list[str]:
    return [string(call, "id") for call in objects(message.value, "tool_calls")]


def _rounds(asked: Asked) -> Iterator[tuple[Placed, list[Placed]]]:
    """Each message that is no answer, with the answers directly after it; leading answers stand alone."""
    head = Placed("messages", {})
    answers: list[Placed] = []
    for message in asked.messages:
        if message.text("role") == "tool":
            answers.append(message)
        else:
            yield head, answers
            head, answers = message, []
    yield head, answers


@rule(
    "tools.empty",
    "Invalid 'tools': empty array. Expected an array with minimum length 1, but got an empty array instead.",
    param="tools",
)
def _no_tools(asked: Asked) -> Iterator[Found]:
    if asked.body.get("tools") == []:
        yield {}


@rule(
    "parallel.alone",
    "Invalid value for 'parallel_tool_calls': 'parallel_tool_calls' is only allowed when 'tools' are specified.",
    param="parallel_tool_calls",
)
def _parallel_alone(asked: Asked) -> Iterator[Found]:
    if asked.body.get("parallel_tool_calls") is not None and not asked.tools:
        yield {}


@rule(
    "messages",
    "Invalid 'messages': empty array. Expected an array with minimum length 1, but got an empty array instead.",
    param="messages",
)
def _no_messages(asked: Asked) -> Iterator[Found]:
    if not asked.messages:
        yield {}


@rule(
    "role",
    "Invalid value: '{role}'. Supported values are: 'system', 'assistant', 'user', 'function', 'tool', and 'developer'.",
    param="{place}.role",
)
def _role(asked: Asked) -> Iterator[Found]:
    yield from (at(one, role=one.text("role")) for one in asked.messages if one.text("role") not in _ROLES)


@rule(
    "max_tokens.twice",
    "Setting 'max_tokens' and 'max_completion_tokens' at the same time is not supported.",
    param="max_tokens",
)
def _caps(asked: Asked) -> Iterator[Found]:
    if {"max_tokens", "max_completion_tokens"} <= asked.body.keys():
        yield {}


@rule(
    "max_tokens", "Invalid '{key}': integer below minimum value. Expected a value >= 1, but got {cap} instead.", param="{key}"
)
def _cap(asked: Asked) -> Iterator[Found]:
    for key in ("max_completion_tokens", "max_tokens"):
        cap = asked.body.get(key)
        if isinstance(cap, int) and cap < 1:
            yield {"key": key, "cap": cap}


@rule("content", "Invalid value for 'content': expected a string, got {was}.", param="{place}.content")
def _content(asked: Asked) -> Iterator[Found]:
    for message in asked.messages:
        content = message.value.get("content")
        instead = message.text("role") == "assistant" and any(message.value.get(key) for key in _INSTEAD)
        if not (isinstance(content, str) or (isinstance(content, list) and content) or instead):
            yield at(message, was="null" if content is None else type(content).__name__)


@rule("result.parts", "Invalid content type. {kind} is not supported in messages with role 'tool'.", param="{place}.content")
def _result_parts(asked: Asked) -> Iterator[Found]:
    for message in asked.messages:
        others = {*strings(objects(message.value, "content"), "type")} - {"text"}
        if message.text("role") == "tool" and others:
            yield at(message, kind=min(others))


@rule("call", "Missing required parameter: '{place}'.", param="{place}")
def _call(asked: Asked) -> Iterator[Found]:
    for message in asked.messages:
        for index, call in enumerate(objects(message.value, "tool_calls")):
            place = f"{message.place}.tool_calls[{index}]"
            if "custom" not in call and not isinstance(member(call, "function").get("arguments"), str):
                yield {"place": f"{place}.function.arguments"}
            if not string(call, "id"):
                yield {"place": f"{place}.id"}


@rule(
    "calls.empty",
    "Invalid '{place}.tool_calls': expected an array with minimum length 1, but got {was} instead.",
    param="{place}.tool_calls",
)
def _no_calls(asked: Asked) -> Iterator[Found]:
    for message in asked.messages:
        if not message.value.get("tool_calls", ["left out"]):
            yield at(message, was="null" if message.value["tool_calls"] is None else "an empty array")


@rule("id.twice", "Duplicate value for 'tool_call_id' in '{place}.tool_calls'.", param="{place}.tool_calls")
def _ids_twice(asked: Asked) -> Iterator[Found]:
    yield from (at(one) for one in asked.messages if len(_calls(one)) != len({*_calls(one)}))


@rule(
    "result.missing",
    "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. "
    "The following tool_call_ids did not have response messages: {ids}",
    param="{place}.role",
)
def _unanswered(asked: Asked) -> Iterator[Found]:
    for head, answers in _rounds(asked):
        done = {answer.text("tool_call_id") for answer in answers}
        missing = [one for one in _calls(head) if one not in done]
        if missing:
            yield at(head, ids=", ".join(missing))


@rule(
    "result.orphan",
    "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'.",
    param="{place}.role",
)
def _orphan(asked: Asked) -> Iterator[Found]:
    for head, answers in _rounds(asked):
        yield from (at(answer) for answer in answers if answer.text("tool_call_id") not in _calls(head))


@rule("result.twice", "Duplicate value for 'tool_call_id' of '{id}' in message with role 'tool'.", param="{place}.tool_call_id")
def _answered_twice(asked: Asked) -> Iterator[Found]:
    for _head, answers in _rounds(asked):
        yield from (at(one, id=one.text("tool_call_id")) for one in repeated(answers, "tool_call_id"))


@rule("stream_options", "The 'stream_options' parameter is only allowed when 'stream' is enabled.", param="stream_options")
def _stream_options(asked: Asked) -> Iterator[Found]:
    if asked.body.get("stream_options") is not None and asked.body.get("stream") is not True:
        yield {}


CHAT: tuple[Rule, ...] = (
    *OPENAI_HEAD,
    _no_tools,
    *OPENAI_TOOLS,
    *OPENAI_CHOICE,
    _parallel_alone,
    _no_messages,
    _role,
    _caps,
    _cap,
    _content,
    _result_parts,
    _call,
    _no_calls,
    _ids_twice,
    _unanswered,
    _orphan,
    _answered_twice,
    _stream_options,
)
"""In the order in which it looks."""
