"""Step 2 of the gate for one tool: from the text that a model sent to canonical arguments, or what is wrong.

Knows one tool's schema and types; no principal, policy or run. Invariant: what it returns is valid,
complete with defaults, and holds nothing that the tool did not declare.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from decimal import Decimal
from typing import TYPE_CHECKING, Protocol, cast

from remit.canonical import Exact, encode, parse
from remit.errors import DefinitionError, InputError
from remit.tool.arguments import Arguments
from remit.tool.fault import MASK, from_schema, from_types, pointer
from remit.tool.schema import Schema, declared, escaped, kinds, local_only, plan
from remit.types.ident import Json
from remit.types.outcome import FieldError

if TYPE_CHECKING:
    from jsonschema_rs import Validator, ValidatorMap

__all__ = ["Checker", "Form"]

_LONE = re.compile("[\ud800-\udfff]")
_BIG = '"$number"'
_NOT_OBJECT = [FieldError("", "the arguments must be one JSON object")]


class Form(Protocol):
    """The typed form of a function's parameters."""

    def read(self, text: str) -> dict[str, object]:
        """Typed values from plain JSON text, strictly. Raises pydantic's `ValidationError`."""
        ...


def compile_schema(schema: Schema, tool: str) -> tuple[Validator, ValidatorMap]:
    """The validator of a schema, and one for each of its subschemas.

    Raises:
        DefinitionError: `definition.schema`: it is not a valid JSON Schema, or refers out of its document.
    """
    import jsonschema_rs

    local_only(schema, tool)
    try:
        whole = jsonschema_rs.validator_for(schema, offline=True, mask=MASK)
        return whole, jsonschema_rs.validator_map_for(schema, offline=True, mask=MASK)
    except (ValueError, jsonschema_rs.ReferencingError) as error:
        reason = getattr(error, "message", str(error))
        problem = f"tool {tool!r}: its schema is not valid: {reason}"
        raise DefinitionError(problem, code="definition.schema", tool=tool) from None


class Checker:
    """One tool's validation, compiled once.

    Args:
        schema: closed at the top, without the bound parameters.
        bound: parameters that come from the principal; where a model sends one it is left out here, and
            `forbidden` reports it.
        form: the typed form; None for tools that are declared by a schema alone.
    """

    def __init__(self, tool: str, schema: Schema, *, bound: Collection[str] = (), form: Form | None = None) -> None:
        self._validator, self._parts = compile_schema(schema, tool)
        self._bound = tuple(bound)
        self._form = form
        self._defaults = plan(schema, self._fits)
        self._declared = frozenset(declared(schema))
        self._open = schema.get("additionalProperties") is not False and schema.get("unevaluatedProperties") is not False
        self._containers: dict[str, tuple[type, ...]] = {}
        for name, node in declared(schema).items():
            allowed = kinds(node, schema)
            if "string" not in allowed and allowed & {"array", "object"}:
                self._containers[name] = tuple(kind for word, kind in (("array", list), ("object", dict)) if word in allowed)

    def allows(self, name: str, value: str | None) -> bool:
        """Whether the parameter `name` alone could be `value`."""
        return self._fits(f"#/properties/{escaped(name)}", value)

    def _fits(self, place: str, value: Json) -> bool:
        part = self._parts.get(place)
        return part is None or part.is_valid(value)

    def forbidden(self, text: str) -> tuple[str, ...]:
        """The bound parameters that a model sent."""
        if not self._bound:
            return ()
        try:
            value = parse(text)
        except InputError:
            return ()
        return tuple(name for name in self._bound if isinstance(value, dict) and name in value)

    def check(self, text: str) -> Arguments | list[FieldError]:
        """Canonical arguments, or the faults (at least one, at most ten)."""
        try:
            value = parse(text) if text.strip() else {}
        except InputError as error:
            return [FieldError("", error.message)]
        if not isinstance(value, dict):
            return _NOT_OBJECT
        for name in self._bound:
            value.pop(name, None)
        coercions = self._unwrap(value)
        faults = self._faults(value)
        if faults:
            return faults
        if self._defaults is not None:
            self._defaults.fill(value)
        try:
            arguments = Arguments(encode(value), coercions)
        except InputError as error:
            return [FieldError("", error.message)]
        return self._typed(value, arguments) or arguments

    def _unwrap(self, value: dict[str, Exact]) -> tuple[str, ...]:
        """Read JSON text where only an array or object can stand; in place. Returns the paths."""
        paths: list[str] = []
        for name, wanted in self._containers.items():
            text = value.get(name)
            if type(text) is str:
                try:
                    inner = parse(text)
                except InputError:
                    continue
                if isinstance(inner, wanted):
                    value[name] = inner
                    paths.append(pointer([name]))
        return tuple(paths)

    def _faults(self, value: dict[str, Exact]) -> list[FieldError]:
        if self._open:
            approvals = [name for name in value if name.lower().startswith("approval") and name not in self._declared]
            if approvals:
                return [FieldError(pointer([name]), "no argument can stand for an approval") for name in approvals]
        try:
            if self._validator.is_valid(value):
                return []
            return from_schema(self._validator.iter_errors(value))
        except UnicodeEncodeError:
            return from_schema(self._validator.iter_errors(_without_surrogates(value)))
        except (ValueError, OverflowError):
            return [FieldError("", "the arguments cannot be validated; use plain JSON values")]

    def _typed(self, value: dict[str, Exact], arguments: Arguments) -> list[FieldError]:
        if self._form is None:
            return []
        try:
            typed = self._form.read(arguments.plain_text())
        except ValueError as error:
            if not hasattr(error, "errors"):
                return [FieldError("", "the arguments are not accepted")]
            return from_types(error)  # pyright: ignore[reportArgumentType]
        if _BIG in arguments.text:
            return [
                FieldError(pointer([name]), "has more digits than this parameter can hold")
                for name, one in value.items()
                if _rounded(one, typed.get(name))
            ]
        return []


def _without_surrogates(value: Exact) -> Exact:
    """The same with lone surrogates replaced, for a validator that cannot read them."""
    if isinstance(value, str):
        return _LONE.sub("\ufffd", value)
    if isinstance(value, dict):
        return {_LONE.sub("\ufffd", key): _without_surrogates(one) for key, one in value.items()}
    return [_without_surrogates(one) for one in value] if isinstance(value, list) else value


def _rounded(exact: Exact, typed: object) -> bool:
    """Whether a float parameter would hold another number than the one that was sent."""
    if isinstance(typed, float) and isinstance(exact, (int, Decimal)):
        return Decimal(repr(typed)) != exact
    if isinstance(exact, list) and isinstance(typed, (list, tuple)):
        return any(_rounded(one, other) for one, other in zip(exact, cast("list[object]", typed), strict=False))
    if isinstance(exact, dict) and isinstance(typed, dict):
        return any(_rounded(one, cast("dict[str, object]", typed).get(name)) for name, one in exact.items())
    return False
