"""For each rule of the fake provider: a request that breaks it, and the same one mended."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

Body = dict[str, Any]
Change = Callable[[Body], object]


def _nothing(body: Body) -> None:
    del body


@dataclass(frozen=True)
class Case:
    """`wrong` makes a good request one that breaks the rule `code`; `right` makes it a neighbour that holds.

    Args:
        words: what the provider answers.
        said: replies of the provider before the request, which it remembers, each to a request of its own.
        param: the member that OpenAI's error names.
        error: OpenAI's code for it.
    """

    code: str
    words: str
    base: Body
    wrong: Change
    right: Change = _nothing
    said: list[tuple[Body, Body]] = field(default_factory=list)
    param: str | None = None
    error: str | None = None

    def broken(self) -> Body:
        """The request that is refused."""
        return self._changed(self.wrong)

    def mended(self) -> Body:
        """The one that is taken."""
        return self._changed(self.right)

    def _changed(self, change: Change) -> Body:
        body = copy.deepcopy(self.base)
        change(body)
        return body


def put(path: str, value: Any) -> Change:
    """Set a member, by a path of keys and indexes with points between."""

    def change(body: Body) -> None:
        *way, last = [int(key) if key.lstrip("-").isdigit() else key for key in path.split(".")]
        inner: Any = body
        for key in way:
            inner = inner[key]
        inner[last] = value

    return change


def drop(path: str) -> Change:
    """Delete a member."""

    def change(body: Body) -> None:
        *way, last = [int(key) if key.lstrip("-").isdigit() else key for key in path.split(".")]
        inner: Any = body
        for key in way:
            inner = inner[key]
        del inner[last]

    return change


def add(path: str, *values: Any) -> Change:
    """Append to a list."""

    def change(body: Body) -> None:
        inner: Any = body
        for key in path.split("."):
            inner = inner[int(key) if key.lstrip("-").isdigit() else key]
        inner.extend(values)

    return change


def each(*changes: Change) -> Change:
    """One after the other."""

    def change(body: Body) -> None:
        for one in changes:
            one(body)

    return change


SCHEMA = {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"], "additionalProperties": False}
LOOSE = {"type": "object", "properties": {"a": {"type": "string"}}}
