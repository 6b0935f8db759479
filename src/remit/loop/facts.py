"""What each event adds to a run's state: bookkeeping, no decisions.

Sets fields of the state that it is given, and nothing else. It does not know phases' edges or commands.
Invariant: every event can be added in every phase, because what is recorded has happened.
"""

from __future__ import annotations

from remit.loop.phase import CallStatus
from remit.loop.state import CallState, RunState
from remit.loop.transcript import bulk_of, waits_for_answers
from remit.types.budget import Spent
from remit.types.event import (
    AnswerChecked,
    ApprovalDecided,
    ApprovalRequested,
    CallConsidered,
    CallEnded,
    CancelRequested,
    MessageAppended,
    ModelRequested,
    OperationMoved,
    Recorded,
    Replied,
    RequestFailed,
    ResultsAppended,
    Resumed,
    RunEnded,
    RunStarted,
    Waiting,
)
from remit.types.ident import call_id
from remit.types.model import Call

__all__ = ["add"]

_CONSIDERED: dict[str, CallStatus] = {
    "ready": "ready",
    "waiting": "awaiting",
    "joined": "joined",
    "settled": "settling",
}


def add(state: RunState, recorded: Recorded) -> None:
    """Put one more event into the state, which is the caller's own."""
    event = recorded.event
    state.run, state.at_ms = recorded.run, max(state.at_ms, recorded.at_ms)
    state.tally = state.tally.count(recorded)
    match event:
        case ModelRequested():
            _requested(state, event)
        case Replied():
            _replied(state, event)
        case CallConsidered() | CallEnded() | OperationMoved() | ApprovalRequested() | ApprovalDecided():
            _of_call(state, event)
        case ResultsAppended():
            _results(state, event)
        case MessageAppended():
            _message(state, event)
        case RequestFailed():
            _failed(state, event)
        case AnswerChecked():
            state.checked = event
        case RunStarted():
            state.started, state.label, state.answers_only = event, event.label, event.answers_only
        case CancelRequested():
            state.cancelled = state.cancelled or event
        case Waiting():
            state.paused, state.booked = True, _booked(state)
        case Resumed():
            _resumed(state)
        case RunEnded():
            state.ended, state.booked = event, _booked(state)
        case _:
            return


def _booked(state: RunState) -> Spent:
    """The tally as the owner tells it to the ledger with this event."""
    tally = state.tally
    return Spent(calls=tally.calls, approvals=tally.approvals, active_ms=tally.active_ms(state.at_ms))


# the model


def _requested(state: RunState, event: ModelRequested) -> None:
    if event.turn != state.turn:
        state.calls = state.unfinished
    state.turn, state.attempt, state.model = event.turn, event.attempt, event.model
    state.requested, state.failure, state.checked = True, None, None
    state.operation, state.asked_label = event.operation, event.label
    state.booked = _booked(state)


def _replied(state: RunState, event: Replied) -> None:
    state.label = state.label.join(event.label)
    state.asked_label = state.asked_label.join(event.label)
    state.requested, state.failure, state.blocked, state.attempt = False, None, (), 0
    state.stop, state.refusal = event.stop, event.refusal
    state.text, state.so_far = event.text, event.text or state.so_far
    state.open_turn = bool(event.calls)
    state.calls = (*state.unfinished, *(_proposal(state, event.turn, call) for call in event.calls))
    state.known_tokens = event.usage.input_tokens + event.usage.output_tokens
    state.new_bytes, state.behind = state.held, state.held > 0
    state.answers_only = waits_for_answers(event)
    if not state.answers_only:
        state.held = 0


def _failed(state: RunState, event: RequestFailed) -> None:
    free_ms = state.at_ms + round(1000 * (event.retry_after_s or 0))
    state.blocked = (*(one for one in state.blocked if one[0] != state.model), (state.model, free_ms))
    state.requested, state.failure = False, event


def _proposal(state: RunState, turn: int, call: Call) -> CallState:
    return CallState(
        id=call_id(turn, call.position),
        turn=turn,
        wire_id=call.wire_id,
        name=call.name,
        arguments=call.arguments,
        label=state.asked_label,
        cut=call.cut,
    )


def _message(state: RunState, event: MessageAppended) -> None:
    bulk = bulk_of(event.wording)
    state.label = state.label.join(event.label)
    state.new_bytes += bulk
    if state.answers_only:
        state.held += bulk
    state.told = state.told or event.source == "correction"


def _results(state: RunState, event: ResultsAppended) -> None:
    for call in state.current:
        if call.status == "ended":
            state.label = state.label.join(call.result)
        if call.id in event.receipts:
            state.own(call).receipted = True
    state.open_turn = False
    state.new_bytes += bulk_of(event.wording)


# calls


def _of_call(state: RunState, event: CallConsidered | ApprovalRequested | ApprovalDecided | OperationMoved | CallEnded) -> None:
    if isinstance(event, OperationMoved):
        state.operations = {**state.operations, event.operation: event.state}
    call = state.call(event.call)
    if call is None or call.status == "ended":
        return
    call = state.own(call)
    match event:
        case CallConsidered():
            _considered(call, event)
        case ApprovalRequested():
            call.approval, call.expires_ms, call.asked = event.approval, event.expires_ms, True
        case ApprovalDecided():
            if call.status == "awaiting" and call.approval == event.approval:
                call.status, call.asked = "decided", False
        case OperationMoved():
            if event.state in ("awaiting_approval", "dispatched"):
                call.operation = event.operation
        case CallEnded():
            call.status, call.outcome, call.result = "ended", event.outcome, event.label


def _considered(call: CallState, event: CallConsidered) -> None:
    """What the gate found. It looks again while it executes, if a key was taken meanwhile: that starts nothing anew."""
    if event.verdict != "ready" or call.status not in ("starting", "recovering"):
        call.status = _CONSIDERED[event.verdict]
    call.counted, call.effect, call.resources = True, event.effect, event.resources
    call.key, call.joined = event.key, event.joined
    call.approval = event.approval or call.approval


def _resumed(state: RunState) -> None:
    """Nothing is in flight any more: what had not started is considered again, what had is in doubt."""
    state.commanded, state.paused = False, False
    for call in state.calls:
        if not _stands(call):
            _take_up(state, state.own(call))


def _stands(call: CallState) -> bool:
    """Whether it is as it was, whoever owns the run."""
    return call.status in ("ended", "joined") or (call.status == "awaiting" and call.asked)


def _take_up(state: RunState, call: CallState) -> None:
    match None if call.operation is None else state.operations.get(call.operation):
        case "dispatched" | "unknown" | "succeeded" | "failed":
            call.status = "in_doubt"
        case "awaiting_approval" if call.approval is not None:
            call.status = "decided"
        case _:
            answered = call.status in ("decided", "deciding") and call.operation is None
            call.lost += call.counted and call.effect == "read"
            call.status = "decided" if answered else "proposed"
