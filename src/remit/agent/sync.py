"""Where `Agent.run_sync` finds an owner to run with.

An agent is a description and knows no owner; the owner's package puts itself here when it is loaded.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from remit.errors import RemitError
from remit.types.part import Part
from remit.types.principal import Principal
from remit.types.run import Standing

if TYPE_CHECKING:
    from remit.agent.agent import Agent

__all__ = ["install", "run_sync"]

Runner = Callable[["Agent", str | Part | Sequence[Part], Principal, object], Standing]
_runner: Runner | None = None


def install(runner: Runner) -> None:
    """Called once by the owner's package."""
    global _runner
    _runner = runner


def run_sync(agent: Agent, request: str | Part | Sequence[Part], principal: Principal, deps: object) -> Standing:
    """Run with the installed owner.

    Raises:
        RemitError: `remit.owner` was never loaded (`agent.no_owner`); `from remit import Agent` loads it.
    """
    if _runner is None:
        raise RemitError("run_sync needs an owner: take Agent from `remit`, or import remit.owner", code="agent.no_owner")
    return _runner(agent, request, principal, deps)
