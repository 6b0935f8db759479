"""How a run ends, once it is about to: the stable reason codes.

Pure. Invariant: the reason follows from recorded events; only a limit that stopped a request from
being made is told by the driver (`limit`).
"""

from __future__ import annotations

from remit.loop import guard
from remit.loop.choice import telling_failure
from remit.loop.phase import Phase
from remit.loop.state import Ending, RunState
from remit.types.outcome import Refused

__all__ = ["ending_of"]


def ending_of(state: RunState, *, origin: Phase) -> Ending:
    """Why the run that comes from `origin` ends."""
    if state.cancelled is not None and not (origin is Phase.VALIDATE_FINAL and guard.answer_holds(state)):
        return Ending("cancelled", "cancelled")
    match origin:
        case Phase.VALIDATE_FINAL:
            return _of_answer(state)
        case Phase.RECOVER_OR_STOP:
            return _of_failure(state)
        case Phase.START:
            return Ending("escalated", "run.incomplete")
        case _:
            return _of_reply(state)


def _of_answer(state: RunState) -> Ending:
    if guard.answer_holds(state):
        return Ending("finished", "finished")
    return Ending("escalated", "answer.invalid" if state.checked is None else state.checked.code or "answer.invalid")


def _of_failure(state: RunState) -> Ending:
    if guard.context_full(state):
        return Ending("stopped", "context.full")
    failure = telling_failure(state)
    return Ending("escalated", "model.lost") if failure is None else Ending("escalated", failure.code, failure.message)


def _of_reply(state: RunState) -> Ending:
    if state.stop in ("refusal", "filter"):
        return Ending("model_refused", f"model.{state.stop}", state.refusal)
    if state.stop == "context":
        return Ending("stopped", "context.full")
    if guard.refused_for_budget(state):
        first = state.current[0].outcome
        return Ending("stopped", first.code if isinstance(first, Refused) else "budget")
    return Ending("escalated", {"length": "model.length", "calls": "model.no_calls"}.get(state.stop, "model.stop_unknown"))
