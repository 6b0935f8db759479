"""The steps of one call of a workflow's function, and whether it may go on.

Knows steps and who makes them; nothing of how they are recorded. Invariant: once it is halted no step
begins, and every step that began is seen to its end, whatever becomes of the function's own tasks.
"""

from __future__ import annotations

import asyncio
from collections import Counter

from remit.errors import InputError
from remit.foreign import contained
from remit.tool import Catalogue, Tool
from remit.types.given import given_id
from remit.types.ident import CallId, Json
from remit.types.outcome import Awaiting, Succeeded
from remit.workflow.step import Halt, Hand, Step, StepFailed, TakeBack, Undoing, json_text

__all__ = ["Track", "call_of", "step_of"]


class Track:
    """What one call of the function has asked for.

    Attributes:
        steps: in the order in which they began.
        waiting: what people must decide before it can go on.
        fault: why nothing can be recorded, or that another step was made under the name `other`.
        halted: set once no step may begin any more.
    """

    def __init__(self, tools: Catalogue, hand: Hand) -> None:
        self.tools = tools
        self.steps: list[Step] = []
        self.waiting: list[Awaiting] = []
        self.fault: Exception | None = None
        self.other = ""
        self._hand = hand
        self._names: set[str] = set()
        self._counts: Counter[str] = Counter()
        self._running: dict[asyncio.Task[None], Step] = {}
        self._loop = asyncio.get_running_loop()
        self.halted = asyncio.Event()

    def halt(self) -> None:
        """Let no step begin any more."""
        self.halted.set()

    def named(self, step: str | None, kind: str) -> str:
        """The step's name: as given, else the kind and its number among those of the kind without a name.

        Raises:
            InputError: `workflow.step`: it has been used, is empty or cannot be stored, or is begun in another thread.
        """
        self._go_on()
        if asyncio.get_running_loop() is not self._loop:
            raise InputError("a step is made on the function's own event loop, not in a thread", code="workflow.step")
        if step is None:
            self._counts[kind] += 1
            step = f"{kind}#{self._counts[kind]}"
        elif not _is_name(step):
            message = f"step={step!r}: a name of your own is text that can be stored, not empty, and has no '#'"
            raise InputError(message, code="workflow.step")
        if step in self._names:
            raise InputError(f"step={step!r} is used twice; give each step a name of its own", code="workflow.step")
        self._names.add(step)
        return step

    async def make(self, step: Step) -> Json:
        """Make a step, and give its result.

        Raises:
            StepFailed: it has none.
            InputError: `workflow.undo`: what is to take it back cannot.
            Halt: the function does not go on.
        """
        self._go_on()
        if step.undo is not None and not callable(step.undo):
            self._check(step, step.undo)
        self.steps.append(step)
        task = asyncio.ensure_future(self._make(step))
        self._running[task] = step
        task.add_done_callback(self._running.pop)
        await asyncio.shield(task)
        step.heard = True
        self._go_on()
        if step.fault is not None:
            raise step.fault
        outcome = step.outcome
        assert outcome is not None
        if isinstance(outcome, Succeeded) and outcome.available and not outcome.incomplete:
            return outcome.value
        raise StepFailed.of(step.name, step.tool, outcome)

    async def settle(self) -> None:
        """Return once no step is under way."""
        self.halt()
        while self._running:
            await asyncio.wait(set(self._running))

    async def leave(self, *, only_reads: bool = False) -> None:
        """Interrupt what is under way; of reads alone, nothing has happened then."""
        self.halt()
        for task, step in list(self._running.items()):
            tool = self.tools.get(step.tool)
            if not only_reads or tool is None or tool.effect.kind == "read":
                task.cancel()
        await asyncio.gather(*([] if only_reads else list(self._running)), return_exceptions=True)

    def _go_on(self) -> None:
        if self.halted.is_set():
            raise Halt

    async def _make(self, step: Step) -> None:
        """Never raises, but for its own cancellation: nobody may be there any more to hear of it."""
        try:
            found = await self._hand.make(step)
        except Exception as error:  # the run cannot go on, and the function must not be able to hide that
            if self.fault is None:
                self.fault, self.other = error, step.name
            self.halt()
            return
        if isinstance(found, Awaiting):
            self.waiting.append(found)
            self.halt()
            return
        step.outcome = found
        if step.undo is not None and isinstance(found, Succeeded) and not found.repeat and not found.incomplete:
            try:
                step.back = self._back(step, step.undo, found)
            except InputError as error:
                step.fault = error

    def _back(self, step: Step, undo: TakeBack, done: Succeeded) -> Undoing:
        if not isinstance(undo, Undoing):
            try:
                with contained():
                    undo = undo(done.value)
            except Exception as error:  # the application's own function
                message = f"undo= of step {step.name!r} raised {type(error).__name__}"
                raise InputError(message, code="workflow.undo") from error
        self._check(step, undo)
        return undo

    def _check(self, step: Step, undo: Undoing) -> None:
        """Whether it is a write of this workflow, with arguments that fit."""
        place = f"undo= of step {step.name!r}"
        if not isinstance(undo, Undoing) or not isinstance(undo.tool, Tool):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise InputError(f"{place}: give undo(TOOL, ...), or a function that returns it", code="workflow.undo")
        known = self.tools.get(undo.tool.name)
        if known is None or known.contract != undo.tool.contract or known.effect.kind != "write":
            raise InputError(f"{place}: {undo.tool.name!r} is no write in the workflow's tools=", code="workflow.undo")
        faults = known.check(json_text(place, undo.arguments))
        if isinstance(faults, list):
            places = ", ".join(fault.path or "/" for fault in faults)
            raise InputError(f"{place}: its arguments do not fit {known.name!r} at {places}", code="workflow.undo")


def _is_name(step: str) -> bool:
    try:
        return "#" not in given_id(step, "step=", "give it a name")
    except InputError:
        return False


def call_of(step: str) -> CallId:
    """The call that a step is."""
    return CallId(f"step:{step}")


def step_of(call: CallId) -> str:
    """The step that a call is."""
    return call.partition(":")[2]
