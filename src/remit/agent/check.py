"""What kinds of things an agent is described with.

Knows what each must be, not what it is for. Invariant: nothing is called or read here that acts.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import cast

from remit.canonical import encode
from remit.errors import InputError
from remit.types.budget import Budget
from remit.types.given import meant

__all__ = ["is_json_object", "is_list", "is_model", "unknown_tool"]


def is_list(value: object) -> bool:
    """Whether it holds things one after the other, and is not one text or mapping."""
    return isinstance(value, Iterable) and not isinstance(value, (str, bytes, Mapping))


def is_json_object(value: object) -> bool:
    """Whether it is a dict of JSON values by names."""
    if not isinstance(value, Mapping):
        return False
    members = cast("Mapping[object, object]", value)
    try:
        encode(dict(members))
    except InputError:
        return False
    return all(isinstance(name, str) for name in members)


def is_model(value: object) -> bool:
    """Whether it can be asked: a `Model`, and not the class of one."""
    return not isinstance(value, type) and all(hasattr(value, name) for name in ("identity", "name", "wire", "ask", "digest"))


def unknown_tool(budget: Budget, names: Iterable[str]) -> str | None:
    """What is wrong with the tools that `calls_per_tool` names; None if there are all of them."""
    known = set(names)
    for name in budget.calls_per_tool if isinstance(budget.calls_per_tool, Mapping) else ():
        if name not in known:
            return f"calls_per_tool names {name!r}, which is no tool of it{meant(name, known)}"
    return None
