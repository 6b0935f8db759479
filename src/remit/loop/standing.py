"""How a run stands, for those who asked for it.

Knows the folded state only, so it says the same in every process. Invariant: an ended run's end is
what was recorded; its open operations are those of now.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TypedDict

from remit.loop.state import RunState
from remit.types.approval import Approval
from remit.types.budget import Usage
from remit.types.event import RunEnded
from remit.types.ident import ConversationId, OperationId, RunId
from remit.types.run import Cancelled, Escalated, Finished, ModelRefused, Paused, Standing, Stopped, Submitted

__all__ = ["standing_of"]


class _Common(TypedDict):
    id: RunId
    usage: Usage
    open_operations: tuple[OperationId, ...]
    answer_so_far: str
    conversation: ConversationId | None
    durable: bool


def standing_of(state: RunState, *, approvals: Sequence[Approval] = (), durable: bool = True) -> Standing | Submitted:
    """How the run of this state stands.

    Args:
        state: its events, folded.
        approvals: rows of the run that are pending, for a paused one.
        durable: whether its ledger survives the process.

    Returns:
        `Submitted` while it is going on.
    """
    started = state.started
    common: _Common = {
        "id": state.run,
        "usage": state.usage,
        "open_operations": state.open_operations,
        "answer_so_far": state.so_far,
        "conversation": None if started is None else started.conversation,
        "durable": durable,
    }
    if state.ended is not None:
        return _ended(state.ended, common)
    if not state.paused:
        return Submitted(**common)
    pending = [row for row in approvals if row.state == "pending"]
    return Paused(
        approvals=tuple(row for row in pending if row.kind == "approval"),
        questions=tuple(row for row in pending if row.kind == "question"),
        reason="waiting",
        **common,
    )


def _ended(end: RunEnded, common: _Common) -> Standing:
    match end.how:
        case "finished":
            answer = None if end.answer is None else json.loads(end.answer)
            verified = end.verified and not common["open_operations"]
            return Finished(answer=answer, verified=verified, reason=end.reason, **common)
        case "stopped" | "closed":
            return Stopped(reason=end.reason, **common)
        case "escalated":
            return Escalated(explanation=end.explanation, reason=end.reason, **common)
        case "model_refused":
            return ModelRefused(explanation=end.explanation, reason=end.reason, **common)
        case "cancelled":
            return Cancelled(explanation=end.explanation, reason=end.reason, **common)
