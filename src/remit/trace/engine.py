"""RE2, as far as masking needs it: patterns over UTF-8 whose time is linear in the text.

It knows no pattern. Invariant: the engine is loaded by the first pattern, not by an import.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol, cast

__all__ = ["Match", "Pattern", "compiled", "escaped"]

_AUTOMATON_BYTES = 64 << 20
"""Room for its states, so that a long text never falls back to the slower matcher."""


class Match(Protocol):
    """One match."""

    def span(self, group: int = 0) -> tuple[int, int]: ...


class Pattern(Protocol):
    """A compiled pattern."""

    @property
    def groups(self) -> int: ...

    def search(self, text: bytes) -> Match | None: ...

    def finditer(self, text: bytes) -> Iterable[Match]: ...


class _Options(Protocol):
    max_mem: int
    log_errors: bool


class _Engine(Protocol):
    def Options(self) -> _Options: ...  # noqa: N802  # its own name

    def compile(self, pattern: bytes, options: _Options) -> Pattern: ...

    def escape(self, pattern: str) -> str: ...


def compiled(pattern: str) -> Pattern:
    """The pattern, ready to be used."""
    engine = _engine()
    options = engine.Options()
    options.max_mem = _AUTOMATON_BYTES
    options.log_errors = False
    return engine.compile(pattern.encode(), options)


def escaped(text: str) -> str:
    """A pattern of this text alone."""
    return _engine().escape(text)


def _engine() -> _Engine:
    import re2  # pyright: ignore[reportMissingTypeStubs]  # late: most processes that import this never redact

    return cast(_Engine, re2)
