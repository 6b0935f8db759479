"""What each event adds to a run's state: bookkeeping, no decisions.

Pure. It does not know phases' edges or commands. Invariant: every event can be added in every phase,
because what is recorded has happened.
"""

from __future__ import annotations

from dataclasses import replace

from remit.loop.phase import CallStatus
from remit.loop.state import CallState, RunState
from remit.loop.transcript import bulk_of
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


def add(state: RunState, recorded: Recorded) -> RunState:
    """The state with one more event in it."""
    at_ms = max(state.at_ms, recorded.at_ms)
    state = replace(state, at_ms=at_ms, tally=state.tally.count(recorded), run=recorded.run)
    event = recorded.event
    match event:
        case CallConsidered() | ApprovalRequested() | ApprovalDecided() | OperationMoved() | CallEnded():
            return _of_call(state, event)
        case ModelRequested() | Replied() | RequestFailed() | AnswerChecked():
            return _of_model(state, event)
        case MessageAppended():
            return _message(state, event)
        case ResultsAppended():
            return _results(state, event)
        case RunStarted():
            return replace(state, started=event, label=event.label)
        case CancelRequested():
            return replace(state, cancelled=state.cancelled or event)
        case Waiting():
            return replace(state, paused=True, booked=_booked(state))
        case Resumed():
            return _resumed(state)
        case RunEnded():
            return replace(state, ended=event, booked=_booked(state))
        case _:
            return state


def _booked(state: RunState) -> Spent:
    """The tally as the owner tells it to the ledger with this event."""
    tally = state.tally
    return Spent(calls=tally.calls, approvals=tally.approvals, active_ms=tally.active_ms(state.at_ms))


# the model


def _of_model(state: RunState, event: ModelRequested | Replied | RequestFailed | AnswerChecked) -> RunState:
    match event:
        case ModelRequested():
            return replace(
                state,
                turn=event.turn,
                attempt=event.attempt,
                model=event.model,
                requested=True,
                failure=None,
                checked=None,
                asked_label=event.label,
                calls=state.unfinished if event.turn != state.turn else state.calls,
                booked=_booked(state),
            )
        case Replied():
            return _replied(state, event)
        case RequestFailed():
            free_ms = state.at_ms + round(1000 * (event.retry_after_s or 0))
            blocked = (*(one for one in state.blocked if one[0] != state.model), (state.model, free_ms))
            return replace(state, requested=False, failure=event, blocked=blocked)
        case AnswerChecked():
            return replace(state, checked=event)


def _replied(state: RunState, event: Replied) -> RunState:
    usage = event.usage
    state = replace(state, label=state.label.join(event.label), asked_label=state.asked_label.join(event.label))
    calls = tuple(_proposal(state, event.turn, call) for call in event.calls)
    return replace(
        state,
        requested=False,
        failure=None,
        blocked=(),
        attempt=0,
        unresolved=event.unresolved,
        open_turn=bool(calls),
        stop=event.stop,
        refusal=event.refusal,
        text=event.text,
        so_far=event.text or state.so_far,
        calls=(*state.unfinished, *calls),
        known_tokens=usage.input_tokens + usage.output_tokens,
        new_bytes=0,
        wire_ids=state.wire_ids | {call.wire_id for call in event.calls},
    )


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


def _message(state: RunState, event: MessageAppended) -> RunState:
    return replace(
        state,
        label=state.label.join(event.label),
        new_bytes=state.new_bytes + bulk_of(event.wording),
        told=state.told or event.source == "correction",
    )


def _results(state: RunState, event: ResultsAppended) -> RunState:
    label = state.label
    for call in state.current:
        if call.status == "ended":
            label = label.join(call.result)
    receipts = frozenset(event.receipts)
    calls = tuple(replace(one, receipted=True) if one.id in receipts else one for one in state.calls)
    new_bytes = state.new_bytes + bulk_of(event.wording)
    return replace(state, open_turn=False, label=label, calls=calls, new_bytes=new_bytes)


# calls


def _of_call(
    state: RunState, event: CallConsidered | ApprovalRequested | ApprovalDecided | OperationMoved | CallEnded
) -> RunState:
    if isinstance(event, OperationMoved):
        state = replace(state, operations={**state.operations, event.operation: event.state})
    call = state.call(event.call)
    if call is None or call.status == "ended":
        return state
    match event:
        case CallConsidered():
            call = _considered(call, event)
        case ApprovalRequested():
            call = replace(call, approval=event.approval, expires_ms=event.expires_ms, asked=True)
        case ApprovalDecided():
            if call.status == "awaiting" and call.approval == event.approval:
                call = replace(call, status="decided", asked=False)
        case OperationMoved():
            if event.state in ("awaiting_approval", "dispatched"):
                call = replace(call, operation=event.operation)
        case CallEnded():
            call = replace(call, status="ended", outcome=event.outcome, result=event.label)
    return state.with_call(call)


def _considered(call: CallState, event: CallConsidered) -> CallState:
    """What the gate found. It looks again while it executes, if a key was taken meanwhile: that starts nothing anew."""
    looked_again = event.verdict == "ready" and call.status in ("starting", "recovering")
    return replace(
        call,
        status=call.status if looked_again else _CONSIDERED[event.verdict],
        counted=True,
        effect=event.effect,
        resources=event.resources,
        key=event.key,
        joined=event.joined,
        approval=event.approval or call.approval,
    )


def _resumed(state: RunState) -> RunState:
    """Nothing is in flight any more: what had not started is considered again, what had is in doubt."""
    calls = tuple(_taken_up(state, call) for call in state.calls)
    return replace(state, commanded=False, paused=False, calls=calls)


def _taken_up(state: RunState, call: CallState) -> CallState:
    if call.status in ("ended", "joined") or (call.status == "awaiting" and call.asked):
        return call
    match None if call.operation is None else state.operations.get(call.operation):
        case "dispatched" | "unknown" | "succeeded" | "failed":
            return replace(call, status="in_doubt")
        case "awaiting_approval" if call.approval is not None:
            return replace(call, status="decided")
        case _:
            answered = call.status in ("decided", "deciding") and call.operation is None
            lost = call.lost + (call.counted and call.effect == "read")
            return replace(call, status="decided" if answered else "proposed", lost=lost)
