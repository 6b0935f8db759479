"""A JSON document while it is written: values, and text of the source that goes in as it was.

Knows no protocol. Invariant: text that is given is not written again, so no number is rounded.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from remit.types.ident import Json

__all__ = ["Loss", "Losses", "Paper", "Verbatim", "dumped"]


@dataclass(frozen=True, slots=True)
class Verbatim:
    """JSON text."""

    text: str


Paper = None | bool | int | float | str | Verbatim | Sequence["Paper"] | Mapping[str, "Paper"]
"""A JSON value with text in it."""


@dataclass(frozen=True, slots=True)
class Loss:
    """What could not be carried.

    Args:
        place: a JSON Pointer into the source.
        what: its kind or member, for example `thought` or `cache_control`.
        why: what the other protocol does not have.
    """

    place: str
    what: str
    why: str


@dataclass(slots=True)
class Losses:
    """All that was lost so far."""

    found: list[Loss] = field(default_factory=list[Loss])

    def add(self, place: str, what: str, why: str) -> None:
        """Note one; each is noted once."""
        loss = Loss(place, what, why)
        if loss not in self.found:
            self.found.append(loss)

    def members(self, place: str, raw: Json, carried: Sequence[str], why: str) -> None:
        """Note the members of an object that are not carried and say something."""
        for key, value in raw.items() if isinstance(raw, dict) else ():
            if key not in carried and value not in (None, [], {}, ""):
                self.add(place, key, why)


def dumped(value: Paper, *, line: bool = False) -> str:
    """The text of a document, indented by two, or on one line."""
    return _dumped(value, None if line else 0)


def _dumped(value: Paper, depth: int | None) -> str:
    if isinstance(value, Verbatim):
        return value.text.replace("\n", " ").replace("\r", " ") if depth is None else value.text
    if isinstance(value, str) or not isinstance(value, (Mapping, Sequence)):
        plain: Any = value
        return json.dumps(plain, ensure_ascii=False)
    inward = None if depth is None else depth + 1
    if isinstance(value, Mapping):
        inner = [f"{json.dumps(key, ensure_ascii=False)}: {_dumped(one, inward)}" for key, one in value.items()]
        return _around("{}", inner, depth)
    return _around("[]", [_dumped(one, inward) for one in value], depth)


def _around(signs: str, inner: list[str], depth: int | None) -> str:
    if depth is None or not inner:
        return signs[0] + ", ".join(inner) + signs[1]
    pad = "\n" + "  " * (depth + 1)
    return signs[0] + ",".join(pad + one for one in inner) + "\n" + "  " * depth + signs[1]
