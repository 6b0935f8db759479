"""What a run's events add up to.

Knows no clock, store or network. Invariant: equal events give equal states; a command that was given
is remembered here, so that it is not given twice. A state that somebody can see stays as it is: fields are set
of a draft, which a transition makes and nobody else has seen yet.
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import dataclass, field, fields
from operator import attrgetter
from typing import Literal, NewType

from remit.budget import Tally
from remit.loop.phase import CallStatus, Phase
from remit.types.budget import Spent, Usage
from remit.types.event import AnswerChecked, CancelRequested, RequestFailed, RunEnded, RunStarted
from remit.types.ident import ApprovalId, CallId, Digest, OperationId, RunId
from remit.types.label import TRUSTED, Label
from remit.types.model import Stop
from remit.types.operation import OperationState
from remit.types.outcome import Outcome

__all__ = [
    "MAX_ATTEMPTS",
    "Blocked",
    "CallDraft",
    "CallState",
    "Draft",
    "Ending",
    "How",
    "RunState",
    "count_status",
    "draft_call",
    "put_statuses",
    "seat_calls",
]

MAX_ATTEMPTS = 4
"""Requests for one turn, the first included, whichever models they are sent to."""

How = Literal["finished", "stopped", "escalated", "model_refused", "cancelled"]


@dataclass(slots=True)
class CallState:
    """A proposal and what became of it.

    Args:
        label: of the context that the model saw when it proposed.
        counted: it was considered at least once.
        lost: of a read: how many processes were gone before it had an answer.
        resources, key: as `CallConsidered` says; what it shares with others.
        approval: what a person was asked last, with its expiry; `asked` until it is decided.
        receipted: the model was told "submitted, not done".
        result: label of its result, once it has ended.
        child: the run that answers it, once that is about to begin; `below`: what it waits for, while it does.
    """

    id: CallId
    turn: int
    wire_id: str
    name: str
    arguments: str
    label: Label
    cut: bool = False
    status: CallStatus = "proposed"
    counted: bool = False
    lost: int = 0
    effect: Literal["read", "write", "ask", "agent"] | None = None
    resources: tuple[str, ...] | None = None
    key: Digest | None = None
    joined: CallId | None = None
    operation: OperationId | None = None
    approval: ApprovalId | None = None
    asked: bool = False
    expires_ms: int | None = None
    receipted: bool = False
    outcome: Outcome | None = None
    result: Label = TRUSTED
    child: RunId | None = None
    below: tuple[ApprovalId, ...] = ()


CallDraft = NewType("CallDraft", CallState)
"""A call of a draft, which no other state shares."""

_OF_CALL = attrgetter(*(one.name for one in fields(CallState)))


@dataclass(frozen=True, slots=True)
class Blocked:
    """A model that failed in this turn, how, and from when on it may be asked again."""

    model: str
    failure: RequestFailed
    free_ms: int

    @property
    def is_out(self) -> bool:
        """Whether it would only fail again."""
        return not self.failure.retryable


@dataclass(frozen=True, slots=True)
class Ending:
    """How the run is about to end."""

    how: How
    reason: str
    explanation: str | None = None


@dataclass(slots=True)
class RunState:
    """A run, folded.

    Args:
        commanded: the phase's own command was given.
        label: of the context now; `asked_label` as it was when the model was last asked.
        models: who may be asked, the first one first: by the run's beginning, then by whoever took it up last.
        attempt: requests made for this turn. `requested`: the last one has no reply yet. `model`: who was asked last.
        operation: the last request is itself this write.
        blocked: models that failed in this turn, the last one last.
        answers_only: the next request adds no words: provider-run calls of the last reply go on with it.
        held: bulk of the messages that wait behind the next reply; `behind`: the last reply had some, so has not seen them.
        open_turn: the last reply has calls, and their answers are not on the transcript yet.
        stop, refusal, text: of the last reply; `so_far` is the last text that was not empty.
        calls: of this turn, and those of earlier turns that have no outcome yet. `places` of them by id; `statuses`: how many
            of this turn's are in each; `earlier`: how many of earlier turns have no outcome; before the place `considered`
            none of this turn's is still to be considered. So an event costs the same however many calls there are.
        known_tokens, new_bytes: size of the context at the last reply, and the bulk of what was appended since.
        booked: what the ledger was told of the tally when the run last asked, waited or ended.
        told: the model was told once what is not yet true.
        closing: the model has stopped and is not asked again; what people decide is still done.
        paused: the run stands waiting, released; `waited`: it has, once at least.
        children: how many calls without an outcome have a run that answers them.
    """

    run: RunId
    models: tuple[str, ...] = ()
    phase: Phase = Phase.START
    commanded: bool = False
    started: RunStarted | None = None
    at_ms: int = 0
    label: Label = TRUSTED
    asked_label: Label = TRUSTED
    turn: int = 0
    attempt: int = 0
    requested: bool = False
    model: str = ""
    operation: OperationId | None = None
    blocked: tuple[Blocked, ...] = ()
    answers_only: bool = False
    held: int = 0
    behind: bool = False
    failure: RequestFailed | None = None
    open_turn: bool = False
    stop: Stop = "end"
    refusal: str | None = None
    text: str = ""
    so_far: str = ""
    calls: tuple[CallState, ...] = ()
    places: dict[CallId, int] = field(default_factory=dict[CallId, int])
    statuses: dict[CallStatus, int] = field(default_factory=dict[CallStatus, int])
    earlier: int = 0
    considered: int = 0
    operations: dict[OperationId, OperationState] = field(default_factory=dict[OperationId, OperationState])
    tally: Tally = field(default_factory=Tally)
    known_tokens: int = 0
    new_bytes: int = 0
    booked: Spent = field(default_factory=Spent)
    checked: AnswerChecked | None = None
    told: bool = False
    closing: bool = False
    cancelled: CancelRequested | None = None
    ending: Ending | None = None
    paused: bool = False
    waited: bool = False
    children: int = 0
    ended: RunEnded | None = None

    @property
    def is_shared(self) -> bool:
        """Whether other runs take from the same budgets now, so that every call and every request to a person is taken from
        them in the ledger before it is made."""
        return self.children > 0 or (self.started is not None and self.started.parent is not None)

    @property
    def on_wait(self) -> Literal["hold", "answer"]:
        """What the model is told of a call that waits for a person."""
        return "hold" if self.started is None else self.started.on_wait

    @property
    def usage(self) -> Usage:
        """Tokens and list price of all replies."""
        return self.tally.usage

    @property
    def current(self) -> tuple[CallState, ...]:
        """The calls of the last reply, in the model's order."""
        return tuple([call for call in self.calls if call.turn == self.turn])

    @property
    def unanswered(self) -> tuple[CallState, ...]:
        """The calls without an outcome, of all turns."""
        return tuple([call for call in self.calls if call.status != "ended"])

    @property
    def asked(self) -> tuple[ApprovalId, ...]:
        """What people were asked about calls without an outcome, here or by the runs that answer them."""
        own = [call for call in self.unanswered if call.child is None and call.approval is not None]
        below = [approval for call in self.unanswered for approval in call.below]
        return (*[call.approval for call in own if call.approval is not None], *below)

    @property
    def unfinished(self) -> tuple[CallState, ...]:
        """All calls of the turns that have one without an outcome: how the others ended decides whether it may start."""
        turns = {call.turn for call in self.calls if call.status != "ended"}
        return tuple([call for call in self.calls if call.turn in turns])

    @property
    def open_operations(self) -> tuple[OperationId, ...]:
        """Operations of this run that are dispatched or unknown."""
        return tuple(name for name, state in self.operations.items() if state in ("dispatched", "unknown"))

    def call(self, name: CallId) -> CallState | None:
        """The call of that name, if its turn is this one, or has a call without an outcome."""
        place = self.places.get(name)
        return None if place is None else self.calls[place]

    @property
    def is_open(self) -> bool:
        """Whether any call has no outcome."""
        return self.earlier > 0 or len(self.statuses) > ("ended" in self.statuses)

    def any_call(self, statuses: Set[CallStatus]) -> bool:
        """Whether any call is in one of these."""
        if not statuses.isdisjoint(self.statuses):
            return True
        return self.earlier > 0 and any(call.status in statuses for call in self.calls if call.turn != self.turn)

    def draft(self) -> Draft:
        """A copy that may be changed. Its calls are still those of this state: see `draft_call`."""
        return Draft(RunState(*_OF_RUN(self)))


