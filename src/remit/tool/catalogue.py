"""The tools that an agent has: unique names, exact look-up, and what a misspelt name may have meant.

Knows no run. Invariant: nothing is found that was not listed.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator

from remit.canonical import digest, encode
from remit.errors import DefinitionError
from remit.tool.contract import Tool
from remit.types.ident import Digest

__all__ = ["Catalogue"]


class Catalogue:
    """Tools by name.

    Args:
        stable_calls: whether the loop gives each logical call the same identity again after a crash; without it
            `once_per=CALL` means nothing and is refused.

    Raises:
        DefinitionError: what is listed is not a tool, two have one name, or one is once per `CALL` without stable calls.
    """

    def __init__(self, tools: Iterable[Tool] = (), *, stable_calls: bool = True) -> None:
        self._tools: dict[str, Tool] = {}
        for one in tools:
            if not isinstance(one, Tool):  # pyright: ignore[reportUnnecessaryIsInstance]
                problem = f"{getattr(one, '__name__', type(one).__name__)!r} is not a tool; put @tool(effect=...) above it"
                raise DefinitionError(problem, code="definition.tool")
            if one.name in self._tools:
                raise DefinitionError(f"two tools are named {one.name!r}", code="definition.name", tool=one.name)
            if not stable_calls and one.effect_kind == "write" and one.operation_scope == "call":
                problem = f"tool {one.name!r} is once per CALL, which needs a loop that gives calls a stable identity"
                raise DefinitionError(problem, code="definition.once_per", tool=one.name)
            self._tools[one.name] = one
        self.digest: Digest = digest(
            "remit.catalogue", encode([[one.name, one.contract, one.declaration.description] for one in self._tools.values()])
        )

    @property
    def tools(self) -> tuple[Tool, ...]:
        """All of them, in the order they were listed."""
        return tuple(self._tools.values())

    def get(self, name: str) -> Tool | None:
        """The tool of exactly this name."""
        return self._tools.get(name)

    def near(self, name: str) -> tuple[str, ...]:
        """Up to three names that this one may have meant, the nearest first."""
        lower: dict[str, str] = {}
        for one in self._tools:
            lower.setdefault(one.lower(), one)
        found = difflib.get_close_matches(name[:128].lower(), lower, n=3, cutoff=0.6)
        return tuple(lower[one] for one in found)

    def __iter__(self) -> Iterator[Tool]:
        return iter(self._tools.values())

    def __len__(self) -> int:
        return len(self._tools)
