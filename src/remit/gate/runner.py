"""What does what a call asks for, once it may: the tools' handlers, or something in their place.

Knows no step. Invariant: a gate has one runner, and whatever a call comes to, comes from it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from remit.types.change import Change
from remit.types.operation import Operation
from remit.types.outcome import NotRun, Outcome

if TYPE_CHECKING:
    from remit.gate.delegate import ChildEnd, ChildWaits
    from remit.gate.desk import Desk
    from remit.gate.scene import Plan, Scene
    from remit.tool import Tool

__all__ = ["Ran", "Runner", "Tried"]


@dataclass(frozen=True, slots=True)
class Ran:
    """What a read came to. `changes` are committed with it, `detail` is for the operator."""

    outcome: Outcome
    changes: tuple[Change, ...] = ()
    detail: str | None = None


@dataclass(frozen=True, slots=True)
class Tried:
    """What one attempt of a write came to: a known outcome, or None (in doubt); where the operation stands now."""

    operation: Operation
    outcome: Outcome | None
    detail: str | None = None


class Runner(Protocol):
    """`read` and `write` are called with the call's slot held; what they note goes into the scene's journal."""

    @property
    def recovers(self) -> bool:
        """Whether what is in doubt may be sent again, or asked after."""
        ...

    def instead(self, plan: Plan) -> NotRun | None:
        """What to answer instead of starting what a plan asks for."""
        ...

    async def absent(self, tool: Tool) -> str | None:
        """Why the tool's handler cannot be started here, for the operator; None if it can."""
        ...

    async def read(self, desk: Desk, plan: Plan, scene: Scene) -> Ran:
        """Do what a call asks for that changes nothing."""
        ...

    async def write(self, desk: Desk, scene: Scene, operation: Operation, tool: Tool, *, clean: bool) -> Tried:
        """Make one attempt of a dispatched operation, and note how it moved.

        Args:
            clean: no earlier attempt can have had an effect, so that what this one did not do did not happen.
        """
        ...

    async def child(self, desk: Desk, plan: Plan, scene: Scene) -> ChildEnd | ChildWaits:
        """Have another agent answer the call."""
        ...

    def told(self, plan: Plan, outcome: Outcome) -> Outcome:
        """The outcome as the call's answer."""
        ...
