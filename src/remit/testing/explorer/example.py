"""Arguments that a tool takes, made up from its JSON Schema: the smallest that are valid, in several variants.

Knows JSON Schema and no tool's meaning. Invariant: equal schemas and variants give equal values; whoever uses one has it
checked by the tool first.
"""

from __future__ import annotations

from typing import cast

from remit.types.ident import Json

__all__ = ["VARIANTS", "example"]

VARIANTS = 5
"""How many variants are worth trying: their numbers and texts differ."""

_SIZES = (1, 120, 20_000, 7_000_000, 3)
_FORMATS: dict[str, tuple[str, ...]] = {
    "date": ("2026-01-01", "2026-02-02", "2026-03-03", "2026-04-04", "2026-05-05"),
    "date-time": tuple(f"2026-0{month}-01T00:00:00Z" for month in range(1, 6)),
    "time": tuple(f"0{hour}:00:00Z" for hour in range(1, 6)),
    "email": tuple(f"person{number}@example.com" for number in range(1, 6)),
    "uri": tuple(f"https://example.com/{number}" for number in range(1, 6)),
    "uuid": tuple(f"00000000-0000-4000-8000-00000000000{number}" for number in range(1, 6)),
}
_DEEPEST = 8


def example(schema: dict[str, Json], variant: int = 0) -> Json:
    """A value for the schema; `variant` is from 0 to `VARIANTS` - 1."""
    return _Maker(schema, variant).make(schema, "", 0)


class _Maker:
    def __init__(self, root: dict[str, Json], variant: int) -> None:
        self._root = root
        self._variant = variant

    def make(self, node: Json, name: str, depth: int) -> Json:
        if not isinstance(node, dict) or depth > _DEEPEST:
            return f"{name}-{self._variant + 1}"
        node = self._resolved(node)
        if "const" in node:
            return node["const"]
        for word in ("examples", "enum"):
            listed = node.get(word)
            if isinstance(listed, list) and listed:
                return listed[self._variant % len(listed)]
        for word in ("anyOf", "oneOf"):
            branches = node.get(word)
            if isinstance(branches, list) and branches:
                able = [one for one in branches if not (isinstance(one, dict) and one.get("type") == "null")]
                return self.make((able or branches)[0], name, depth + 1)
        return self._typed(node, name, depth)

    def _resolved(self, node: dict[str, Json]) -> dict[str, Json]:
        target = node.get("$ref")
        if isinstance(target, str) and target.startswith("#/"):
            found: Json = self._root
            for step in target[2:].split("/"):
                found = found.get(step.replace("~1", "/").replace("~0", "~")) if isinstance(found, dict) else None
            node = {**(found if isinstance(found, dict) else {}), **{key: one for key, one in node.items() if key != "$ref"}}
        parts = node.get("allOf")
        for one in parts if isinstance(parts, list) else []:
            if isinstance(one, dict):
                node = {**self._resolved(one), **{key: value for key, value in node.items() if key != "allOf"}}
        return node

    def _typed(self, node: dict[str, Json], name: str, depth: int) -> Json:
        kind = node.get("type")
        if isinstance(kind, list):
            kind = next((one for one in kind if one != "null"), "null")
        match kind:
            case "object":
                return self._object(node, depth)
            case "array":
                count = _whole(node.get("minItems"), 0)
                prefix = cast("list[Json]", node.get("prefixItems") or [])
                items = [self.make(one, name, depth + 1) for one in prefix]
                return items + [
                    self.make(node.get("items", True), f"{name}{at}", depth + 1) for at in range(count - len(items))
                ]
            case "integer" | "number":
                return self._number(node)
            case "boolean":
                return self._variant % 2 == 0
            case "null":
                return None
            case _ if kind is None and "properties" in node:
                return self._object(node, depth)
            case _:
                return self._text(node, name)

    def _object(self, node: dict[str, Json], depth: int) -> Json:
        names, known = node.get("required"), node.get("properties")
        members = known if isinstance(known, dict) else {}
        needed = [str(one) for one in names] if isinstance(names, list) else []
        return {one: self.make(members.get(one, True), one, depth + 1) for one in needed}

    def _number(self, node: dict[str, Json]) -> Json:
        low = node.get("minimum", node.get("exclusiveMinimum"))
        high = node.get("maximum", node.get("exclusiveMaximum"))
        value = float(_SIZES[self._variant])
        if isinstance(low, int | float):
            value = max(value, low + (1 if "exclusiveMinimum" in node else 0))
        if isinstance(high, int | float):
            value = min(value, high - (1 if "exclusiveMaximum" in node else 0))
        step = node.get("multipleOf")
        if isinstance(step, int | float) and step > 0:
            value = value // step * step or step
        return int(value) if value == int(value) else value

    def _text(self, node: dict[str, Json], name: str) -> Json:
        form = node.get("format")
        if isinstance(form, str) and form in _FORMATS:
            return _FORMATS[form][self._variant]
        text = f"{name or 'text'}-{self._variant + 1}"
        least, most = _whole(node.get("minLength"), 0), node.get("maxLength")
        text = text.ljust(least, "x")
        return text if not isinstance(most, int) or len(text) <= most else text[-most:]


def _whole(value: Json, other: int) -> int:
    return value if isinstance(value, int) else other
