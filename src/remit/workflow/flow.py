"""`Flow`: what a workflow's function is given, and all that it may do to the world.

Thin: it names steps and leaves the rest to the track. Invariant: nothing that it does happens outside a
step with a name, so that the function, called again, finds what was done.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Generic, TypeVar

from remit.agent import Agent
from remit.errors import InputError
from remit.tool import Tool
from remit.types.given import given_text, is_number
from remit.types.ident import Json, RunId
from remit.types.outcome import Refused
from remit.types.principal import Principal
from remit.workflow.approve import APPROVE, granted
from remit.workflow.step import Step, StepFailed, TakeBack, json_text
from remit.workflow.track import Track, call_of

__all__ = ["Flow"]

D = TypeVar("D")

_CHECK = "check"


class Flow(Generic[D]):
    """The steps of a workflow: `async def refund(flow: Flow[Shop], order_id: str) -> dict`.

    After a crash or a decision the function is called again from its beginning. A step that was made answers at once
    with what it came to, so between steps the function must do the same again: no time of day, no chance, nothing
    from outside but through a step.

    Attributes:
        principal: for whom it runs, with the scopes of now.
        deps: what the application gave its `Remit`.
        run: the run's id.
    """

    def __init__(self, track: Track, *, principal: Principal, deps: D, run: RunId) -> None:
        self._track = track
        self.principal = principal
        self.deps = deps
        self.run = run

    async def call(
        self,
        tool: Tool,
        arguments: Mapping[str, Json] | None = None,
        /,
        *,
        step: str | None = None,
        undo: TakeBack | None = None,
        **named: Json,
    ) -> Json:
        """Call a tool through the gate, once however often the function is called, and give its result.

        Args:
            tool: one of the workflow's `tools`.
            arguments: those whose names Python cannot write, or that are named `step` or `undo`.
            step: its name, the same each time; None: the tool's name and its number among the calls of the tool
                without a name, which must then come in the same order each time.
            undo: of a write: what takes it back if the workflow fails later. `undo(TOOL, ...)`, or a function of the
                result that returns it.
            named: the tool's arguments.

        Raises:
            StepFailed: it did not succeed; its `outcome` says how.
            InputError: what was passed cannot be used (`workflow.tool`, `workflow.step`, `workflow.arguments`,
                `workflow.undo`).
        """
        name = getattr(tool, "name", type(tool).__name__)
        known = self._track.tools.get(name)
        listed = isinstance(tool, Tool) and known is not None and known.contract == tool.contract  # pyright: ignore
        if known is None or not listed or name == APPROVE:
            raise InputError(f"tool {name!r} is not in tools= of the workflow; add it there", code="workflow.tool")
        if undo is not None and known.effect.kind not in ("write", "agent"):
            raise InputError(f"undo= of {tool.name!r}: it changes nothing, so leave it out", code="workflow.undo")
        return await self._make(tool.name, step, {**(arguments or {}), **named}, undo=undo)

    async def ask(self, agent: Agent, text: str, *, step: str | None = None, undo: TakeBack | None = None) -> Json:
        """Have an agent do what `text` says, in a run of its own below this one, and give its answer.

        Args:
            agent: one of the workflow's `agents`; with an answer type the result has that type's JSON.
            text: the whole task; the agent sees nothing else.
            step, undo: as for `call`.

        Raises:
            StepFailed: it came to no answer.
            InputError: as for `call`.
        """
        tool = next((one for one in self._track.tools if one.agent is agent), None)
        if tool is None:
            name = getattr(agent, "name", type(agent).__name__)
            message = f"agent {name!r} is not in agents= of the workflow; add it there"
            raise InputError(message, code="workflow.agent")
        return await self._make(tool.name, step, {"task": given_text(text, "the text of flow.ask")}, undo=undo)

    async def approve(
        self,
        sentence: str,
        *,
        scope: str = "remit:approve",
        two_person: bool = False,
        expires_s: float = 86_400.0,
        step: str | None = None,
    ) -> None:
        """Go on only if a person says yes to this sentence; the run waits until then.

        Args:
            sentence: all that the person is shown.
            scope: what the person must hold; several, separated by spaces, are all needed.
            two_person: whom the run is for may not say it.
            expires_s: how long the request stands.
            step: its name, as for `call`.

        Raises:
            StepFailed: a person said no (`denied`), or yes to something else (`approval.edited`), or nobody decided in time
                (`expired`).
            InputError: `workflow.approve`: no sentence, no scope, or no time.
        """
        texts = (given_text(sentence, "the sentence of flow.approve"), given_text(scope, "scope= of flow.approve"))
        if not all(text.strip() for text in texts) or not is_number(expires_s) or expires_s <= 0:
            message = "flow.approve needs a sentence, a scope and an expires_s above 0"
            raise InputError(message, code="workflow.approve")
        asked: dict[str, Json] = {
            "sentence": sentence,
            "scope": scope,
            "two_person": two_person is True,
            "expires_s": expires_s,
        }
        name = self._track.named(step, APPROVE)
        said_yes_to = await self._track.make(Step(name, call_of(name), APPROVE, json_text("flow.approve", asked)))
        if said_yes_to != granted(asked):
            message = "The approver changed the sentence or its terms."
            raise StepFailed.of(name, APPROVE, Refused(code="approval.edited", message=message))

    async def check(self, step: str, holds: Callable[..., object]) -> None:
        """Go on only if this is true of the outside world. Asked once; what it said is recorded under the step's name.

        Args:
            step: what is checked, in a word: `"booked"`.
            holds: called with the run's `Context`: true; or false, or a sentence that says what is not true. May be async.

        Raises:
            StepFailed: it is not true (`check.not`), or `holds` failed (`check.error`).
        """
        if not callable(holds):  # pyright: ignore[reportUnnecessaryComparison]
            raise InputError("flow.check takes a function of the run's context", code="workflow.check")
        name = self._track.named(step, _CHECK)
        await self._track.make(Step(name, call_of(name), _CHECK, check=holds))

    async def _make(self, tool: str, step: str | None, arguments: dict[str, Json], *, undo: TakeBack | None = None) -> Json:
        text = json_text(f"flow.call of {tool!r}", arguments)
        name = self._track.named(step, tool)
        return await self._track.make(Step(name, call_of(name), tool, text, undo))
