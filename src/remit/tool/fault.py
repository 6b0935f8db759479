"""What is wrong with arguments, in words for the model: which field, and what must be true there.

Knows the two validators' errors. Invariant: no message holds an argument's value.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Protocol, cast

from remit.tool.schema import escaped
from remit.types.outcome import FieldError

if TYPE_CHECKING:
    from jsonschema_rs import ValidationError

__all__ = ["MASK", "from_schema", "from_types", "pointer"]

MASK = "the value"
_MOST = 10
_MOST_OPTIONS = 20
_LONGEST_NAME = 64


def pointer(path: Iterable[str | int]) -> str:
    """A JSON Pointer; long names, which are the model's own, are cut."""
    return "".join("/" + escaped(str(step)[:_LONGEST_NAME]) for step in path)


def from_schema(errors: Iterable[ValidationError]) -> list[FieldError]:
    """The first ten faults that the schema finds."""
    found: dict[FieldError, None] = {}
    mistyped: set[str] = set()
    for error in errors:
        faults = _render(error)
        if error.kind.name == "type":
            mistyped.update(fault.path for fault in faults)
            found = {fault: None for fault in found if fault.path not in mistyped}
        elif faults[0].path in mistyped:
            continue
        found.update(dict.fromkeys(faults))
        if len(found) >= _MOST:
            break
    return list(found)[:_MOST]


def _render(error: ValidationError) -> list[FieldError]:
    path = list(error.instance_path)
    facts = cast("dict[str, object]", error.kind.as_dict())
    match error.kind.name:
        case "required":
            return [FieldError(pointer([*path, str(facts["property"])]), "is required")]
        case "additionalProperties" | "unevaluatedProperties":
            names = cast("list[str]", facts["unexpected"])
            return [FieldError(pointer([*path, name]), "is not a parameter; leave it out") for name in names]
        case "type":
            return [FieldError(pointer(path), f"must be {_either(cast('list[str]', facts['types']))}")]
        case "enum":
            return [FieldError(pointer(path), f"must be one of {_listed(cast('list[object]', facts['options']))}")]
        case "anyOf" | "oneOf":
            return _alternatives(error, path)
        case "propertyNames":
            return [FieldError(pointer(path), "has a member whose name is not allowed")]
        case _:
            return [FieldError(pointer(path), error.message)]


def _alternatives(error: ValidationError, path: list[str | int]) -> list[FieldError]:
    """The faults of the alternative that the value was meant for, if its type says which; else what types are possible."""
    branches = cast("list[list[ValidationError]]", getattr(error.kind, "context", []))
    types: list[str] = []
    meant: list[list[ValidationError]] = []
    for branch in branches:
        wrong = [one for one in branch if one.kind.name == "type" and list(one.instance_path) == path]
        types += [name for one in wrong for name in cast("list[str]", one.kind.as_dict()["types"])]
        meant += [] if wrong else [branch]
    if len(meant) == 1 and meant[0]:
        return [fault for one in meant[0] for fault in _render(one)]
    if types and not meant:
        return [FieldError(pointer(path), f"must be {_either(types)}")]
    return [FieldError(pointer(path), "is none of the forms that are allowed here")]


def _listed(options: Sequence[object]) -> str:
    shown = ", ".join(json.dumps(one, ensure_ascii=False) for one in options[:_MOST_OPTIONS])
    return shown if len(options) <= _MOST_OPTIONS else f"{shown}, ... ({len(options)} in all)"


def _either(names: Sequence[str]) -> str:
    article = {"null": "null", "integer": "an integer", "array": "an array", "object": "an object"}
    return " or ".join(dict.fromkeys(article.get(name, f"a {name}") for name in names))


class _Details(Protocol):
    """pydantic's `ValidationError`, as far as it is read here."""

    def errors(self, *, include_url: bool, include_context: bool) -> Sequence[object]: ...


def from_types(error: _Details) -> list[FieldError]:
    """The first ten faults that the types find."""
    found: dict[FieldError, None] = {}
    for one in error.errors(include_url=False, include_context=False)[:_MOST]:
        detail = cast("dict[str, object]", one)
        message = str(detail["msg"])
        if detail["type"] == "json_invalid":
            message = "holds text that is not valid Unicode"
        if _quotes(message, detail.get("input")):
            message = "is not accepted"
        found[FieldError(pointer(cast("tuple[str | int, ...]", detail["loc"])), message)] = None
    return list(found)


def _quotes(message: str, value: object) -> bool:
    """Whether a message repeats a value (of three characters or more) from inside `value`."""
    if isinstance(value, dict):
        return any(_quotes(message, one) for one in cast("dict[str, object]", value).values())
    if isinstance(value, (list, tuple)):
        return any(_quotes(message, one) for one in cast("list[object]", value))
    if isinstance(value, bool) or value is None:
        return False
    text = str(value)
    return len(text) >= 3 and text in message
