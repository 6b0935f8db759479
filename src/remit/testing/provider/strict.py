"""The subset of JSON Schema that OpenAI takes for strict tools and answers.

Source: the provider's page on structured outputs and the wording of its errors. Invariant: pure.
"""

from __future__ import annotations

from collections.abc import Sequence

from remit.types.ident import Json

__all__ = ["strict_fault"]

_REFUSED = (
    "allOf",
    "not",
    "oneOf",
    "dependentRequired",
    "dependentSchemas",
    "if",
    "then",
    "else",
    "patternProperties",
    "unevaluatedProperties",
    "propertyNames",
    "prefixItems",
    "contains",
)


def strict_fault(schema: Json) -> str | None:
    """The provider's words for the first thing in `schema` that is not in the subset."""
    if not isinstance(schema, dict):
        return "schema must be a JSON Schema of 'type: \"object\"', got 'type: \"None\"'."
    if schema.get("type") != "object" or "anyOf" in schema:
        return f"schema must be a JSON Schema of 'type: \"object\"', got 'type: \"{schema.get('type')}\"'."
    return _fault(schema, ())


def _fault(schema: Json, path: Sequence[str]) -> str | None:
    if not isinstance(schema, dict):
        return None
    context = f"In context={tuple(path)!r},"
    for word in _REFUSED:
        if word in schema:
            return f"{context} '{word}' is not permitted."
    properties = schema.get("properties")
    kind = schema.get("type")
    if kind == "object" or (isinstance(kind, list) and "object" in kind) or isinstance(properties, dict):
        wrong = _object_fault(schema, context)
        if wrong:
            return wrong
    if kind == "array" and "items" not in schema:
        return f"{context} array schema missing items."
    return _inner_fault(schema, path)


def _object_fault(schema: dict[str, Json], context: str) -> str | None:
    if schema.get("additionalProperties") is not False:
        return f"{context} 'additionalProperties' is required to be supplied and to be false."
    properties, required = schema.get("properties"), schema.get("required")
    names = list(properties) if isinstance(properties, dict) else []
    given = required if isinstance(required, list) else []
    missing = next((name for name in names if name not in given), None)
    if missing is None:
        return None
    return (
        f"{context} 'required' is required to be supplied and to be an array including every key in properties. "
        f"Missing '{missing}'."
    )


def _inner_fault(schema: dict[str, Json], path: Sequence[str]) -> str | None:
    for key in ("properties", "$defs", "definitions"):
        inner = schema.get(key)
        for name, one in inner.items() if isinstance(inner, dict) else ():
            wrong = _fault(one, [*path, key, name])
            if wrong:
                return wrong
    branches = schema.get("anyOf")
    below = [("items", schema.get("items"))]
    below += [(f"anyOf.{index}", one) for index, one in enumerate(branches if isinstance(branches, list) else [])]
    for key, one in below:
        wrong = _fault(one, [*path, *key.split(".")])
        if wrong:
            return wrong
    return None
