"""One step of a workflow: what is asked for, what became of it, and what takes it back.

Knows outcomes; no gate and no ledger. Invariant: a step has one outcome, and what would take it back is
known before anybody goes on from it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol, cast

from remit.errors import InputError, RemitError
from remit.tool import Tool
from remit.types.ident import CallId, Json
from remit.types.outcome import Awaiting, Outcome, Succeeded

__all__ = ["Halt", "Hand", "Step", "StepFailed", "TakeBack", "Undoing", "json_text", "undo"]


class Halt(BaseException):
    """The function is left here: somebody must decide first, or the run ends. Not to be caught; it comes again."""


class StepFailed(RemitError):
    """A step did not succeed. Uncaught, it ends the workflow, and what was done is taken back.

    Attributes:
        step, tool: which; `code` is the outcome's.
        outcome: `Refused`, `Failed`, `Unknown`, `NotRun`; or a `Succeeded` that has no result to go on with.
    """

    code = "step.failed"

    @property
    def step(self) -> str:
        """The step's name."""
        return str(self.details["step"])

    @property
    def tool(self) -> str:
        """The tool's name."""
        return str(self.details["tool"])

    @property
    def outcome(self) -> Outcome:
        """How it ended."""
        return cast("Outcome", self.details["outcome"])

    @classmethod
    def of(cls, step: str, tool: str, outcome: Outcome) -> StepFailed:
        """The error for a step that ended so."""
        code = outcome.code if not isinstance(outcome, Succeeded) else _no_result(outcome)
        message = f"step {step!r} ({tool}) is {outcome.kind.replace('_', ' ')}: {code}"
        return cls(message, code=code, step=step, tool=tool, outcome=outcome)


def _no_result(outcome: Succeeded) -> str:
    return "step.incomplete" if outcome.incomplete else "step.no_result"


@dataclass(frozen=True, slots=True)
class Undoing:
    """A governed write that takes a step back: a tool of the workflow, and its arguments. Made by `undo(...)`."""

    tool: Tool
    arguments: Mapping[str, Json]


def undo(tool: Tool, arguments: Mapping[str, Json] | None = None, /, **named: Json) -> Undoing:
    """What takes a step back: `undo=undo(cancel_booking, booking="b1")`, or a function of the step's result that returns it.

    Args:
        tool: one of the workflow's own.
        arguments: those whose names Python cannot write, or all of them.
        named: its arguments.
    """
    return Undoing(tool, {**(arguments or {}), **named})


TakeBack = Undoing | Callable[[Json], Undoing]
"""What takes a step back, or a function of its result that says it."""


@dataclass(slots=True)
class Step:
    """A step under way.

    Args:
        text: its arguments as JSON text.
        undo: what the application declared.
        check: of a step that asks the application itself; None is a call of `tool`.
        back: what takes it back, once it is done.
        fault: what was wrong with `undo`, found when the step was done.
        heard: whether the function was told how it ended.
    """

    name: str
    call: CallId
    tool: str
    text: str = "{}"
    undo: TakeBack | None = None
    check: Callable[..., object] | None = None
    outcome: Outcome | None = None
    back: Undoing | None = None
    fault: Exception | None = None
    heard: bool = False


class Hand(Protocol):
    """Makes the steps of one run, each once however often it is asked for."""

    async def make(self, step: Step) -> Outcome | Awaiting:
        """The step's outcome, durable; or what it waits for.

        Raises:
            Conflict: `call.changed`: under this name another step was made.
            RemitError: it could not be recorded; nothing goes on.
        """
        ...


def json_text(place: str, arguments: Mapping[str, object]) -> str:
    """The arguments as JSON text.

    Raises:
        InputError: `workflow.arguments`: they are no plain JSON values.
    """
    try:
        return json.dumps(arguments, ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        message = f"{place}: arguments are plain JSON values ({type(error).__name__})"
        raise InputError(message, code="workflow.arguments") from None
