"""The gate's own entries in a journal: what was considered, how an operation moved, how a call ended.

Knows no step. Invariant: an `OperationMoved` and the change of its row are made together, from the
table of effects, and never apart.
"""

from __future__ import annotations

from dataclasses import dataclass

from remit import ambient
from remit.gate.scene import Proposal, Scene
from remit.types.change import Change, MoveOperation
from remit.types.codec import encode_outcome
from remit.types.event import CallEnded, OperationMoved
from remit.types.ident import ApprovalId, CallId, OperationId, OwnerId
from remit.types.label import TRUSTED, Label
from remit.types.operation import Move, Operation, move, settler
from remit.types.outcome import Outcome, Succeeded, Unknown

__all__ = ["Moved", "end", "moved"]


@dataclass(frozen=True, slots=True)
class Moved:
    """A row of the table of effects, taken: the event and the change that goes with it."""

    event: OperationMoved
    change: MoveOperation


def moved(
    operation: Operation,
    on: Move,
    *,
    call: CallId | None = None,
    to_attempt: int | None = None,
    owner: OwnerId | None = None,
    not_after_ms: int | None = None,
    approval: ApprovalId | None = None,
    outcome: Outcome | None = None,
    by: str | None = None,
    evidence: str | None = None,
) -> Moved:
    """Take the row `on` from where `operation` stands; `Conflict` if the table has none.

    For `call`, else the one it was made for. `by`: `handler`, `reconciler`, `late`, `time`, or a person's subject.
    """
    state, closed = move(operation.state, on)
    event = OperationMoved(
        operation=operation.id,
        call=call or operation.call,
        on=on,
        state=state,
        closed=closed or (operation.closed if state == "closed" else None),
        attempt=operation.attempt if to_attempt is None else to_attempt,
        key=operation.key,
        arguments_digest=operation.arguments_digest,
        owner=owner,
        not_after_ms=not_after_ms,
        approval=approval,
        outcome=outcome,
        by=by,
        evidence=evidence,
    )
    change = MoveOperation(
        operation=operation.id,
        on=on,
        state=operation.state,
        attempt=operation.attempt,
        to_attempt=to_attempt,
        owner=owner,
        not_after_ms=not_after_ms,
        approval=approval,
        outcome=None if outcome is None else encode_outcome(outcome),
        settled_by=settler(on, by) if state in ("succeeded", "failed") else None,
        evidence=evidence,
    )
    return Moved(event, change)


def changed_by(outcome: Outcome) -> bool | None:
    """Whether the outside world changed with this outcome of a write; None where that is not known."""
    if isinstance(outcome, Unknown):
        return None
    return isinstance(outcome, Succeeded) and not outcome.repeat


def end(
    scene: Scene,
    proposal: Proposal,
    outcome: Outcome,
    *,
    label: Label = TRUSTED,
    wrote: bool = False,
    operation: OperationId | None = None,
    started_s: float | None = None,
    detail: str | None = None,
    before: tuple[Moved, ...] = (),
    changes: tuple[Change, ...] = (),
) -> None:
    """Note the one answer of a call, with the moves that it follows from.

    Args:
        wrote: whether the call was of a write that may have run.
        started_s: monotonic moment at which it began.
        detail: for the operator alone.
    """
    ended = CallEnded(
        call=proposal.call,
        tool=proposal.name,
        outcome=outcome,
        label=label,
        changed=changed_by(outcome) if wrote or isinstance(outcome, Unknown) else False,
        operation=operation,
        latency_ms=0 if started_s is None else max(0, round((ambient.monotonic_s() - started_s) * 1000)),
        detail=detail,
    )
    events = (*(one.event for one in before), ended)
    scene.journal.note(*events, changes=(*(one.change for one in before), *changes))
    ambient.reach("outcome.noted")
