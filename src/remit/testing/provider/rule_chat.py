"""What OpenAI Chat Completions refuses in a request.

Source: the API's errors as clients report them, its reference and the SDK's types. Invariant: pure data and pure
checks; the answers of a round are looked for directly after its message.
"""

from __future__ import annotations

from collections.abc import Iterator

from remit.testing.provider.asked import Asked, Placed, member, objects, string, strings
from remit.testing.provider.memory import Memory
from remit.testing.provider.rule import Check, Found, Rule
from remit.testing.provider.rule_openai import openai_rules

__all__ = ["CHAT"]

_ROLES = ("system", "assistant", "user", "function", "tool", "developer")


def _rule(code: str, message: str, check: Check, *, param: str | None = None) -> Rule:
    return Rule(code=f"openai-chat.{code}", protocol="openai-chat", message=message, check=check, param=param)


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


def _no_messages(asked: Asked, _: Memory) -> Found:
    return None if asked.messages else {}


def _role(asked: Asked, _: Memory) -> Found:
    for message in asked.messages:
        if message.text("role") not in _ROLES:
            return {"place": message.place, "role": message.text("role")}
    return None


def _caps(asked: Asked, _: Memory) -> Found:
    return {} if {"max_tokens", "max_completion_tokens"} <= asked.body.keys() else None


def _cap(asked: Asked, _: Memory) -> Found:
    for key in ("max_completion_tokens", "max_tokens"):
        cap = asked.body.get(key)
        if isinstance(cap, int) and cap < 1:
            return {"key": key, "cap": cap}
    return None


def _content(asked: Asked, _: Memory) -> Found:
    for message in asked.messages:
        content, role = message.value.get("content"), message.text("role")
        if isinstance(content, str) or (isinstance(content, list) and content):
            continue
        if role == "assistant" and any(message.value.get(key) for key in ("tool_calls", "refusal", "function_call", "audio")):
            continue
        return {"place": message.place, "was": "null" if content is None else type(content).__name__}
    return None


def _result_parts(asked: Asked, _: Memory) -> Found:
    for message in asked.messages:
        kinds = set(strings(objects(message.value, "content"), "type"))
        if message.text("role") == "tool" and kinds - {"text"}:
            return {"place": message.place, "kind": min(kinds - {"text"})}
    return None


def _arguments(asked: Asked, _: Memory) -> Found:
    for message in asked.messages:
        for index, call in enumerate(objects(message.value, "tool_calls")):
            function = member(call, "function")
            if "custom" not in call and not isinstance(function.get("arguments"), str):
                return {"place": f"{message.place}.tool_calls[{index}].function.arguments"}
            if not string(call, "id"):
                return {"place": f"{message.place}.tool_calls[{index}].id"}
    return None


def _no_calls(asked: Asked, _: Memory) -> Found:
    for message in asked.messages:
        if "tool_calls" in message.value and not message.value["tool_calls"]:
            was = "null" if message.value["tool_calls"] is None else "an empty array"
            return {"place": message.place, "was": was}
    return None


def _ids_twice(asked: Asked, _: Memory) -> Found:
    for message in asked.messages:
        ids = _calls(message)
        if len(ids) != len(set(ids)):
            return {"place": message.place}
    return None


def _orphan(asked: Asked, _: Memory) -> Found:
    for head, answers in _rounds(asked):
        asked_for = _calls(head)
        for answer in answers:
            if answer.text("tool_call_id") not in asked_for:
                return {"place": answer.place}
    return None


def _unanswered(asked: Asked, _: Memory) -> Found:
    for head, answers in _rounds(asked):
        done = {answer.text("tool_call_id") for answer in answers}
        missing = [one for one in _calls(head) if one not in done]
        if missing:
            return {"place": head.place, "ids": ", ".join(missing)}
    return None


def _answered_twice(asked: Asked, _: Memory) -> Found:
    for _head, answers in _rounds(asked):
        seen: set[str] = set()
        for answer in answers:
            if answer.text("tool_call_id") in seen:
                return {"place": answer.place, "id": answer.text("tool_call_id")}
            seen.add(answer.text("tool_call_id"))
    return None


def _stream_options(asked: Asked, _: Memory) -> Found:
    return {} if asked.body.get("stream_options") is not None and asked.body.get("stream") is not True else None


CHAT: tuple[Rule, ...] = (
    *openai_rules("openai-chat"),
    _rule(
        "messages",
        "Invalid 'messages': empty array. Expected an array with minimum length 1, but got an empty array instead.",
        _no_messages,
        param="messages",
    ),
    _rule(
        "role",
        "Invalid value: '{role}'. Supported values are: 'system', 'assistant', 'user', 'function', 'tool', and 'developer'.",
        _role,
        param="{place}.role",
    ),
    _rule(
        "max_tokens.twice",
        "Setting 'max_tokens' and 'max_completion_tokens' at the same time is not supported.",
        _caps,
        param="max_tokens",
    ),
    _rule(
        "max_tokens",
        "Invalid '{key}': integer below minimum value. Expected a value >= 1, but got {cap} instead.",
        _cap,
        param="{key}",
    ),
    _rule("content", "Invalid value for 'content': expected a string, got {was}.", _content, param="{place}.content"),
    _rule(
        "result.parts",
        "Invalid content type. {kind} is not supported in messages with role 'tool'.",
        _result_parts,
        param="{place}.content",
    ),
    _rule("call", "Missing required parameter: '{place}'.", _arguments, param="{place}"),
    _rule(
        "calls.empty",
        "Invalid '{place}.tool_calls': expected an array with minimum length 1, but got {was} instead.",
        _no_calls,
        param="{place}.tool_calls",
    ),
    _rule("id.twice", "Duplicate value for 'tool_call_id' in '{place}.tool_calls'.", _ids_twice, param="{place}.tool_calls"),
    _rule(
        "result.missing",
        "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. "
        "The following tool_call_ids did not have response messages: {ids}",
        _unanswered,
        param="{place}.role",
    ),
    _rule(
        "result.orphan",
        "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'.",
        _orphan,
        param="{place}.role",
    ),
    _rule(
        "result.twice",
        "Duplicate value for 'tool_call_id' of '{id}' in message with role 'tool'.",
        _answered_twice,
        param="{place}.tool_call_id",
    ),
    _rule(
        "stream_options",
        "The 'stream_options' parameter is only allowed when 'stream' is enabled.",
        _stream_options,
        param="stream_options",
    ),
)
