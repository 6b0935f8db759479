"""The steps of a workflow's run, made: calls through the gate, checks of the application itself.

Knows a held run. Invariant: a step that was made is never made again, and what it was is compared first.
"""

from __future__ import annotations

import asyncio
import inspect

from remit import ambient
from remit.errors import Conflict
from remit.foreign import contained
from remit.gate import Held
from remit.owner.state import BoundFlow, State
from remit.tool import Context
from remit.types.label import TRUSTED, Label
from remit.types.outcome import Awaiting, Failed, Outcome, Refused, Succeeded
from remit.workflow.step import Step

__all__ = ["FlowHand"]

_CHECK_S = 30.0
"""How long a check may take."""


class FlowHand:
    """Makes the steps of one run that is held here; the `Hand` of its tracks."""

    def __init__(self, state: State, bound: BoundFlow, held: Held) -> None:
        self._state = state
        self._bound = bound
        self._held = held

    async def make(self, step: Step) -> Outcome | Awaiting:
        """One step of the function, made once however often it is asked for.

        Raises:
            Conflict: `call.changed`: another step was made under its name.
        """
        budget = self._bound.workflow.budget
        over = None if step.call in self._held.view.calls else self._held.over(budget)
        if over is not None:
            return Refused(code=over, message="The limit of this run is reached.")
        if step.check is not None:
            return await self._check(step)
        return await self._held.call(step.call, step.tool, step.text, label=self.label(), budget=budget)

    def label(self) -> Label:
        """Of all that the function may have read: what untrusted text chose is not told apart from what the code did."""
        label = TRUSTED
        for ended in self._held.view.answers.values():
            label = label.join(ended.label)
        return label

    async def _check(self, step: Step) -> Outcome:
        known = self._held.view.calls.get(step.call)
        if known is not None:
            if known.tool != step.tool or known.outcome is None:
                raise Conflict("another step was made under this name", code="call.changed")
            return known.outcome
        outcome, detail = await self._asked(step)
        ambient.reach("check.asked")
        await self._held.answer(step.call, step.tool, outcome, label=self.label(), detail=detail)
        return outcome

    async def _asked(self, step: Step) -> tuple[Outcome, str | None]:
        assert step.check is not None
        context: Context[object] = Context(
            principal=self._held.principal, deps=self._state.deps, run=self._held.run, call=step.call, web=self._state.web
        )
        try:
            async with asyncio.timeout(_CHECK_S):
                with contained(awaiting=True):
                    said = step.check(context)
                    said = await said if inspect.isawaitable(said) else said
        except Exception as error:  # the application's own function
            message = f"The check could not be made ({type(error).__name__})."
            return Failed(code="check.error", message=message), self._bound.gate.describe(error)
        if said is True:
            return Succeeded(value=True), None
        message = self._bound.gate.redact(said) if isinstance(said, str) and said else "It is not true."
        return Failed(code="check.not", message=message), None
