"""What a run asks its driver to do. Data only; the driver does it and records what came of it.

Knows nothing of how. Invariant: for every command there is an event that says it was done, so a
command that was lost with its process is given again by the fold.
"""

from __future__ import annotations

from dataclasses import dataclass

from remit.loop.state import How
from remit.types.ident import ApprovalId, CallId, OperationId

__all__ = [
    "AppendResults",
    "Ask",
    "Cancel",
    "CheckAnswer",
    "Command",
    "Consider",
    "Correct",
    "Deny",
    "End",
    "HoldBack",
    "Pause",
    "Reconsider",
    "Recover",
    "Rejoin",
    "Start",
    "Tell",
]


@dataclass(frozen=True, slots=True)
class Ask:
    """Ask this model: `ModelRequested`, then `Replied` or `RequestFailed`.

    Args:
        wait_s: how long to wait first; it may be shortened at random.
        least_s: how long the provider demands to wait.
    """

    turn: int
    attempt: int
    model: str
    wait_s: float = 0.0
    least_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Consider:
    """Put a proposal to the gate: `CallConsidered`."""

    call: CallId


@dataclass(frozen=True, slots=True)
class Reconsider:
    """A person decided: put the call to the gate again."""

    call: CallId
    approval: ApprovalId


@dataclass(frozen=True, slots=True)
class Start:
    """Execute a ready call: `CallEnded`."""

    call: CallId


@dataclass(frozen=True, slots=True)
class Recover:
    """Settle what an owner that is gone left in doubt: `CallEnded`."""

    call: CallId
    operation: OperationId


@dataclass(frozen=True, slots=True)
class Rejoin:
    """Answer a call from the run that answers it, once that stands still: `CallEnded` or `ChildWaiting`.

    Args:
        stop: cancel that run first: this one ends.
    """

    call: CallId
    stop: bool = False


@dataclass(frozen=True, slots=True)
class HoldBack:
    """Answer a ready call `NotRun(code)`: another call of its turn keeps it from starting."""

    call: CallId
    code: str


@dataclass(frozen=True, slots=True)
class Deny:
    """Answer a call with the code, without the gate: the reply did not stop to call tools, or it was lost too often."""

    call: CallId
    code: str


@dataclass(frozen=True, slots=True)
class Cancel:
    """Answer a call that has not started `NotRun(cancelled)`."""

    call: CallId


@dataclass(frozen=True, slots=True)
class AppendResults:
    """Write the answers of the turn to the transcript: `ResultsAppended`."""

    turn: int
    receipts: tuple[CallId, ...]


@dataclass(frozen=True, slots=True)
class Tell:
    """A call that the model knows only as submitted has its outcome: the conversation's next request carries it."""

    call: CallId


@dataclass(frozen=True, slots=True)
class CheckAnswer:
    """The model stopped: `AnswerChecked`."""

    turn: int


@dataclass(frozen=True, slots=True)
class Correct:
    """Tell the model what is not yet true: `MessageAppended`."""

    message: str


@dataclass(frozen=True, slots=True)
class Pause:
    """Only people can move the run: `Waiting`, and ownership is released."""

    approvals: tuple[ApprovalId, ...]
    text: str


@dataclass(frozen=True, slots=True)
class End:
    """`RunEnded`."""

    how: How
    reason: str
    explanation: str | None = None


Command = (
    Ask
    | Consider
    | Reconsider
    | Start
    | Recover
    | Rejoin
    | HoldBack
    | Deny
    | Cancel
    | AppendResults
    | Tell
    | CheckAnswer
    | Correct
    | Pause
    | End
)
