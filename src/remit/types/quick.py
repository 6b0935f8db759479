"""A quicker `__init__` for the frozen dataclasses that are made many times a turn.

Knows no noun. A frozen dataclass sets each field through `object.__setattr__`, and that is most of what making one costs.
Here the object is of an open twin, which has the same slots, while its fields are set. Invariant: nobody sees the twin; what
comes out is as frozen as before, and takes the same arguments.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import MISSING, Field, fields
from functools import wraps
from typing import Any, TypeVar, cast

__all__ = ["quick"]

T = TypeVar("T")


def quick(kind: type[T]) -> type[T]:
    """Above `@dataclass(frozen=True, slots=True)`, of a class without a base and without `__post_init__`."""
    if kind.__bases__ != (object,) or hasattr(kind, "__post_init__"):
        raise TypeError(f"{kind.__name__} has a base, or more to do than to set its fields")
    own = fields(cast("Any", kind))
    names: dict[str, object] = {
        "_kind": kind,
        "_twin": type(kind.__name__, (), {"__slots__": tuple(one.name for one in own)}),
        "_turn": object.__setattr__,
        "_unset": object(),
    }
    taken = [_parameter(one, names) for one in own if not one.kw_only]
    named = [_parameter(one, names) for one in own if one.kw_only]
    lines = [
        f"def __init__({', '.join(['self', *taken, *(['*', *named] if named else [])])}):",
        " _turn(self, '__class__', _twin)",
        *(f" self.{one.name} = {_value(one)}" for one in own),
        " self.__class__ = _kind",
    ]
    exec("\n".join(lines), names)  # noqa: S102  # as dataclasses make it: of the fields' names alone
    init = cast("Callable[..., None]", names["__init__"])
    type.__setattr__(kind, "__init__", wraps(kind.__init__)(init))
    return kind


def _parameter(one: Field[Any], names: dict[str, object]) -> str:
    if one.default_factory is not MISSING:
        names[f"_make_{one.name}"] = one.default_factory
        return f"{one.name}=_unset"
    if one.default is not MISSING:
        names[f"_default_{one.name}"] = one.default
        return f"{one.name}=_default_{one.name}"
    return one.name


def _value(one: Field[Any]) -> str:
    return one.name if one.default_factory is MISSING else f"_make_{one.name}() if {one.name} is _unset else {one.name}"
