"""Taking back what a workflow did: which steps, in which order, and what remains.

Knows held runs and outcomes; not the function. Invariant: what is to be taken back is durable before the first undo,
each is one call of the gate, and whatever remains is named.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from remit.gate import Held
from remit.owner.failure import Failure, said
from remit.types.budget import Budget
from remit.types.event import CallEnded, RunEnded, UndoBegun
from remit.types.ident import CallId
from remit.types.label import Label
from remit.types.operation import OperationState
from remit.types.outcome import Awaiting, Succeeded, Unknown
from remit.types.tree import Undo
from remit.workflow.step import Step, json_text
from remit.workflow.track import step_of

__all__ = ["Back"]

_UNBOUND = Budget(turns=None, calls=None, consecutive_errors=None, repeats=None, approvals=None)
"""There are no more undos than steps, and a limit that is reached is no reason to leave one out."""


class Back:
    """What one run has done, and takes back.

    Args:
        label: of all that the function has read.
    """

    def __init__(self, held: Held, label: Callable[[], Label]) -> None:
        self._held = held
        self._label = label

    async def begun(self, failure: Failure, steps: Sequence[Step]) -> UndoBegun:
        """What is to be taken back after this failure, the last one first.

        Args:
            steps: those that the function asked for, with what takes each back.
        """
        back = {step.call: step.back for step in steps if step.back is not None}
        undos: list[Undo] = []
        stuck: list[CallId] = []
        for call in reversed(list(self._changed())):
            undoing = back.get(call)
            if undoing is None or not self._as_asked(call) or await self._held.unsure_below(call):
                stuck.append(call)
            else:
                undo = CallId(f"undo:{step_of(call)}")
                undos.append(Undo(step=call, call=undo, tool=undoing.tool.name, arguments=json_text(undo, undoing.arguments)))
        return UndoBegun(
            reason=failure.reason, message=failure.message, step=failure.step, undos=tuple(undos), stuck=tuple(stuck)
        )

    async def take_back(self) -> Awaiting | None:
        """Make the undos one after the other; what one of them waits for, or None once each has its answer."""
        begun = self._held.view.undoing
        assert begun is not None
        await self._held.stop(but={undo.call for undo in begun.undos})
        for undo in begun.undos:
            found = await self._held.call(undo.call, undo.tool, undo.arguments, label=self._label(), budget=_UNBOUND)
            if isinstance(found, Awaiting):
                return found
        return None

    async def end(self, begun: UndoBegun | None = None) -> RunEnded:
        """How a workflow ends that failed."""
        begun = begun or self._held.view.undoing
        assert begun is not None
        taken, remains = self._remains(begun)
        parts = [begun.message]
        parts += [f"taken back: {', '.join(taken)}"] if taken else []
        parts += [f"not taken back: {'; '.join(remains)}"] if remains else []
        clean = not remains and begun.reason.startswith("budget.")
        return RunEnded(
            how="stopped" if clean else "escalated",
            reason=begun.reason,
            open_operations=await self._held.unsure(),
            explanation=". ".join(parts),
        )

    async def cancelled(self) -> RunEnded:
        """How a workflow ends that was cancelled: nothing new starts, undos included, and what is done is named."""
        await self._held.stop()
        unsure = await self._held.unsure()
        return RunEnded(how="cancelled", reason="cancelled", open_operations=unsure, explanation=self._done())

    def _done(self) -> str | None:
        """What is done and was not taken back, for people; None if nothing is."""
        begun = self._held.view.undoing
        if begun is not None:
            _, remains = self._remains(begun)
        else:
            remains = [self._named(call, "done" if self._is_done(call) else "may have happened") for call in self._changed()]
        return f"not taken back: {'; '.join(remains)}" if remains else None

    def _remains(self, begun: UndoBegun) -> tuple[list[str], list[str]]:
        """The steps that were taken back, and what remains of the others."""
        taken: list[str] = []
        remains: list[str] = []
        for undo in begun.undos:
            why = self._not_taken(undo, begun)
            if why is None:
                taken.append(step_of(undo.step))
            else:
                remains.append(self._named(undo.step, why))
        stuck = [call for call in begun.stuck if self.may_have_changed(call)]  # by now somebody may have looked
        return taken, remains + [self._named(call, self._what(call)) for call in stuck]

    def _not_taken(self, undo: Undo, begun: UndoBegun) -> str | None:
        """Why an undo did not take its step back; None if it did."""
        view = self._held.view
        ended = view.answers.get(undo.call)
        if ended is None:
            return "its undo was not made"
        outcome = ended.outcome
        if not isinstance(outcome, Succeeded):
            return f"its undo {undo.tool} {said(outcome)}"
        if undo.call in view.edited:
            return f"its undo {undo.tool} was made with an approver's arguments"
        made = {
            view.answers[one.call].operation
            for one in begun.undos
            if one.call in view.answers and view.answers[one.call].changed
        }
        if outcome.repeat and outcome.operation not in made:
            return f"its undo {undo.tool} had been made before, and was not made again"
        return None

    def _changed(self) -> Iterator[CallId]:
        """The steps that changed something, or may have, in the order in which they ended."""
        for call in self._held.view.answers:
            if call.startswith("step:") and self.may_have_changed(call):
                yield call

    def may_have_changed(self, call: CallId) -> bool:
        """Whether a step did something in this run, or may have, by what is known now."""
        ended = self._held.view.answers.get(call)
        if ended is None:
            return False
        if isinstance(ended.outcome, Succeeded):
            return ended.changed is True
        state = self._state(ended)
        return state in ("dispatched", "succeeded") or (isinstance(ended.outcome, Unknown) and state != "failed")

    def _state(self, ended: CallEnded) -> OperationState | None:
        return None if ended.operation is None else self._held.view.operations.get(ended.operation)

    def _is_done(self, call: CallId) -> bool:
        ended = self._held.view.answers[call]
        return isinstance(ended.outcome, Succeeded) or self._state(ended) == "succeeded"

    def _as_asked(self, call: CallId) -> bool:
        """Whether a step did what it was asked for, and nothing else."""
        view = self._held.view
        return isinstance(view.answers[call].outcome, Succeeded) and call not in view.edited

    def _what(self, call: CallId) -> str:
        if call in self._held.view.edited:
            return "done with an approver's arguments, and nothing takes that back"
        return "done, and nothing takes it back" if self._is_done(call) else said(self._held.view.answers[call].outcome)

    def _named(self, call: CallId, why: str) -> str:
        operation = self._held.view.answers[call].operation
        return f"step {step_of(call)!r}{f' ({operation})' if operation is not None else ''}: {why}"
