"""Rules about a call's arguments: JSON, once encoded, whole, and of one shape.

Source: the providers' request types. Invariant: pure checks; free text of custom tools is no JSON and is not looked at.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator

from remit.check.rule.rule import Case, Found, Rule, found, named, rule
from remit.check.transcript import Call, Result
from remit.check.value import Object, load, member
from remit.errors import InputError
from remit.types.ident import Json

__all__ = ["ARGUMENT", "inner_object", "is_cut"]

_READ = "execute nothing; answer the call with what is wrong, so that the model can write it again"


def _calls(case: Case) -> Iterator[tuple[Call, Json | None, bool]]:
    """Each call with JSON arguments: the value, and whether it is JSON."""
    for call in case.transcript.calls:
        if call.kind in ("custom", "hosted") or not call.arguments.strip():
            continue
        try:
            yield call, load(call.arguments), True
        except InputError:
            yield call, None, False


def inner_object(value: Json) -> bool:
    """Whether a string is the JSON text of an object."""
    if not isinstance(value, str) or not value.lstrip().startswith("{"):
        return False
    try:
        return isinstance(load(value), dict)
    except InputError:
        return False


def is_cut(text: str) -> bool:
    """Whether a text is the beginning of a JSON object: something is open at its end."""
    closing: list[str] = []
    quoted = escaped = False
    for sign in text:
        if quoted:
            quoted = escaped or sign != '"'
            escaped = not escaped and sign == "\\"
        elif sign == '"':
            quoted = True
        elif sign in "{[":
            closing.append("}" if sign == "{" else "]")
        elif sign in "}]" and (not closing or closing.pop() != sign):
            return False
    return text.lstrip().startswith("{") and (quoted or bool(closing))


@rule("arguments.not_json", "error", "Arguments are no JSON")
def _not_json(case: Case) -> Iterator[Found]:
    for call, _, good in _calls(case):
        if not good and not is_cut(call.arguments):
            yield found(call, f"the arguments of {named(call)} are no JSON", _READ)


@rule("arguments.cut", "error", "Arguments end in the middle")
def _cut(case: Case) -> Iterator[Found]:
    for call, value, good in _calls(case):
        inner = value if isinstance(value, str) else call.arguments
        if (not good or isinstance(value, str)) and is_cut(inner) and not inner_object(value):
            yield found(call, f"the arguments of {named(call)} end in the middle: the reply was cut off", _READ)


@rule("arguments.double_encoded", "error", "Arguments are JSON inside a JSON string", mended=True)
def _double(case: Case) -> Iterator[Found]:
    for call, value, _ in _calls(case):
        if inner_object(value):
            mend = "encode them once: an object for Anthropic, its JSON text for OpenAI"
            yield found(call, f"the arguments of {named(call)} are JSON in a string", mend)


@rule("arguments.not_object", "error", "Arguments are JSON, but no object")
def _no_object(case: Case) -> Iterator[Found]:
    for call, value, good in _calls(case):
        if good and not isinstance(value, dict) and not inner_object(value) and not (isinstance(value, str) and is_cut(value)):
            yield found(call, f"the arguments of {named(call)} are no JSON object", _READ)


@rule("arguments.not_text", "error", "Arguments are an object where their JSON text belongs", mended=True)
def _not_text(case: Case) -> Iterator[Found]:
    if case.form == "anthropic":
        return
    for call in case.transcript.calls:
        raw: Object = call.raw if isinstance(call.raw, dict) else {}
        inner = (member(raw, "function") or raw) if call.kind == "function" else raw
        if call.kind in ("function", "functions") and isinstance(inner.get("arguments"), dict):
            said = f"the arguments of {named(call)} are an object"
            yield found(call, said, "send back the string as it was received; this provider takes no object there")


@rule("arguments.mixed", "warning", "A parameter is given now as one value and now as an array")
def _mixed(case: Case) -> Iterator[Found]:
    known = {tool.name: tool.schema for tool in case.transcript.tools or () if isinstance(tool.schema, dict)}
    failed = {id(pair.call) for pair in case.pairs.pairs if _is_failure(pair.result)}
    seen: dict[tuple[str, str], set[bool]] = defaultdict(set)
    for call, value, _ in _calls(case):
        for key, one in value.items() if isinstance(value, dict) else ():
            if one is None or id(call) in failed:
                continue
            wanted = _wants_array(member(known.get(call.name, {}), "properties").get(key))
            shape = isinstance(one, list)
            others = seen[call.name, key]
            wrong = wanted is not None and wanted != shape if call.name in known else bool(others) and shape not in others
            others.add(shape)
            if wrong:
                is_wanted = wanted if wanted is not None else not shape
                form = "an array" if is_wanted else "one value"
                said = f"`{key}` of {named(call)} is {form} by its schema or in other calls, and not here"
                yield found(call, said, "declare one form in the schema, and refuse the other one")


def _is_failure(result: Result) -> bool:
    return result.error is True or re.match(r"\W*(error|invalid|fail)", result.text, re.IGNORECASE) is not None


def _wants_array(schema: Json) -> bool | None:
    """Whether a parameter is an array only (True), never one (False), or that is not said."""
    if not isinstance(schema, dict):
        return None
    kind = schema.get("type")
    if isinstance(kind, str):
        return kind == "array"
    return "array" in kind if isinstance(kind, list) and (len(kind) == 1 or "array" not in kind) else None


ARGUMENT: tuple[Rule, ...] = (_not_json, _cut, _double, _no_object, _not_text, _mixed)
