"""The table of a run's phases: what leads from where to where. Data; the diagram in the docs is made of it.

Knows phases and guards, no commands. Invariant: edges of a phase are tried in this order, and the
first whose trigger and guard hold is taken; an edge without a trigger is taken at once.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from remit.loop import guard
from remit.loop.phase import Phase
from remit.loop.state import RunState

__all__ = ["BUDGET_REFUSED", "TABLE", "Edge", "diagram"]

BUDGET_REFUSED = "budget.refused"
"""Not an event: the driver found that the next request does not fit, and `RunEnded` will say so."""


@dataclass(frozen=True, slots=True)
class Edge:
    """One row.

    Args:
        on: kind of the event that takes it; None is at once.
        when: what must be true as well.
    """

    phase: Phase
    on: str | None
    when: Callable[[RunState], bool]
    to: Phase

    @property
    def label(self) -> str:
        """The trigger and the condition, for people."""
        condition = "" if self.when is guard.always else f"[{self.when.__name__.replace('_', ' ')}]"
        return " ".join(part for part in (self.on, condition) if part)


P = Phase
_WITH_CALLS = (P.VALIDATE_CALLS, P.EXECUTE_CALLS, P.RECOVER_CALLS, P.WAIT)
_WITHOUT_CALLS = (P.START, P.VALIDATE_FINAL, P.RETURN_CORRECTION)
_EITHER = (P.CHECK_BUDGETS, P.ASK_MODEL)

_ROWS: tuple[tuple[Phase, str | None, Callable[[RunState], bool], Phase], ...] = (
    (P.START, "message.appended", guard.always, P.CHECK_BUDGETS),
    (P.START, "run.resumed", guard.always, P.ESCALATE),
    (P.CHECK_BUDGETS, "model.requested", guard.always, P.ASK_MODEL),
    (P.CHECK_BUDGETS, BUDGET_REFUSED, guard.always, P.STOP),
    (P.CHECK_BUDGETS, "run.resumed", guard.nobody_to_ask, P.RECOVER_OR_STOP),
    # the model
    (P.ASK_MODEL, "model.replied", guard.always, P.INSPECT_STOP_REASON),
    (P.ASK_MODEL, "model.failed", guard.always, P.RECOVER_OR_STOP),
    (P.ASK_MODEL, "run.resumed", guard.always, P.RECOVER_OR_STOP),
    (P.RECOVER_OR_STOP, None, guard.may_retry, P.CHECK_BUDGETS),
    (P.RECOVER_OR_STOP, None, guard.context_full, P.STOP),
    (P.RECOVER_OR_STOP, None, guard.always, P.ESCALATE),
    (P.INSPECT_STOP_REASON, None, guard.calls_to_run, P.VALIDATE_CALLS),
    (P.INSPECT_STOP_REASON, None, guard.with_calls, P.RETURN_DENIAL),
    (P.INSPECT_STOP_REASON, None, guard.model_goes_on, P.CHECK_BUDGETS),
    (P.INSPECT_STOP_REASON, None, guard.model_refused, P.STOP),
    (P.INSPECT_STOP_REASON, None, guard.context_full, P.STOP),
    (P.INSPECT_STOP_REASON, None, guard.model_stopped_while_calls_wait, P.EXECUTE_CALLS),
    (P.INSPECT_STOP_REASON, None, guard.model_stopped, P.VALIDATE_FINAL),
    (P.INSPECT_STOP_REASON, None, guard.always, P.ESCALATE),
    # calls
    (P.VALIDATE_CALLS, "run.resumed", guard.always, P.RECOVER_CALLS),
    (P.VALIDATE_CALLS, "call.considered", guard.always, P.AUTHORIZE_CALLS),
    (P.VALIDATE_CALLS, None, guard.no_proposals, P.EXECUTE_CALLS),
    (P.AUTHORIZE_CALLS, None, guard.more_proposals, P.VALIDATE_CALLS),
    (P.AUTHORIZE_CALLS, None, guard.always, P.EXECUTE_CALLS),
    (P.EXECUTE_CALLS, "run.resumed", guard.always, P.RECOVER_CALLS),
    (P.EXECUTE_CALLS, None, guard.all_answered, P.RETURN_RESULTS),
    (P.EXECUTE_CALLS, None, guard.model_is_done, P.VALIDATE_FINAL),
    (P.EXECUTE_CALLS, None, guard.only_people_can_move_it, P.WAIT),
    (P.RECOVER_CALLS, None, guard.nothing_in_doubt, P.VALIDATE_CALLS),
    (P.WAIT, "run.resumed", guard.always, P.RECOVER_CALLS),
    (P.WAIT, None, guard.something_can_move, P.EXECUTE_CALLS),
    # answers
    (P.RETURN_DENIAL, None, guard.denials_given, P.RETURN_RESULTS),
    (P.RETURN_DENIAL, None, guard.nothing_unanswered, P.STOP),
    (P.RETURN_RESULTS, "results.appended", guard.always, P.APPEND_RESULTS),
    (P.APPEND_RESULTS, None, guard.cancelled, P.STOP),
    (P.APPEND_RESULTS, None, guard.model_refused, P.STOP),
    (P.APPEND_RESULTS, None, guard.context_full, P.STOP),
    (P.APPEND_RESULTS, None, guard.refused_for_budget, P.STOP),
    (P.APPEND_RESULTS, None, guard.always, P.CHECK_BUDGETS),
    # ends
    (P.VALIDATE_FINAL, "answer.checked", guard.answer_holds, P.STOP),
    (P.VALIDATE_FINAL, "answer.checked", guard.may_be_corrected, P.RETURN_CORRECTION),
    (P.VALIDATE_FINAL, "answer.checked", guard.always, P.ESCALATE),
    (P.RETURN_CORRECTION, "message.appended", guard.always, P.CHECK_BUDGETS),
    (P.STOP, "model.replied", guard.with_calls, P.RETURN_DENIAL),
    (P.ESCALATE, "model.requested", guard.always, P.ASK_MODEL),
    *((phase, "run.cancel_requested", guard.always, P.RETURN_DENIAL) for phase in _WITH_CALLS),
    *((phase, "run.cancel_requested", guard.calls_unanswered, P.RETURN_DENIAL) for phase in _EITHER),
    *((phase, "run.cancel_requested", guard.always, P.STOP) for phase in (*_WITHOUT_CALLS, *_EITHER)),
    *((phase, "run.ended", guard.always, P.END) for phase in P if phase is not P.END),
)

TABLE: tuple[Edge, ...] = tuple(Edge(*row) for row in _ROWS)


_ANYWHERE = frozenset({"run.cancel_requested", "run.ended"})


def diagram() -> str:
    """The table as a mermaid state diagram; what may happen nearly everywhere is drawn once, from `AnyPhase`."""
    lines = ["stateDiagram-v2", f"    [*] --> {Phase.START}"]
    for edge in TABLE:
        source = "AnyPhase" if edge.on in _ANYWHERE else str(edge.phase)
        line = f"    {source} --> {edge.to}" + (f": {edge.label}" if edge.label else "")
        if line not in lines:
            lines.append(line)
    lines.append(f"    {Phase.END} --> [*]")
    return "\n".join(lines) + "\n"
