"""The questions that the table of phases asks of a state. Each name reads as the condition it is.

Pure. Invariant: a guard looks at recorded facts and statuses only, never at commands given.
"""

from __future__ import annotations

from remit.loop.phase import ACTIVE, WAITING
from remit.loop.schedule import Moves, schedule
from remit.loop.state import MAX_ATTEMPTS, CallState, RunState
from remit.types.outcome import Refused

__all__ = [
    "CONTEXT_FULL",
    "RETRY_AFTER_CAP_S",
    "all_answered",
    "always",
    "answer_holds",
    "calls_to_run",
    "calls_unanswered",
    "cancelled",
    "context_full",
    "denials_given",
    "earlier_turns",
    "holder_ended",
    "may_be_corrected",
    "may_retry",
    "model_goes_on",
    "model_is_done",
    "model_refused",
    "model_stopped",
    "model_stopped_while_calls_wait",
    "more_proposals",
    "moves",
    "no_proposals",
    "nothing_in_doubt",
    "nothing_unanswered",
    "only_people_can_move_it",
    "refused_for_budget",
    "something_can_move",
    "unblocked",
    "with_calls",
]

CONTEXT_FULL = "model.context_full"
"""How a model says that a request is longer than its context."""

_ELSEWHERE = frozenset({"model.unauthorized", "model.not_found"})
"""Failures that the same model repeats, and another need not have."""

RETRY_AFTER_CAP_S = 300.0
"""A provider that asks for a longer pause is not waited for."""


def always(state: RunState) -> bool:
    """No condition."""
    del state
    return True


# the model


def context_full(state: RunState) -> bool:
    """The context does not take another request, or did not take the last reply."""
    return state.stop == "context" if state.failure is None else state.failure.code == CONTEXT_FULL


def may_retry(state: RunState) -> bool:
    """The failed or lost request may be made again."""
    failure = state.failure
    if state.attempt >= MAX_ATTEMPTS:
        return False
    if failure is None:
        return True
    if unblocked(state) is not None and (failure.retryable or failure.code in _ELSEWHERE):
        return True
    return failure.retryable and min(free_ms for _, free_ms in state.blocked) - state.at_ms <= RETRY_AFTER_CAP_S * 1000


def unblocked(state: RunState) -> str | None:
    """The first model of the run that did not fail in this turn."""
    failed = {name for name, _ in state.blocked}
    return next((name for name in state.models if name not in failed), None)


def cancelled(state: RunState) -> bool:
    """Somebody cancelled the run."""
    return state.cancelled is not None


def with_calls(state: RunState) -> bool:
    """The reply proposes calls."""
    return state.open_turn


def calls_to_run(state: RunState) -> bool:
    """The reply stopped to call tools."""
    return state.open_turn and state.stop == "calls"


def model_goes_on(state: RunState) -> bool:
    """The provider paused or compacted, or words were held back that this reply has not seen; the model has not finished."""
    return state.stop in ("pause", "compaction") or (state.stop == "end" and state.behind)


def model_refused(state: RunState) -> bool:
    """The model or a filter declined."""
    return state.stop in ("refusal", "filter")


def model_stopped(state: RunState) -> bool:
    """The model says it is done."""
    return state.stop == "end"


def model_stopped_while_calls_wait(state: RunState) -> bool:
    """The model says it is done, and calls that it knows as submitted have no outcome."""
    return state.stop == "end" and bool(state.unanswered)


def answer_holds(state: RunState) -> bool:
    """The answer has its type, and the outside world is as promised."""
    return state.checked is not None and state.checked.valid and state.checked.done


def may_be_corrected(state: RunState) -> bool:
    """The model has not been told yet, and may still be asked."""
    return not state.told and not state.closing


# calls


def more_proposals(state: RunState) -> bool:
    """A proposal of this turn has not been considered."""
    return any(call.turn == state.turn and call.status in ("proposed", "considering") for call in state.calls)


def no_proposals(state: RunState) -> bool:
    """Every proposal of this turn has been considered."""
    return not more_proposals(state)


def nothing_in_doubt(state: RunState) -> bool:
    """No call is in doubt."""
    return not any(call.status in ("in_doubt", "recovering") for call in state.calls)


def calls_unanswered(state: RunState) -> bool:
    """Calls have no answer yet."""
    return state.open_turn or bool(state.unanswered)


def nothing_unanswered(state: RunState) -> bool:
    """Every call has its answer, and it is on the transcript."""
    return not calls_unanswered(state)


def moves(state: RunState, turn: int) -> Moves:
    """What the schedule says of this turn, or of an earlier one, whose receipts keep the order of their proposals."""
    own = [call for call in state.calls if call.turn == turn]
    others = [call for call in state.calls if call.turn != turn and call.status != "ended"]
    return schedule(own, on_wait=state.on_wait if turn == state.turn else "hold", running=others)


def earlier_turns(state: RunState) -> list[int]:
    """Turns before this one that have calls without an outcome."""
    return sorted({call.turn for call in state.calls if call.turn != state.turn and call.status != "ended"})


def holder_ended(state: RunState, call: CallState) -> bool:
    """The call whose operation `call` shares has its outcome."""
    holder = None if call.joined is None else state.call(call.joined)
    return holder is None or holder.status == "ended"


def all_answered(state: RunState) -> bool:
    """Every call of the turn has its answer, or its receipt where the model is answered without people."""
    return state.open_turn and all(call.turn != state.turn or _has_words(state, call) for call in state.calls)


def _has_words(state: RunState, call: CallState) -> bool:
    if call.status == "ended":
        return True
    if state.on_wait == "hold":
        return False
    return call.status == "awaiting" or (call.status == "joined" and not holder_ended(state, call))


def denials_given(state: RunState) -> bool:
    """Every call that is not to run has its answer, and a turn is open."""
    if not state.open_turn:
        return False
    return not (state.unanswered if state.cancelled else [call for call in state.current if call.status != "ended"])


def model_is_done(state: RunState) -> bool:
    """The model has stopped, and every call has its outcome."""
    return state.closing and not state.unanswered


def only_people_can_move_it(state: RunState) -> bool:
    """Calls wait for people, and nothing else can go on."""
    return any(call.status in WAITING for call in state.calls) and not something_can_move(state)


def something_can_move(state: RunState) -> bool:
    """Something goes on without people, or everything has its outcome."""
    if not state.unanswered:
        return True
    if any(call.status in ACTIVE for call in state.calls):
        return True
    if any(call.status == "joined" and holder_ended(state, call) for call in state.calls):
        return True
    return any(moves(state, turn) for turn in (*earlier_turns(state), state.turn))


def refused_for_budget(state: RunState) -> bool:
    """Every call of the turn was refused because a limit was reached."""
    outcomes = [call.outcome for call in state.current]
    return bool(outcomes) and all(isinstance(one, Refused) and one.code.startswith("budget.") for one in outcomes)
