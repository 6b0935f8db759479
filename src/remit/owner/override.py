"""Putting something else in the place of what an application passes to `Remit`: for tests.

Knows only names and values. Invariant: what is overridden is so for the tasks of the block alone.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Generator
from contextvars import ContextVar
from dataclasses import dataclass, replace

from remit.gate import Runner
from remit.types.ident import CallId
from remit.types.label import Label
from remit.types.ledger import Ledger
from remit.types.model import Model
from remit.types.outcome import Outcome

__all__ = ["Labels", "Outcomes", "Overrides", "current", "override", "unlabelled"]


Outcomes = Callable[[CallId], Outcome | None]
"""What a call came to when it was recorded; None if nothing ran for it."""


Labels = Callable[[CallId], Label | None]
"""What the answer of a call did to the context when it was recorded; None where that is not known."""


def unlabelled(call: CallId) -> Label | None:
    """Nothing is known."""
    del call


@dataclass(frozen=True, slots=True)
class Overrides:
    """What replaces the application's own; None replaces nothing."""

    model: Model | None = None
    deps: object | None = None
    ledger: Ledger | None = None
    outcomes: Outcomes | None = None
    labels: Labels = unlabelled
    runner: Runner | None = None


_NOTHING = Overrides()
_current: ContextVar[Overrides] = ContextVar("remit_overrides", default=_NOTHING)


def current() -> Overrides:
    """What is overridden here and now."""
    return _current.get()


@contextlib.contextmanager
def override(
    *,
    model: Model | None = None,
    deps: object | None = None,
    ledger: Ledger | None = None,
    outcomes: Outcomes | None = None,
    labels: Labels | None = None,
    runner: Runner | None = None,
) -> Generator[None]:
    """Every `Remit` made and entered inside takes these in place of its own; blocks nest.

    Args:
        model: answers in place of every agent's model.
        deps: what handlers find in `ctx.deps`.
        ledger: where runs are kept.
        outcomes: what calls came to, in the place of every handler; none is started.
        labels: what the answers of other agents did to the context.
        runner: does what calls ask for, in the place of the handlers.
    """
    every = {"model": model, "deps": deps, "ledger": ledger, "outcomes": outcomes, "labels": labels, "runner": runner}
    given = {name: value for name, value in every.items() if value is not None}
    token = _current.set(replace(_current.get(), **given))  # type: ignore[arg-type]
    try:
        yield
    finally:
        _current.reset(token)
