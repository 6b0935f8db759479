"""What OpenAI Responses refuses in a request.

Source: the API's errors as clients report them, its reference and the SDK's types. Invariant: pure data and pure
checks; what the provider keeps of earlier responses is looked up in its memory.
"""

from __future__ import annotations

from collections.abc import Iterator

from remit.testing.provider.asked import Asked, Placed, objects, string
from remit.testing.provider.memory import Memory
from remit.testing.provider.rule import Check, Found, Rule
from remit.testing.provider.rule_openai import openai_rules

__all__ = ["RESPONSES"]

_ROLES = ("assistant", "system", "developer", "user")
_OUTPUTS = {
    "function_call": "function_call_output",
    "custom_tool_call": "custom_tool_call_output",
    "computer_call": "computer_call_output",
    "shell_call": "shell_call_output",
    "local_shell_call": "local_shell_call_output",
    "apply_patch_call": "apply_patch_call_output",
}
_CALLS = {output: call for call, output in _OUTPUTS.items()}
_LEAST = 16
_LONGEST = 64
_PREFIX = {"function_call": "fc", "message": "msg", "reasoning": "rs", "custom_tool_call": "ctc"}
_WORDED = {"function_call": "function call", "custom_tool_call": "custom tool call"}


def _rule(code: str, message: str, check: Check, *, param: str | None = "input", error: str | None = None) -> Rule:
    return Rule(
        code=f"openai-responses.{code}", protocol="openai-responses", message=message, check=check, param=param, error=error
    )


def _kind(item: Placed) -> str:
    return item.kind or ("message" if item.text("role") else "")


def _reached(asked: Asked) -> bool:
    """Whether earlier items are kept at the provider."""
    return bool(string(asked.body, "previous_response_id") or asked.body.get("conversation"))


def _no_input(asked: Asked, _: Memory) -> Found:
    return None if asked.messages or _reached(asked) or asked.body.get("prompt") else {}


def _kinds(asked: Asked, _: Memory) -> Found:
    for item in asked.messages:
        if not _kind(item):
            return {"place": f"{item.place}.type"}
    return None


def _role(asked: Asked, _: Memory) -> Found:
    for item in asked.messages:
        if _kind(item) == "message" and item.text("role") not in _ROLES:
            return {"role": item.text("role"), "place": item.place}
    return None


def _cap(asked: Asked, _: Memory) -> Found:
    cap = asked.body.get("max_output_tokens")
    return {"cap": cap} if isinstance(cap, int) and cap < _LEAST else None


def _exclusive(asked: Asked, _: Memory) -> Found:
    return {} if asked.body.get("previous_response_id") and asked.body.get("conversation") else None


def _previous(asked: Asked, memory: Memory) -> Found:
    previous = string(asked.body, "previous_response_id")
    return {"id": previous} if previous and previous not in memory.responses else None


def _reference(asked: Asked, memory: Memory) -> Found:
    for item in asked.messages:
        if item.kind == "item_reference" and item.text("id") not in memory.items:
            return {"id": item.text("id")}
    return None


def _parts(asked: Asked, _: Memory) -> Found:
    for item in asked.messages:
        if _kind(item) != "message":
            continue
        said = item.text("role") == "assistant"
        for index, part in enumerate(objects(item.value, "content")):
            kind = string(part, "type")
            if said != (kind in ("output_text", "refusal")):
                known = "'output_text' and 'refusal'" if said else "'input_text', 'input_image' and 'input_file'"
                return {"kind": kind, "known": known, "place": f"{item.place}.content[{index}]"}
    return None


def _ids_twice(asked: Asked, _: Memory) -> Found:
    seen: set[str] = set()
    for item in asked.messages:
        one = item.text("id")
        if one and one in seen and item.kind != "item_reference":
            return {"id": one}
        seen.add(one)
    return None


def _prefix(asked: Asked, _: Memory) -> Found:
    for item in asked.messages:
        wanted = _PREFIX.get(item.kind)
        if wanted and item.text("id") and not item.text("id").startswith(wanted):
            return {"place": f"{item.place}.id", "id": item.text("id"), "wanted": wanted}
    return None


def _call_id(asked: Asked, _: Memory) -> Found:
    for item in asked.messages:
        if item.kind in ("function_call", "function_call_output", "custom_tool_call", "custom_tool_call_output"):
            length = len(item.text("call_id"))
            if not 1 <= length <= _LONGEST:
                how = f"long. Expected a string with maximum length {_LONGEST}" if length else "short. Expected a string"
                return {"place": f"{item.place}.call_id", "how": how, "length": length}
    return None


def _call_twice(asked: Asked, _: Memory) -> Found:
    """A call id names one call at a time: it may come again only once it was answered."""
    waiting: set[str] = set()
    for item in asked.messages:
        if item.kind in _OUTPUTS:
            if item.text("call_id") in waiting:
                return {"id": item.text("call_id")}
            waiting.add(item.text("call_id"))
        elif item.kind in _CALLS:
            waiting.discard(item.text("call_id"))
    return None


def _orphan(asked: Asked, _: Memory) -> Found:
    if _reached(asked):
        return None
    known: set[tuple[str, str]] = set()
    for item in asked.messages:
        if item.kind in _OUTPUTS:
            known.add((item.kind, item.text("call_id")))
        elif item.kind in _CALLS and (_CALLS[item.kind], item.text("call_id")) not in known:
            kind = _CALLS[item.kind]
            return {"what": _WORDED.get(kind, kind), "id": item.text("call_id")}
    return None


