"""What the gate asks of whoever owns runs: another agent's run as what answers a call.

Knows no agent and no owner. Invariant: the child's id follows from run and call, so however often a call is started it
has one child, and whoever comes second joins it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from remit.types.ident import ApprovalId, CallId
from remit.types.label import Label
from remit.types.outcome import Outcome

if TYPE_CHECKING:
    from remit.gate.scene import Plan, Scene

__all__ = ["ChildEnd", "ChildWaits", "Delegate"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ChildEnd:
    """The child has ended.

    Args:
        outcome: what its call comes to; the value of a success is not yet shortened for the model.
        label: what the outcome does to the context that reads it.
        changed: an operation of its tree succeeded.
        detail: for the operator alone.
    """

    outcome: Outcome
    label: Label
    changed: bool = False
    detail: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ChildWaits:
    """The child waits for people, about these; `expires_ms`: until then at the earliest."""

    approvals: tuple[ApprovalId, ...] = ()
    expires_ms: int | None = None


class Delegate(Protocol):
    """Runs children: `child_of(scene.run, call)` is the run that answers a call.

    Where the scene's run is cancelled meanwhile, all of them cancel the child, and return its end. A caller that is
    cancelled changes nothing for the child.
    """

    async def start(self, scene: Scene, plan: Plan) -> ChildEnd | ChildWaits:
        """Begin the child with the task in the plan's arguments, or join it where it is there; and wait until it stands
        still. Everything that made the call is durable before."""
        ...

    async def join(self, scene: Scene, call: CallId) -> ChildEnd | ChildWaits:
        """Wait until the child, which is there, stands still."""
        ...

    async def stop(self, scene: Scene, call: CallId) -> ChildEnd:
        """Cancel the child, which is there, and wait for its end."""
        ...
