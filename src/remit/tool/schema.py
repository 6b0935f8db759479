"""What a JSON Schema says, read by ourselves: what it allows at a place, its defaults, and closing it.

Knows no tool and validates nothing. Invariant: a schema given here is never changed, only copied.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from typing import Final, cast

from remit.errors import DefinitionError
from remit.types.ident import Json

__all__ = ["Defaults", "Schema", "close", "declared", "escaped", "kinds", "local_only", "plan", "required", "rewrite"]

Schema = dict[str, Json]

_MAPS: Final = ("properties", "$defs", "definitions", "patternProperties", "dependentSchemas")
_LISTS: Final = ("allOf", "anyOf", "oneOf", "prefixItems")
_SINGLE: Final = (
    "items", "additionalProperties", "additionalItems", "not", "if", "then", "else", "contains", "propertyNames",
    "unevaluatedProperties", "unevaluatedItems",
)  # fmt: skip
_ALL: Final = frozenset({"null", "boolean", "object", "array", "number", "integer", "string"})
_NUMBERS: Final = frozenset({"number", "integer"})
_COMPOSED: Final = ("$ref", "$dynamicRef", "allOf", "anyOf", "oneOf", "if", "dependentSchemas")
_OLD: Final = ("draft-03", "draft-04", "draft-06", "draft-07")


def rewrite(node: Json, change: Callable[[Schema], Schema]) -> Json:
    """A copy in which `change` was applied to every subschema, the inner ones first. Values of other keywords are kept."""
    if not isinstance(node, dict):
        return [rewrite(one, change) for one in node] if isinstance(node, list) else node
    fresh: Schema = {}
    for word, value in node.items():
        if word in _MAPS and isinstance(value, dict):
            fresh[word] = {name: rewrite(inner, change) for name, inner in value.items()}
        elif word in _LISTS or word in _SINGLE:
            fresh[word] = rewrite(value, change)
        else:
            fresh[word] = copy.deepcopy(value)
    return change(fresh)


def local_only(schema: Schema, tool: str) -> None:
    """Refuse references that leave the document.

    Raises:
        DefinitionError: `definition.schema`.
    """

    def look(node: Schema) -> Schema:
        for word in ("$ref", "$dynamicRef", "$recursiveRef"):
            target = node.get(word)
            if target is not None and not (isinstance(target, str) and target.startswith("#")):
                problem = f"tool {tool!r}: its schema has a {word} that leaves the document; put the target under $defs"
                raise DefinitionError(problem, code="definition.schema", tool=tool)
        return node

    rewrite(schema, look)


def resolve(root: Schema, target: str) -> Json:
    """What a `$ref` inside the document points to; True (anything) for what is not a JSON Pointer into it."""
    if target == "#":
        return root
    node: Json = root
    for step in target.removeprefix("#/").split("/"):
        step = step.replace("~1", "/").replace("~0", "~")
        if isinstance(node, dict) and step in node:
            node = node[step]
        elif isinstance(node, list) and step.isdigit() and int(step) < len(node):
            node = node[int(step)]
        else:
            return True
    return node


def kinds(node: Json, root: Schema, seen: frozenset[str] = frozenset()) -> frozenset[str]:
    """The JSON types that the schema may allow here; never fewer than it does."""
    if not isinstance(node, dict):
        return frozenset() if node is False else _ALL
    allowed = _ALL
    target = node.get("$ref")
    if isinstance(target, str) and target not in seen:
        allowed &= kinds(resolve(root, target), root, seen | {target})
    stated = node.get("type")
    if stated is not None:
        allowed &= frozenset(cast("list[str]", stated) if isinstance(stated, list) else [cast("str", stated)])
    values = node.get("enum", [node["const"]] if "const" in node else None)
    if isinstance(values, list):
        allowed &= _NUMBERS.union(_kind(value) for value in values)
    for word in ("anyOf", "oneOf"):
        branches = node.get(word)
        if isinstance(branches, list):
            allowed &= frozenset[str]().union(*(kinds(one, root, seen) for one in branches))
    both = node.get("allOf")
    for one in both if isinstance(both, list) else []:
        allowed &= kinds(one, root, seen)
    return allowed


def _kind(value: Json) -> str:
    if isinstance(value, bool) or value is None:
        return "null" if value is None else "boolean"
    if isinstance(value, (list, dict)):
        return "array" if isinstance(value, list) else "object"
    return "string" if isinstance(value, str) else "number"


def declared(schema: Schema) -> Schema:
    """The top-level properties."""
    found = schema.get("properties")
    return found if isinstance(found, dict) else {}


def close(schema: Schema, tool: str) -> Schema:
    """A copy that refuses undeclared members at the top, unless the schema itself says what extras it takes.

    Raises:
        DefinitionError: the schema is composed at the top in an old draft, and cannot be closed.
    """
    fresh = copy.deepcopy(schema)
    if any(word in fresh for word in ("additionalProperties", "unevaluatedProperties")):
        return fresh
    if not any(word in fresh for word in _COMPOSED):
        fresh["additionalProperties"] = False
    elif any(name in str(fresh.get("$schema", "")) for name in _OLD):
        problem = f"tool {tool!r}: its schema is composed at the top; say additionalProperties there, or use draft 2020-12"
        raise DefinitionError(problem, code="definition.schema", tool=tool)
    else:
        fresh["unevaluatedProperties"] = False
    return fresh


class Defaults:
    """Where literal defaults go: for each member its default, and the defaults inside it."""

    __slots__ = ("item", "members")

    def __init__(self) -> None:
        self.members: dict[str, tuple[bool, Json, Defaults | None]] = {}
        self.item: Defaults | None = None

    def fill(self, value: object) -> None:
        """Set what is absent, in place; the defaults themselves are copied."""
        if isinstance(value, dict):
            members = cast("dict[str, object]", value)
            for name, (given, default, inner) in self.members.items():
                if given and name not in members:
                    members[name] = copy.deepcopy(default)
                if inner is not None and name in members:
                    inner.fill(members[name])
        elif isinstance(value, list) and self.item is not None:
            for one in cast("list[object]", value):
                self.item.fill(one)


def plan(root: Schema, fits: Callable[[str, Json], bool]) -> Defaults | None:
    """The defaults of the schema's properties and items, references followed; None if there are none.

    Defaults inside alternatives (`anyOf`, `oneOf`) are not literal: which one holds depends on the value. Nor is one
    that its own place does not allow, as `null` for a string often stands for "nothing".

    Args:
        fits: whether a value is valid at a JSON Pointer into the schema.
    """
    found: list[bool] = []
    known: dict[int, Defaults] = {}

    def visit(node: Json, place: str) -> Defaults | None:
        target = node.get("$ref") if isinstance(node, dict) else None
        if isinstance(target, str):
            node, place = resolve(root, target), target
        if not isinstance(node, dict):
            return None
        if id(node) in known:
            return known[id(node)]
        known[id(node)] = made = Defaults()
        for name, inner in declared(node).items():
            at = f"{place}/properties/{escaped(name)}"
            default = inner.get("default") if isinstance(inner, dict) else None
            given = isinstance(inner, dict) and "default" in inner and fits(at, default)
            found.extend([True] * given)
            made.members[name] = (given, default, visit(inner, at))
        made.item = visit(node.get("items"), f"{place}/items")
        return made

    made = visit(root, "#")
    return made if found else None


def escaped(step: str) -> str:
    """A name as a step of a JSON Pointer."""
    return step.replace("~", "~0").replace("/", "~1")


def required(schema: Mapping[str, Json]) -> tuple[str, ...]:
    """The names that the top of the schema requires."""
    names = schema.get("required")
    return tuple(str(name) for name in names) if isinstance(names, list) else ()
