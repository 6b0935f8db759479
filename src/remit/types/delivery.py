"""What others may tell a run: deliveries wait in its inbox until its owner journals them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from remit.types.ident import ApprovalId, CallId, OperationId, RunId
from remit.types.outcome import Outcome

__all__ = [
    "CancelRun",
    "ChildEnded",
    "Decision",
    "Delivered",
    "Delivery",
    "LateReport",
    "OwnerGone",
    "Settlement",
    "Withdrawal",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """A person's answer to an approval or question. `edited` and `answer` are canonical JSON text."""

    approval: ApprovalId
    verdict: Literal["approved", "denied", "answered", "expired"]
    by: str
    reason: str = ""
    edited: str | None = None
    answer: str | None = None
    kind: Literal["decision"] = "decision"


@dataclass(frozen=True, slots=True, kw_only=True)
class CancelRun:
    """Stop the run."""

    by: str
    reason: str = ""
    kind: Literal["cancel"] = "cancel"


@dataclass(frozen=True, slots=True, kw_only=True)
class Withdrawal:
    """Do not start this operation; nothing if it has started."""

    operation: OperationId
    by: str
    reason: str = ""
    kind: Literal["withdrawal"] = "withdrawal"


@dataclass(frozen=True, slots=True, kw_only=True)
class Settlement:
    """A person says what became of an unknown operation. `result` is JSON text.

    Args:
        attempt: the last that the person knows of. A no says nothing about a later one.
    """

    operation: OperationId
    attempt: int
    happened: bool
    by: str
    reason: str
    result: str | None = None
    kind: Literal["settlement"] = "settlement"


@dataclass(frozen=True, slots=True, kw_only=True)
class LateReport:
    """An attempt ended after it had been given up, or its owner lost the run.

    `evidence` is what it did outside, in lines for the operator.
    """

    operation: OperationId
    attempt: int
    outcome: Outcome
    evidence: str | None = None
    kind: Literal["late"] = "late"


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnerGone:
    """Somebody else found the process dead that had dispatched this operation."""

    operation: OperationId
    attempt: int
    kind: Literal["owner_gone"] = "owner_gone"


@dataclass(frozen=True, slots=True, kw_only=True)
class ChildEnded:
    """The run that answers a call of this one has ended."""

    call: CallId
    child: RunId
    kind: Literal["child_ended"] = "child_ended"


Delivery = Decision | CancelRun | Withdrawal | Settlement | LateReport | OwnerGone | ChildEnded


@dataclass(frozen=True, slots=True)
class Delivered:
    """A delivery in a run's inbox; `id` grows, and is named when the owner journals it."""

    id: int
    run: RunId
    delivery: Delivery
