"""The final answer's schema, as providers' native structured output takes it.

Knows no protocol. Invariant: what is sent asks for no less than closed objects, and what it leaves out is
said in words; the answer is checked against the original in any case.
"""

from __future__ import annotations

from collections.abc import Mapping

from remit.types.ident import Json
from remit.wire.write import quote

__all__ = ["answer_schema", "is_strict"]

_MAPS = ("properties", "$defs")
_LISTS = ("anyOf", "allOf")
_KEPT = frozenset(
    {"type", "properties", "required", "additionalProperties", "items", "anyOf", "allOf", "enum", "const", "$ref", "$defs"}
    | {"title", "description"}
)
_STRICT = _KEPT - {"allOf"}


def answer_schema(schema: Mapping[str, Json] | None) -> dict[str, Json] | None:
    """The schema to send, None where providers take none such: its root is not an object.

    Objects are closed, `oneOf` becomes `anyOf`, and limits that providers refuse move into the description.
    """
    return _taken(schema) if schema is not None and schema.get("type") == "object" else None


def is_strict(schema: Json) -> bool:
    """Whether OpenAI's strict mode takes a schema: every object closed, every member required."""
    if not isinstance(schema, dict) or not set(schema) <= _STRICT:
        return False
    if schema.get("type") == "object":
        members, required = schema.get("properties", {}), schema.get("required", [])
        if schema.get("additionalProperties") is not False or not isinstance(members, dict) or not isinstance(required, list):
            return False
        if not all(name in required for name in members):
            return False
    return all(is_strict(one) for one in _inner(schema))


def _inner(schema: Mapping[str, Json]) -> list[Json]:
    found: list[Json] = []
    for key, value in schema.items():
        if key in _MAPS and isinstance(value, dict):
            found += value.values()
        elif key in _LISTS and isinstance(value, list):
            found += value
        elif key == "items":
            found.append(value)
    return found


def _taken(schema: Mapping[str, Json]) -> dict[str, Json]:
    kept: dict[str, Json] = {}
    said: dict[str, Json] = {}
    for key, value in schema.items():
        key = "anyOf" if key == "oneOf" and "anyOf" not in schema else key
        if key in _MAPS and isinstance(value, dict):
            kept[key] = {name: _one(one) for name, one in value.items()}
        elif key in _LISTS and isinstance(value, list):
            kept[key] = [_one(one) for one in value]
        elif key == "items":
            kept[key] = _one(value)
        else:
            (kept if key in _KEPT else said)[key] = value
    if kept.get("type") == "object":
        kept.setdefault("additionalProperties", False)
    if said:
        kept["description"] = " ".join(filter(None, (str(kept.get("description") or ""), quote(said))))
    return kept


def _one(schema: Json) -> Json:
    return _taken(schema) if isinstance(schema, dict) else schema
