"""What OpenAI Responses refuses in a request.

Source: the API's errors as clients report them, its reference and the SDK's types. Invariant: pure checks; what the
provider keeps of earlier responses is looked up in its memory.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from remit.testing.provider.asked import Asked, Placed, repeated
from remit.testing.provider.rule import Found, Rule, at, rule
from remit.testing.provider.rule_openai import OPENAI_CHOICE, OPENAI_HEAD, OPENAI_TOOLS
from remit.testing.provider.value import objects, string

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
_WORDS = {"function_call": "arguments", "custom_tool_call": "input"}
_OURS = ("function_call", "function_call_output", "custom_tool_call", "custom_tool_call_output")


def _kind(item: Placed) -> str:
    return item.kind or ("message" if item.text("role") else "")


def _reached(asked: Asked) -> bool:
    """Whether earlier items are kept at the provider."""
    return bool(string(asked.body, "previous_response_id") or asked.body.get("conversation"))


def _reasoned(asked: Asked) -> Iterator[tuple[Placed, Placed | None]]:
    """Each reasoning item, with the next one of another kind."""
    items = asked.messages
    for index, item in enumerate(items):
        if item.kind == "reasoning":
            yield item, next((one for one in items[index + 1 :] if one.kind != "reasoning"), None)


@rule("input", "Missing required parameter: 'input'.", param="input", error="missing_required_parameter")
def _no_input(asked: Asked) -> Iterator[Found]:
    if not (asked.messages or _reached(asked) or asked.body.get("prompt")):
        yield {}


@rule("item", "Missing required parameter: '{place}.type'.", param="{place}.type", error="missing_required_parameter")
def _item(asked: Asked) -> Iterator[Found]:
    yield from (at(item) for item in asked.messages if not _kind(item))


@rule(
    "role",
    "Invalid value: '{role}'. Supported values are: 'assistant', 'system', 'developer', and 'user'.",
    param="{place}",
    error="invalid_value",
)
def _role(asked: Asked) -> Iterator[Found]:
    roles = ((item, item.text("role")) for item in asked.messages if _kind(item) == "message")
    yield from (at(item, role=role) for item, role in roles if role not in _ROLES)


@rule(
    "max_tokens",
    "Invalid 'max_output_tokens': integer below minimum value. Expected a value >= 16, but got {cap} instead.",
    param="max_output_tokens",
    error="integer_below_min_value",
)
def _cap(asked: Asked) -> Iterator[Found]:
    cap = asked.body.get("max_output_tokens")
    if isinstance(cap, int) and cap < _LEAST:
        yield {"cap": cap}


@rule(
    "state.twice",
    "Mutually exclusive parameters: 'previous_response_id' and 'conversation'. Ensure you are only providing one of them.",
    param="previous_response_id",
    error="mutually_exclusive_parameters",
)
def _exclusive(asked: Asked) -> Iterator[Found]:
    if asked.body.get("previous_response_id") and asked.body.get("conversation"):
        yield {}


@rule(
    "state.unknown",
    "Previous response with id '{id}' not found.",
    param="previous_response_id",
    error="previous_response_not_found",
)
def _previous(asked: Asked) -> Iterator[Found]:
    previous = string(asked.body, "previous_response_id")
    if previous and previous not in asked.memory.responses:
        yield {"id": previous}


@rule("reference", "Item with id '{id}' not found.", param="input")
def _reference(asked: Asked) -> Iterator[Found]:
    named = [item.text("id") for item in asked.messages if item.kind == "item_reference"]
    yield from ({"id": one} for one in named if one not in asked.memory.items)


@rule("part", "Invalid value: '{kind}'. Supported values are: {known}.", param="{place}", error="invalid_value")
def _part(asked: Asked) -> Iterator[Found]:
    for item in asked.messages:
        said = item.text("role") == "assistant"
        known = "'output_text' and 'refusal'" if said else "'input_text', 'input_image' and 'input_file'"
        for index, part in enumerate(objects(item.value, "content") if _kind(item) == "message" else ()):
            kind = string(part, "type")
            if said != (kind in ("output_text", "refusal")):
                yield {"kind": kind, "known": known, "place": f"{item.place}.content[{index}]"}


@rule("id.twice", "Duplicate item found with id {id}. Remove duplicate items from your input and try again.", param="input")
def _ids_twice(asked: Asked) -> Iterator[Found]:
    again = (item for item in repeated(asked.messages, "id") if item.text("id") and item.kind != "item_reference")
    yield from ({"id": item.text("id")} for item in again)


@rule(
    "id.prefix",
    "Invalid '{place}.id': '{id}'. Expected an ID that begins with '{wanted}'.",
    param="{place}.id",
    error="invalid_value",
)
def _prefix(asked: Asked) -> Iterator[Found]:
    for item in asked.messages:
        wanted, one = _PREFIX.get(item.kind, ""), item.text("id")
        if one and not one.startswith(wanted):
            yield at(item, id=one, wanted=wanted)


@rule(
    "call_id",
    "Invalid '{place}.call_id': string too {how}, but got a string with length {length} instead.",
    param="{place}.call_id",
)
def _call_id(asked: Asked) -> Iterator[Found]:
    for item in asked.messages:
        length = len(item.text("call_id"))
        if item.kind in _OURS and not 1 <= length <= _LONGEST:
            how = f"long. Expected a string with maximum length {_LONGEST}" if length else "short. Expected a string"
            yield at(item, how=how, length=length)


@rule("call", "Missing required parameter: '{place}.{key}'.", param="{place}.{key}", error="missing_required_parameter")
def _call(asked: Asked) -> Iterator[Found]:
    keys = ((item, _WORDS[item.kind]) for item in asked.messages if item.kind in _WORDS)
    yield from (at(item, key=key) for item, key in keys if not isinstance(item.value.get(key), str))


@rule("output", "Missing required parameter: '{place}.output'.", param="{place}.output", error="missing_required_parameter")
def _output(asked: Asked) -> Iterator[Found]:
    outputs = [item for item in asked.messages if item.kind in ("function_call_output", "custom_tool_call_output")]
    yield from (at(item) for item in outputs if not isinstance(item.value.get("output"), str | list))


@rule("call.twice", "Duplicate function call with call_id {id}.", param="input")
def _call_twice(asked: Asked) -> Iterator[Found]:
    """A call id names one call at a time: it may come again only once it was answered."""
    waiting: set[str] = set()
    for item in asked.messages:
        one = item.text("call_id")
        if item.kind in _OUTPUTS:
            if one in waiting:
                yield {"id": one}
            waiting.add(one)
        elif item.kind in _CALLS:
            waiting.discard(one)


@rule("output.orphan", "No tool call found for {what} output with call_id {id}.", param="input")
def _orphan(asked: Asked) -> Iterator[Found]:
    known: set[tuple[str, str]] = set()
    for item in () if _reached(asked) else asked.messages:
        one, kind = item.text("call_id"), _CALLS.get(item.kind, "")
        if item.kind in _OUTPUTS:
            known.add((item.kind, one))
        elif kind and (kind, one) not in known:
            yield {"what": _WORDED.get(kind, kind), "id": one}


@rule("output.twice", "Duplicate function call output with call_id {id}.", param="input")
def _answered_twice(asked: Asked) -> Iterator[Found]:
    """An output whose call is not here is another rule's."""
    called: Counter[tuple[str, str]] = Counter()
    answered: Counter[tuple[str, str]] = Counter()
    for item in asked.messages:
        if item.kind in _OUTPUTS:
            called[_OUTPUTS[item.kind], item.text("call_id")] += 1
        elif item.kind in _CALLS:
            key = (item.kind, item.text("call_id"))
            answered[key] += key in called
            if answered[key] > called[key]:
                yield {"id": item.text("call_id")}


