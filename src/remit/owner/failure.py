"""Why a workflow did not come to its end: a stable code, and a sentence for people.

Pure. Invariant: no sentence here holds a tool's arguments or results; what an outcome says itself is without secrets.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import cast

from remit.errors import RemitError
from remit.foreign import origin
from remit.gate.host.hold import HeldView
from remit.types.ident import CallId
from remit.types.outcome import Outcome, Succeeded, Unknown
from remit.workflow import StepFailed
from remit.workflow.track import call_of, step_of

__all__ = ["Failure", "changed", "failure_of", "invalid_answer", "said", "unanswered", "unheard"]


@dataclass(frozen=True, slots=True)
class Failure:
    """A code, a sentence, and the step that failed, where one did."""

    reason: str
    message: str
    step: CallId | None = None


def failure_of(error: Exception) -> Failure:
    """What the function raised: the first step that failed in it, else its own error."""
    error = next(_steps(error), error)
    if isinstance(error, StepFailed):
        return Failure(error.code, f"step {error.step!r} {said(error.outcome)}", call_of(error.step))
    if isinstance(error, RemitError):
        return Failure(error.code, error.message)
    return Failure("workflow.error", f"the function raised {type(origin(error)).__name__}")


def _steps(error: BaseException) -> Iterator[StepFailed]:
    """The failed steps in an error: itself, or those in its group."""
    if isinstance(error, StepFailed):
        yield error
        return
    error = origin(error)
    if isinstance(error, BaseExceptionGroup):
        for one in cast("BaseExceptionGroup[BaseException]", error).exceptions:
            yield from _steps(one)


def said(outcome: Outcome) -> str:
    """How a step ended, for people."""
    if isinstance(outcome, Succeeded):
        return "ended early" if outcome.incomplete else "is done, and its result could not be kept"
    if isinstance(outcome, Unknown):
        return f"may have happened ({outcome.code})"
    words = {"refused": "was refused", "failed": "failed", "not_run": "did not start"}
    return f"{words[outcome.kind]} ({outcome.code}): {outcome.message.rstrip('.')}"


def changed(what: str) -> Failure:
    """The function is not the one that began the run."""
    return Failure("workflow.changed", f"the workflow has changed since this run began: {what}")


def invalid_answer() -> Failure:
    """What the function returned is no JSON."""
    return Failure("workflow.answer", "the function returned bytes, which JSON has no form for")


def unheard(step: str) -> Failure:
    """The function returned without what it did: it did not wait for the step, or gave it up."""
    return Failure("workflow.unheard", f"the function did not wait for the end of step {step!r}")


def unanswered(view: HeldView, made: Collection[CallId]) -> str | None:
    """A step that was begun and that the function does not ask for, if there is one."""
    return next((step_of(call) for call in view.calls if call not in made), None)