def _missing(asked: Asked, _: Memory) -> Found:
    """A call is answered before the assistant or a person says the next thing; an asynchronous one at any time."""
    waiting: dict[str, str] = {}
    for item in asked.messages:
        if item.kind in _OUTPUTS and item.value.get("async") is not True:
            waiting[item.text("call_id")] = item.kind
        elif item.kind in _CALLS:
            waiting.pop(item.text("call_id"), None)
    for one, kind in waiting.items():
        return {"what": _WORDED.get(kind, kind), "id": one}
    return None


def _answered_twice(asked: Asked, _: Memory) -> Found:
    open_calls: dict[tuple[str, str], int] = {}
    for item in asked.messages:
        if item.kind in _OUTPUTS:
            key = (_OUTPUTS[item.kind], item.text("call_id"))
            open_calls[key] = open_calls.get(key, 0) + 1
        elif item.kind in _CALLS and (item.kind, item.text("call_id")) in open_calls:
            key = (item.kind, item.text("call_id"))
            open_calls[key] -= 1
            if open_calls[key] < 0:
                return {"id": item.text("call_id")}
    return None


def _output(asked: Asked, _: Memory) -> Found:
    for item in asked.messages:
        output = item.value.get("output")
        if item.kind in ("function_call_output", "custom_tool_call_output") and not isinstance(output, str | list):
            return {"place": f"{item.place}.output"}
    return None


def _arguments(asked: Asked, _: Memory) -> Found:
    for item in asked.messages:
        key = {"function_call": "arguments", "custom_tool_call": "input"}.get(item.kind)
        if key and not isinstance(item.value.get(key), str):
            return {"place": f"{item.place}.{key}"}
    return None


def _reasoned(asked: Asked) -> Iterator[tuple[Placed, Placed | None]]:
    """Each reasoning item, with the next one of another kind."""
    items = asked.messages
    for index, item in enumerate(items):
        if item.kind == "reasoning":
            yield item, next((one for one in items[index + 1 :] if one.kind != "reasoning"), None)


def _reasoning_alone(asked: Asked, _: Memory) -> Found:
    for item, following in _reasoned(asked):
        said = following is not None and not (
            following.kind in _CALLS or (_kind(following) == "message" and following.text("role") != "assistant")
        )
        if not said:
            return {"id": item.text("id")}
    return None


def _unreasoned(asked: Asked, memory: Memory) -> Found:
    before = {following.text("id"): item.text("id") for item, following in _reasoned(asked) if following}
    for item in asked.messages:
        needed = memory.reasons.get(item.text("id"))
        if needed and before.get(item.text("id")) != needed and not _reached(asked):
            return {"id": item.text("id"), "kind": _kind(item), "needed": needed}
    return None


def _approval(asked: Asked, _: Memory) -> Found:
    requests = {item.text("id") for item in asked.messages if item.kind == "mcp_approval_request"}
    for item in asked.messages:
        one = item.text("approval_request_id")
        if item.kind == "mcp_approval_response" and one not in requests and not _reached(asked):
            return {"id": one}
    return None


RESPONSES: tuple[Rule, ...] = (
    *openai_rules("openai-responses"),
    _rule("input", "Missing required parameter: 'input'.", _no_input, error="missing_required_parameter"),
    _rule("item", "Missing required parameter: '{place}'.", _kinds, param="{place}", error="missing_required_parameter"),
    _rule(
        "role",
        "Invalid value: '{role}'. Supported values are: 'assistant', 'system', 'developer', and 'user'.",
        _role,
        param="{place}",
        error="invalid_value",
    ),
    _rule(
        "max_tokens",
        "Invalid 'max_output_tokens': integer below minimum value. Expected a value >= 16, but got {cap} instead.",
        _cap,
        param="max_output_tokens",
        error="integer_below_min_value",
    ),
    _rule(
        "state.twice",
        "Mutually exclusive parameters: 'previous_response_id' and 'conversation'. Ensure you are only providing one of them.",
        _exclusive,
        param="previous_response_id",
        error="mutually_exclusive_parameters",
    ),
    _rule(
        "state.unknown",
        "Previous response with id '{id}' not found.",
        _previous,
        param="previous_response_id",
        error="previous_response_not_found",
    ),
    _rule("reference", "Item with id '{id}' not found.", _reference),
    _rule("part", "Invalid value: '{kind}'. Supported values are: {known}.", _parts, param="{place}", error="invalid_value"),
    _rule("id.twice", "Duplicate item found with id {id}. Remove duplicate items from your input and try again.", _ids_twice),
    _rule(
        "id.prefix",
        "Invalid '{place}': '{id}'. Expected an ID that begins with '{wanted}'.",
        _prefix,
        param="{place}",
        error="invalid_value",
    ),
    _rule(
        "call_id",
        "Invalid '{place}': string too {how}, but got a string with length {length} instead.",
        _call_id,
        param="{place}",
    ),
    _rule("call", "Missing required parameter: '{place}'.", _arguments, param="{place}", error="missing_required_parameter"),
    _rule("output", "Missing required parameter: '{place}'.", _output, param="{place}", error="missing_required_parameter"),
    _rule("call.twice", "Duplicate function call with call_id {id}.", _call_twice),
    _rule("output.orphan", "No tool call found for {what} output with call_id {id}.", _orphan),
    _rule("output.twice", "Duplicate function call output with call_id {id}.", _answered_twice),
    _rule("output.missing", "No tool output found for {what} {id}.", _missing),
    _rule(
        "reasoning.alone", "Item '{id}' of type 'reasoning' was provided without its required following item.", _reasoning_alone
    ),
    _rule(
        "reasoning.missing",
        "Item '{id}' of type '{kind}' was provided without its required 'reasoning' item: '{needed}'.",
        _unreasoned,
    ),
    _rule("approval", "No approval request found for approval response with id {id}.", _approval),
)
