"""What each event adds to a run's state: bookkeeping, no decisions.

Sets fields of the draft that it is given, and nothing else. It does not know phases' edges or commands.
Invariant: every event can be added in every phase, because what is recorded has happened.
"""

from __future__ import annotations

from dataclasses import replace

from remit.loop.phase import CallStatus
from remit.loop.state import Blocked, CallDraft, CallState, Draft, count_status, draft_call, seat_calls
from remit.loop.transcript import bulk_of, waits_for_answers
from remit.types.budget import Spent
from remit.types.event import (
    AnswerChecked,
    ApprovalDecided,
    ApprovalRequested,
    CallConsidered,
    CallEnded,
    CancelRequested,
    ChildReturned,
    ChildStarted,
    ChildWaiting,
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


def add(draft: Draft, recorded: Recorded) -> None:
    """Put one more event into the draft."""
    event = recorded.event
    draft.run, draft.at_ms = recorded.run, max(draft.at_ms, recorded.at_ms)
    draft.tally = draft.tally.count(recorded)
    match event:
        case ModelRequested():
            _requested(draft, event)
        case Replied():
            _replied(draft, event)
        case CallConsidered() | CallEnded() | OperationMoved() | ApprovalRequested() | ApprovalDecided():
            _of_call(draft, event)
        case ResultsAppended():
            _results(draft, event)
        case MessageAppended():
            _message(draft, event)
        case RequestFailed():
            _failed(draft, event)
        case AnswerChecked():
            draft.checked = event
        case RunStarted():
            draft.started, draft.models = event, (event.model, *event.fallbacks)
            draft.label, draft.answers_only = event.label, event.answers_only
        case CancelRequested():
            draft.cancelled = draft.cancelled or event
        case Waiting():
            draft.paused, draft.waited, draft.booked = True, True, _booked(draft)
        case Resumed():
            _resumed(draft, event)
        case RunEnded():
            draft.ended, draft.booked = event, _booked(draft)
        case ChildStarted() | ChildWaiting() | ChildReturned():
            _of_child(draft, event)
        case _:
            return


def _booked(draft: Draft) -> Spent:
    """The tally as the owner tells it to the ledger with this event."""
    tally = draft.tally
    return Spent(calls=tally.calls, approvals=tally.approvals, active_ms=tally.active_ms(draft.at_ms))


# the model


def _requested(draft: Draft, event: ModelRequested) -> None:
    if event.turn != draft.turn:
        draft.turn = event.turn
        seat_calls(draft, draft.unfinished)
    draft.attempt = event.attempt
    draft.model = event.model
    draft.requested = True
    draft.operation = event.operation
    draft.asked_label = event.label
    draft.failure = None
    draft.checked = None
    draft.booked = _booked(draft)


def _replied(draft: Draft, event: Replied) -> None:
    draft.label = draft.label.join(event.label)
    draft.asked_label = draft.asked_label.join(event.label)
    draft.requested = False
    draft.attempt = 0
    draft.failure = None
    draft.blocked = ()
    draft.stop = event.stop
    draft.refusal = event.refusal
    draft.text = event.text
    draft.so_far = event.text or draft.so_far
    draft.open_turn = bool(event.calls)
    seat_calls(draft, (*draft.unfinished, *(_proposal(draft, event.turn, call) for call in event.calls)))
    if event.usage.reported:
        draft.known_tokens = event.usage.input_tokens + event.usage.output_tokens
        draft.new_bytes = draft.held
    else:
        draft.new_bytes += bulk_of(event.wording)
    draft.behind = draft.held > 0
    draft.answers_only = waits_for_answers(event)
    _release(draft)


def _release(draft: Draft) -> None:
    """What was held back is said now, unless the reply waits for answers alone, or its calls for their results."""
    if not (draft.answers_only or draft.open_turn):
        draft.held = 0


def _failed(draft: Draft, event: RequestFailed) -> None:
    free_ms = draft.at_ms + round(1000 * (event.retry_after_s or 0))
    others = [one for one in draft.blocked if one.model != draft.model]
    draft.blocked = (*others, Blocked(draft.model, event, free_ms))
    draft.requested = False
    draft.failure = event


def _proposal(draft: Draft, turn: int, call: Call) -> CallState:
    return CallState(
        id=call_id(turn, call.position),
        turn=turn,
        wire_id=call.wire_id,
        name=call.name,
        arguments=call.arguments,
        label=draft.asked_label,
        cut=call.cut,
    )


def _message(draft: Draft, event: MessageAppended) -> None:
    bulk = bulk_of(event.wording)
    draft.label = draft.label.join(event.label)
    draft.new_bytes += bulk
    if draft.answers_only:
        draft.held += bulk
    draft.told = draft.told or event.source == "correction"


def _results(draft: Draft, event: ResultsAppended) -> None:
    for call in draft.current:
        if call.status == "ended":
            draft.label = draft.label.join(call.result)
        if call.id in event.receipts:
            draft_call(draft, call).receipted = True
    draft.open_turn = False
    draft.new_bytes += bulk_of(event.wording)
    _release(draft)


# calls


def _of_call(draft: Draft, event: CallConsidered | ApprovalRequested | ApprovalDecided | OperationMoved | CallEnded) -> None:
    if isinstance(event, OperationMoved):
        draft.operations = {**draft.operations, event.operation: event.state}
    found = draft.call(event.call)
    if found is None or found.status == "ended":
        return
    call = draft_call(draft, found)
    match event:
        case CallConsidered():
            if draft.is_shared and not call.counted and event.step not in ("budget", "stop"):
                draft.booked = replace(draft.booked, calls=draft.booked.calls + 1)
            _considered(call, event)
        case ApprovalRequested():
            if draft.is_shared:
                draft.booked = replace(draft.booked, approvals=draft.booked.approvals + 1)
            call.approval, call.expires_ms, call.asked = event.approval, event.expires_ms, True
        case ApprovalDecided():
            if call.status == "awaiting" and call.approval == event.approval:
                call.status, call.asked = "decided", False
        case OperationMoved():
            if event.state in ("awaiting_approval", "dispatched"):
                call.operation = event.operation
        case CallEnded():
            call.status, call.outcome, call.result = "ended", event.outcome, event.label
            draft.children -= call.child is not None
    count_status(draft, call, found.status)


def _of_child(draft: Draft, event: ChildStarted | ChildWaiting | ChildReturned) -> None:
    """A call whose child has begun is never considered again: whoever takes the run up joins the child."""
    if isinstance(event, ChildStarted):
        draft.booked = _booked(draft)
    found = draft.call(event.call)
    if found is None or found.status == "ended":
        return
    call = draft_call(draft, found)
    match event:
        case ChildStarted():
            draft.children += call.child is None
            call.child = event.child
        case ChildWaiting():
            call.status, call.below = "awaiting", event.approvals
        case ChildReturned() if call.status == "awaiting" and call.child is not None:
            call.status, call.below = "in_doubt", ()
        case _:
            pass
    count_status(draft, call, found.status)


def _considered(call: CallDraft, event: CallConsidered) -> None:
    """What the gate found. It looks again while it executes, if a key was taken meanwhile: that starts nothing anew."""
    if event.verdict != "ready" or call.status not in ("starting", "recovering"):
        call.status = _CONSIDERED[event.verdict]
    call.counted = True
    call.effect = event.effect
    call.resources = event.resources
    call.key = event.key
    call.joined = event.joined
    call.approval = event.approval or call.approval


def _resumed(draft: Draft, event: Resumed) -> None:
    """Nothing is in flight any more: what had not started is considered again, what had is in doubt."""
    draft.commanded = False
    draft.paused = False
    draft.models = event.models
    for call in draft.calls:
        if not _stands(call):
            mine = draft_call(draft, call)
            _take_up(draft, mine)
            count_status(draft, mine, call.status)
    draft.considered = 0


def _stands(call: CallState) -> bool:
    """Whether it is as it was, whoever owns the run."""
    return call.status in ("ended", "joined") or (call.status == "awaiting" and call.asked)


def _take_up(draft: Draft, call: CallDraft) -> None:
    if call.child is not None:
        call.status, call.below = "in_doubt", ()
        return
    match None if call.operation is None else draft.operations.get(call.operation):
        case "dispatched" | "unknown" | "succeeded" | "failed":
            call.status = "in_doubt"
        case "awaiting_approval" if call.approval is not None:
            call.status = "decided"
        case _:
            answered = call.status in ("decided", "deciding") and call.operation is None
            if call.counted and call.effect == "read":
                call.lost += 1
            call.status = "decided" if answered else "proposed"
