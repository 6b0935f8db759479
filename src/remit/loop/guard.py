"""The questions that the table of phases asks of a state. Each name reads as the condition it is.

Pure. Invariant: a guard looks at recorded facts and statuses only, never at commands given.
"""

from __future__ import annotations

from remit.loop.choice import next_ask, telling_failure
from remit.loop.phase import ACTIVE, WAITING, CallStatus
from remit.loop.schedule import Moves, schedule
from remit.loop.state import CallState, RunState
from remit.types.outcome import Refused

__all__ = [
    "CONTEXT_FULL",
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
    "nobody_to_ask",
    "nothing_in_doubt",
    "nothing_unanswered",
    "only_people_can_move_it",
    "refused_for_budget",
    "something_can_move",
    "with_calls",
]

_WORDED: frozenset[CallStatus] = frozenset({*WAITING, "ended"})
"""Of a call that the model may be told something of."""

CONTEXT_FULL = "model.context_full"
"""How a model says that a request is longer than its context."""


def always(state: RunState) -> bool:
    """No condition."""
    del state
    return True


# the model


def context_full(state: RunState) -> bool:
    """The context does not take another request, or did not take the last reply."""
    failure = telling_failure(state)
    return state.stop == "context" if failure is None else failure.code == CONTEXT_FULL


def may_retry(state: RunState) -> bool:
    """The failed or lost request may be made again, or sent to another model."""
    return next_ask(state) is not None


def nobody_to_ask(state: RunState) -> bool:
    """Of those that may be asked now, none can take the turn's request."""
    return not may_retry(state)


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
    return state.stop == "end" and state.is_open


def answer_holds(state: RunState) -> bool:
    """The answer has its type, and the outside world is as promised."""
    return state.checked is not None and state.checked.valid and state.checked.done


def may_be_corrected(state: RunState) -> bool:
    """The model has not been told yet, and may still be asked."""
    return not state.told and not state.closing


# calls


def more_proposals(state: RunState) -> bool:
    """A proposal of this turn has not been considered."""
    return bool(state.statuses.get("proposed") or state.statuses.get("considering"))


def no_proposals(state: RunState) -> bool:
    """Every proposal of this turn has been considered."""
    return not more_proposals(state)


def nothing_in_doubt(state: RunState) -> bool:
    """No call is in doubt."""
    return not state.any_call({"in_doubt", "recovering"})


def calls_unanswered(state: RunState) -> bool:
    """Calls have no answer yet."""
    return state.open_turn or state.is_open


def nothing_unanswered(state: RunState) -> bool:
    """Every call has its answer, and it is on the transcript."""
    return not calls_unanswered(state)


def moves(state: RunState, turn: int) -> Moves:
    """What the schedule says of this turn, or of an earlier one, whose receipts keep the order of their proposals."""
    if not (state.statuses.get("ready") if turn == state.turn else state.earlier):
        return Moves()
    if len(state.calls) == 1:
        return Moves(start=(state.calls[0].id,)) if state.calls[0].status == "ready" else Moves()
    own = [call for call in state.calls if call.turn == turn]
    others = [call for call in state.calls if call.turn != turn and call.status != "ended"]
    return schedule(own, on_wait=state.on_wait if turn == state.turn else "hold", running=others)


def earlier_turns(state: RunState) -> list[int]:
    """Turns before this one that have calls without an outcome."""
    if not state.earlier:
        return []
    return sorted({call.turn for call in state.calls if call.turn != state.turn and call.status != "ended"})


def holder_ended(state: RunState, call: CallState) -> bool:
    """The call whose operation `call` shares has its outcome."""
    holder = None if call.joined is None else state.call(call.joined)
    return holder is None or holder.status == "ended"


def all_answered(state: RunState) -> bool:
    """Every call of the turn has its answer, or its receipt where the model is answered without people."""
    if not state.open_turn or any(status not in _WORDED for status in state.statuses):
        return False
    return not any(state.statuses.get(status) for status in WAITING) or all(_has_words(state, call) for call in state.current)


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
    if state.cancelled and state.earlier:
        return False
    return all(status == "ended" for status in state.statuses)


def model_is_done(state: RunState) -> bool:
    """The model has stopped, and every call has its outcome."""
    return state.closing and not state.is_open


def only_people_can_move_it(state: RunState) -> bool:
    """Calls wait for people, and nothing else can go on."""
    return state.any_call(WAITING) and not something_can_move(state)


def something_can_move(state: RunState) -> bool:
    """Something goes on without people, or everything has its outcome."""
    if not state.is_open or state.any_call(ACTIVE):
        return True
    if state.any_call({"joined"}) and any(call.status == "joined" and holder_ended(state, call) for call in state.calls):
        return True
    return any(moves(state, turn) for turn in (*earlier_turns(state), state.turn))


def refused_for_budget(state: RunState) -> bool:
    """Every call of the turn was refused because a limit was reached."""
    outcomes = [call.outcome for call in state.current]
    return bool(outcomes) and all(isinstance(one, Refused) and one.code.startswith("budget.") for one in outcomes)