Draft = NewType("Draft", RunState)
"""A state that nobody has seen yet."""

_OF_RUN = attrgetter(*(one.name for one in fields(RunState)))


def draft_call(draft: Draft, call: CallState) -> CallDraft:
    """A copy of the call in its place in the draft, to be changed; a new status is then counted by `count_status`."""
    mine = CallDraft(CallState(*_OF_CALL(call)))
    calls = [*draft.calls]
    calls[draft.places[call.id]] = mine
    draft.calls = tuple(calls)
    return mine


def put_statuses(draft: Draft, statuses: Sequence[tuple[CallState, CallStatus]]) -> None:
    """The calls have these statuses now."""
    if not statuses:
        return
    calls = [*draft.calls]
    for call, status in statuses:
        calls[draft.places[call.id]] = mine = CallState(*_OF_CALL(call))
        mine.status = status
        count_status(draft, mine, call.status)
    draft.calls = tuple(calls)


def count_status(draft: Draft, call: CallState, was: CallStatus) -> None:
    """The call's status was another."""
    if call.status == was:
        return
    if call.turn != draft.turn:
        draft.earlier += (was == "ended") - (call.status == "ended")
        return
    counts: dict[CallStatus, int] = {**draft.statuses, call.status: draft.statuses.get(call.status, 0) + 1}
    counts[was] -= 1
    if not counts[was]:
        del counts[was]
    draft.statuses = counts


def seat_calls(draft: Draft, calls: tuple[CallState, ...]) -> None:
    """These are the calls now."""
    draft.calls = calls
    draft.places = {call.id: place for place, call in enumerate(calls)}
    statuses: dict[CallStatus, int] = {}
    earlier = 0
    for call in calls:
        if call.turn == draft.turn:
            statuses[call.status] = statuses.get(call.status, 0) + 1
        elif call.status != "ended":
            earlier += 1
    draft.statuses, draft.earlier = statuses, earlier
    draft.considered = 0