@rule("output.missing", "No tool output found for {what} {id}.", param="input")
def _missing(asked: Asked) -> Iterator[Found]:
    """A call is answered before the model is asked again; an asynchronous one at any time."""
    waiting: dict[str, str] = {}
    for item in asked.messages:
        if item.kind in _OUTPUTS and item.value.get("async") is not True:
            waiting[item.text("call_id")] = item.kind
        elif item.kind in _CALLS:
            waiting.pop(item.text("call_id"), None)
    yield from ({"what": _WORDED.get(kind, kind), "id": one} for one, kind in waiting.items())


@rule("reasoning.alone", "Item '{id}' of type 'reasoning' was provided without its required following item.", param="input")
def _reasoning_alone(asked: Asked) -> Iterator[Found]:
    for item, following in _reasoned(asked):
        heard = following and _kind(following) == "message" and following.text("role") != "assistant"
        if following is None or following.kind in _CALLS or heard:
            yield {"id": item.text("id")}


@rule(
    "reasoning.missing",
    "Item '{id}' of type '{kind}' was provided without its required 'reasoning' item: '{needed}'.",
    param="input",
)
def _unreasoned(asked: Asked) -> Iterator[Found]:
    before = {following.text("id"): item.text("id") for item, following in _reasoned(asked) if following}
    for item in () if _reached(asked) else asked.messages:
        one = item.text("id")
        needed = asked.memory.reasons.get(one)
        if needed and before.get(one) != needed:
            yield {"id": one, "kind": _kind(item), "needed": needed}


@rule("approval", "No approval request found for approval response with id {id}.", param="input")
def _approval(asked: Asked) -> Iterator[Found]:
    requests = {item.text("id") for item in asked.messages if item.kind == "mcp_approval_request"}
    answered = [item.text("approval_request_id") for item in asked.messages if item.kind == "mcp_approval_response"]
    yield from ({"id": one} for one in answered if one not in requests and not _reached(asked))


RESPONSES: tuple[Rule, ...] = (
    *OPENAI_HEAD,
    *OPENAI_TOOLS,
    *OPENAI_CHOICE,
    _no_input,
    _item,
    _role,
    _cap,
    _exclusive,
    _previous,
    _reference,
    _part,
    _ids_twice,
    _prefix,
    _call_id,
    _call,
    _output,
    _call_twice,
    _orphan,
    _answered_twice,
    _missing,
    _reasoning_alone,
    _unreasoned,
    _approval,
)
"""In the order in which it looks."""
