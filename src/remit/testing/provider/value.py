"""JSON values as the rules read them: what is missing or of another type is empty.

Knows no protocol. Invariant: reading raises nothing, whatever the value is.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import cast

from remit.types.ident import Json

__all__ = ["Object", "canonical", "member", "objects", "string", "strings"]

Object = Mapping[str, Json]
"""A JSON object."""


def string(value: Object, key: str) -> str:
    """A member that is a string, else empty."""
    found = value.get(key)
    return found if isinstance(found, str) else ""


def member(value: Object, *keys: str) -> Object:
    """A member that is an object, else an empty one; several keys lead inwards."""
    for key in keys:
        found = value.get(key)
        value = found if isinstance(found, dict) else {}
    return value


def objects(value: Object, key: str) -> list[Object]:
    """The objects in a member that is an array."""
    found = value.get(key)
    return [one for one in found if isinstance(one, dict)] if isinstance(found, list) else []


def strings(values: Sequence[Object], key: str) -> list[str]:
    """A member of each that is a string, where it is one."""
    return [found for one in values if isinstance(found := one.get(key), str)]


def canonical(value: Json) -> str:
    """One text for equal values; cache marks say nothing."""
    return json.dumps(_unmarked(value), sort_keys=True, separators=(",", ":"))


def _unmarked(value: Json) -> Json:
    match value:
        case dict():
            return {key: _unmarked(one) for key, one in value.items() if key != "cache_control"}
        case list():
            return [_unmarked(one) for one in value]
        case _:
            return cast("Json", value)
