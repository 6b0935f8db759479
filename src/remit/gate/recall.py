"""A replay, in the place of the handlers: the outcome that was recorded for a call is how it ends now.

Knows outcomes; runs nothing. Invariant: where a gate has it, no handler and no recovery of it ever starts.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from remit.gate.attempt import note
from remit.gate.code import fail
from remit.gate.delegate import ChildEnd, ChildWaits
from remit.gate.desk import Desk
from remit.gate.note import Moved, moved
from remit.gate.runner import Ran, Tried
from remit.gate.scene import Plan, Scene
from remit.label import missing
from remit.tool import Tool
from remit.types.ident import CallId
from remit.types.label import Label
from remit.types.operation import Operation
from remit.types.outcome import Failed, NotRun, Outcome, Succeeded, Unknown

__all__ = ["Recalled"]


class Recalled:
    """What handlers came to then; `Failed(not_recorded)` where none had run.

    Args:
        outcomes: what a call came to when it was recorded; None if nothing ran for it.
        labels: what its answer did to the context; of the answers of other agents it is not known otherwise.
    """

    def __init__(
        self, outcomes: Callable[[CallId], Outcome | None], labels: Callable[[CallId], Label | None] = lambda _: None
    ) -> None:
        self._outcomes = outcomes
        self._labels = labels

    @property
    def recovers(self) -> bool:
        """What was not known then is not asked after."""
        return False

    def instead(self, plan: Plan) -> NotRun | None:
        """Every plan ends as it ended then."""
        del plan

    async def absent(self, tool: Tool) -> str | None:
        """Nothing is started, so that nothing is missing."""
        del tool

    async def read(self, desk: Desk, plan: Plan, scene: Scene) -> Ran:
        """End the read as it ended then."""
        del desk, scene
        return Ran(self._outcome(plan.call))

    async def write(self, desk: Desk, scene: Scene, operation: Operation, tool: Tool, *, clean: bool) -> Tried:
        """End the attempt as the call ended then; what was unknown then is not asked after."""
        del desk, tool, clean
        outcome = replace(self._outcome(operation.call), operation=operation.id)
        return Tried(note(scene, operation, _moved(operation, outcome)), outcome)

    async def child(self, desk: Desk, plan: Plan, scene: Scene) -> ChildEnd | ChildWaits:
        """No other agent runs: it ends as it ended then, or waits as it did."""
        del desk
        if self._outcomes(plan.call) is None:
            return ChildWaits()
        label = self._labels(plan.call) or missing(scene.principal.subject, plan.tool.name).join(plan.proposal.label)
        return ChildEnd(outcome=self._outcome(plan.call), label=label)

    def told(self, plan: Plan, outcome: Outcome) -> Outcome:
        """It was recorded as it was told."""
        del plan
        return outcome

    def _outcome(self, call: CallId) -> Succeeded | Failed | Unknown:
        outcome = self._outcomes(call)
        return outcome if isinstance(outcome, Succeeded | Failed | Unknown) else fail("not_recorded")


def _moved(operation: Operation, outcome: Succeeded | Failed | Unknown) -> Moved:
    match outcome:
        case Succeeded():
            return moved(operation, "returned", outcome=replace(outcome, repeat=False), by="handler")
        case Failed():
            return moved(operation, "no_effect", outcome=outcome, by="handler")
        case Unknown():
            return moved(operation, "in_doubt", evidence="it was not known then")
