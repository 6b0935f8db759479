"""What a run used and did, counted from its events by rules of its own: nothing here asks the package's tally,
schedule or state. An event that the law forbids fails when it is entered."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from remit.types.budget import Budget
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
    Event,
    MessageAppended,
    ModelRequested,
    OperationMoved,
    Replied,
    RequestFailed,
    ResultsAppended,
    Resumed,
    RunEnded,
    RunStarted,
    Waiting,
)
from remit.types.ident import ApprovalId, CallId, Digest, OperationId
from remit.types.outcome import Failed, NotRun, Outcome, Refused, Succeeded, Unknown

ATTEMPTS = 4
CORRECTIONS = 1
DECLINED = (
    "model.rate_limited",
    "model.overloaded",
    "model.refused_request",
    "model.unauthorized",
    "model.context_full",
    "model.not_found",
)
"""The provider's word that it did not take a request up: what was reserved for it is given back."""


@dataclass
class Entry:
    """A proposal, and what was recorded of it."""

    id: CallId
    turn: int
    position: int
    name: str
    arguments: str
    effect: str | None = None
    resources: tuple[str, ...] | None = None
    key: Digest | None = None
    verdict: str | None = None
    same: tuple[str, Digest | None] | None = None
    approval: ApprovalId | None = None
    operation: OperationId | None = None
    dispatched: bool = False
    begun: bool = False
    waits: bool = False
    outcome: Outcome | None = None
    trusted: bool = True

    @property
    def harmed(self) -> bool:
        """It is known or feared that it did not do what later ones build on."""
        if self.effect not in ("write", "agent"):
            return False
        held = isinstance(self.outcome, NotRun) and self.outcome.code in ("held_back", "waiting")
        return held or isinstance(self.outcome, Failed | Unknown)

    def apart(self, other: Entry) -> bool:
        """The order of the two cannot matter."""
        if "agent" in (self.effect, other.effect):
            return self.effect == other.effect
        if "ask" in (self.effect, other.effect):
            return False
        if self.name == other.name and self.key and other.key:
            return self.key != other.key
        if self.resources is None or other.resources is None:
            return False
        return not {*self.resources} & {*other.resources}


@dataclass
class Book:
    """One run's account."""

    budget: Budget
    calls: dict[CallId, Entry] = field(default_factory=dict[CallId, Entry])
    attempts: dict[int, int] = field(default_factory=dict[int, int])
    tokens: int = 0
    reserved: int = 0
    counted: int = 0
    counted_by_tool: Counter[str] = field(default_factory=Counter[str])
    errors: int = 0
    same: Counter[tuple[str, Digest | None]] = field(default_factory=Counter[tuple[str, Digest | None]])
    results: dict[tuple[str, Digest | None], list[str]] = field(default_factory=dict[tuple[str, Digest | None], list[str]])
    asked: dict[ApprovalId, str | None] = field(default_factory=dict[ApprovalId, str | None])
    consumed: set[ApprovalId] = field(default_factory=set[ApprovalId])
    operations: dict[OperationId, str] = field(default_factory=dict[OperationId, str])
    sent: Counter[OperationId] = field(default_factory=Counter[OperationId])
    receipts: list[CallId] = field(default_factory=list[CallId])
    answered_turns: list[int] = field(default_factory=list[int])
    corrections: int = 0
    active_ms: int = 0
    since_ms: int | None = None
    last_ms: int = 0
    trusted: bool = True
    holds: bool = False
    cancelled: bool = False
    paused: bool = False
    ended: RunEnded | None = None

    # what may be done, by the law

    def may_request(self, now_ms: int, reserve: int, *, attempt: int) -> str | None:
        budget = self.budget
        if attempt == 1 and budget.turns is not None and len(self.attempts) >= budget.turns:
            return "budget.turns"
        spent_ms = self.active_ms + (0 if self.since_ms is None else now_ms - self.since_ms)
        if budget.seconds is not None and spent_ms >= budget.seconds * 1000:
            return "budget.seconds"
        if budget.tokens is not None and self.tokens + reserve > budget.tokens:
            return "budget.tokens"
        return None

    def admit(self, name: str, digest: Digest, *, polls: bool) -> str | None:
        budget, per_tool = self.budget, self.budget.calls_per_tool
        assert per_tool is None or isinstance(per_tool, int)
        if budget.calls is not None and self.counted >= budget.calls:
            return "budget.calls"
        if per_tool is not None and self.counted_by_tool[name] >= per_tool:
            return "budget.calls_per_tool"
        if budget.consecutive_errors is not None and self.errors >= budget.consecutive_errors:
            return "budget.errors"
        times = self.unchanged(name, digest) if polls else self.same[name, digest]
        return "budget.repeats" if budget.repeats is not None and times >= budget.repeats else None

    def unchanged(self, name: str, digest: Digest) -> int:
        results = self.results.get((name, digest), [])
        return next((place for place, one in enumerate(reversed(results)) if one != results[-1]), len(results))

    def may_ask(self) -> str | None:
        most = self.budget.approvals
        return "budget.approvals" if most is not None and len(self.asked) >= most else None

    def holder(self, name: str, key: Digest) -> OperationId | None:
        """The operation that holds this business key."""
        held = {one for one, state in self.operations.items() if state in ("dispatched", "unknown", "succeeded")}
        return next(
            (one.operation for one in self.calls.values() if (one.name, one.key) == (name, key) and one.operation in held), None
        )

    # what happened

    def add(self, event: Event, at_ms: int) -> None:
        """Enter one event; it must be one that may happen now."""
        assert self.ended is None, f"{event.kind} after the end"
        assert not self.paused or isinstance(event, Resumed), f"{event.kind} while nobody owns the run"
        match event:
            case ModelRequested() | Replied() | RequestFailed():
                self._model(event)
            case CallConsidered() | ApprovalRequested() | ApprovalDecided() | OperationMoved() | CallEnded():
                self._call(event)
            case ChildStarted() | ChildWaiting() | ChildReturned():
                self._child(event)
            case ResultsAppended():
                self._results(event)
            case MessageAppended():
                self.trusted = self.trusted and event.label.trusted
                self.corrections += event.source == "correction"
                assert self.corrections <= CORRECTIONS, "the model is told again and again"
            case AnswerChecked():
                self.holds = event.valid and event.done
            case CancelRequested():
                self.cancelled = True
            case RunStarted() | Resumed() | Waiting() | RunEnded():
                self._owned(event, at_ms)
            case _:
                pass
        self.last_ms = at_ms

    def _owned(self, event: RunStarted | Resumed | Waiting | RunEnded, at_ms: int) -> None:
        if self.since_ms is not None:
            until = self.last_ms if isinstance(event, Resumed) else at_ms
            self.active_ms += until - self.since_ms
        self.since_ms = at_ms if isinstance(event, RunStarted | Resumed) else None
        self.paused = isinstance(event, Waiting)
        if isinstance(event, Resumed):
            self.reserved = 0
            for one in self.calls.values():
                one.waits = False
        if isinstance(event, Waiting):
            assert set(event.approvals) >= {one for one, verdict in self.asked.items() if verdict is None and self._open(one)}
        if isinstance(event, RunEnded):
            self._ended(event)

    def _open(self, approval: ApprovalId) -> bool:
        return any(one.approval == approval and one.outcome is None for one in self.calls.values())

    def _model(self, event: ModelRequested | Replied | RequestFailed) -> None:
        if isinstance(event, ModelRequested):
            self._request(event)
            return
        if isinstance(event, Replied):
            if event.usage.reported:
                self.tokens += event.usage.input_tokens + event.usage.output_tokens - self.reserved
            for call in event.calls:
                name = CallId(f"{event.turn}.{call.position}")
                assert name not in self.calls
                self.calls[name] = Entry(name, event.turn, call.position, call.name, call.arguments)
        elif not event.started:
            self.tokens -= self.reserved
        self.reserved = 0

    def _request(self, event: ModelRequested) -> None:
        assert not self.cancelled, "the model is asked after the cancel"
        assert (event.label.trusted) == self.trusted, "what the model has read does not label what it says"
        turn, before = event.turn, max(self.attempts, default=0)
        assert turn in (before, before + 1)
        if turn > before:
            mine = [one for one in self.calls.values() if one.turn == before]
            assert not mine or before in self.answered_turns, "the model is asked before it was answered"
            refused = [isinstance(one.outcome, Refused) and one.outcome.code.startswith("budget.") for one in mine]
            assert not mine or not all(refused), "the run goes on after a turn that was wholly refused"
        self.attempts[turn] = self.attempts.get(turn, 0) + 1
        assert event.attempt == self.attempts[turn] <= ATTEMPTS, "a request is made again and again"
        self.tokens += event.reserved_tokens
        self.reserved = event.reserved_tokens
        assert self.budget.turns is None or len(self.attempts) <= self.budget.turns
        assert self.budget.tokens is None or self.tokens <= self.budget.tokens

    def _results(self, event: ResultsAppended) -> None:
        mine = [one for one in self.calls.values() if one.turn == event.turn]
        open_ = {one.id for one in mine if one.outcome is None}
        assert open_ == {*event.receipts}, "the transcript is not closed"
        assert mine
        assert event.turn not in self.answered_turns
        self.answered_turns.append(event.turn)
        self.receipts += event.receipts
        self.trusted = self.trusted and all(one.trusted for one in mine if one.outcome is not None)

    # calls

    def _call(self, event: CallConsidered | ApprovalRequested | ApprovalDecided | OperationMoved | CallEnded) -> None:
        call = self.calls[event.call]
        match event:
            case CallConsidered():
                self._considered(call, event)
            case ApprovalRequested():
                assert not self.cancelled, "a person is asked after the cancel"
                self.asked[event.approval] = None
                call.approval = event.approval
                assert self.budget.approvals is None or len(self.asked) <= self.budget.approvals
            case ApprovalDecided():
                assert self.asked[event.approval] is None, "decided twice"
                self.asked[event.approval] = event.verdict
                if event.verdict == "void":
                    call.approval = None
            case OperationMoved():
                self._moved(call, event)
            case CallEnded():
                self._answered(call, event)

    def _considered(self, call: Entry, event: CallConsidered) -> None:
        assert call.outcome is None, f"{call.id} is considered after its answer"
        assert not call.dispatched, f"{call.id} is considered after its dispatch"
        if call.same is None:
            call.same = (event.tool, event.digest)
            self.counted += 1
            self.counted_by_tool[event.tool] += 1
            self.same[call.same] += 1
            over = event.step in ("budget", "stop")
            assert over or self.budget.calls is None or self.counted <= self.budget.calls
        call.effect, call.resources, call.key, call.verdict = event.effect, event.resources, event.key, event.verdict

    def _moved(self, call: Entry, event: OperationMoved) -> None:
        self.operations[event.operation] = event.state
        call.operation = event.operation
        if event.state != "dispatched":
            return
        assert not self.cancelled, f"{call.id} starts after the cancel"
        self.sent[event.operation] += 1
        assert event.attempt == self.sent[event.operation], f"{event.operation} was sent twice as attempt {event.attempt}"
        if event.on != "resent":
            self._may_start(call, event)
            self._in_order(call)

    def _child(self, event: ChildStarted | ChildWaiting | ChildReturned) -> None:
        call = self.calls[event.call]
        assert call.outcome is None, f"a run still answers {call.id}"
        match event:
            case ChildStarted():
                assert not self.cancelled, f"a run begins for {call.id} after the cancel"
                assert call.verdict == "ready", f"a run begins for {call.id} undecided: {call.verdict}"
                if call.approval is not None:
                    assert self.asked[call.approval] == "approved", f"a run begins for {call.id} without its approval"
                self._in_order(call)
                call.begun = True
            case ChildWaiting():
                assert call.begun
                call.waits = True
            case ChildReturned():
                assert call.waits
                call.waits = False

    def _may_start(self, call: Entry, event: OperationMoved) -> None:
        assert call.outcome is None
        assert not call.dispatched, f"{call.id} was dispatched twice"
        call.dispatched = True
        assert call.verdict == "ready", f"{call.id} runs undecided: {call.verdict}"
        if call.approval is None:
            assert event.on == "allowed"
            return
        assert event.on == "approved"
        assert self.asked[call.approval] == "approved", f"{call.id} runs without its approval"
        assert call.approval not in self.consumed, f"{call.approval} was used twice"
        self.consumed.add(call.approval)

    def _in_order(self, call: Entry) -> None:
        """No write starts before an earlier one that it is not apart from has ended, and ended well."""
        for one in self.calls.values():
            if one is call or (one.outcome is not None and one.turn != call.turn):
                continue
            if one.effect == "write" and one.dispatched and one.outcome is None:
                assert call.apart(one), f"{one.id} and {call.id} run at once"
            if one.turn != call.turn or one.position > call.position:
                continue  # what the model knows as submitted has a test of its own
            if one.effect == "read":
                assert one.outcome is not None or one.verdict != "ready", f"{call.id} starts before the read {one.id} ended"
            elif one.effect in ("write", "ask", "agent") and not call.apart(one):
                assert one.outcome is not None, f"{call.id} starts before {one.id} ended"
                assert not one.harmed, f"{call.id} starts after {one.id} came to harm"

    def may_read(self, call: Entry) -> None:
        """A read sees what the writes before it did, if they can start without a person."""
        turn = [one for one in self.calls.values() if one.turn == call.turn]
        blocked = any(one.outcome is None and (one.waits or one.verdict in ("waiting", "joined")) for one in turn)
        harmed = any(one.harmed for one in turn)
        changing = [one for one in turn if one.effect in ("write", "agent") and one.outcome is None]
        before = [one for one in changing if one.position < call.position and not one.waits]
        running = [one.id for one in before if one.dispatched or one.begun or not (blocked or harmed)]
        assert not running, f"{call.id} reads before {running} ended"

    def _answered(self, call: Entry, event: CallEnded) -> None:
        assert call.outcome is None, f"{call.id} got two answers"
        call.outcome, call.trusted = event.outcome, event.label.trusted
        if isinstance(event.outcome, Succeeded):
            self.errors = 0
        elif isinstance(event.outcome, Refused | Failed):
            self.errors += 1
        told = repr(event.outcome.value) if isinstance(event.outcome, Succeeded) else event.outcome.kind + event.outcome.code
        if call.same is not None:
            self.results.setdefault(call.same, []).append(told)

    # the end

    def _ended(self, event: RunEnded) -> None:
        self.ended = event
        unanswered = [one.id for one in self.calls.values() if one.outcome is None]
        assert not unanswered, f"{unanswered} have no answer"
        turns = sorted({one.turn for one in self.calls.values()})
        assert turns == self.answered_turns, "the transcript is not closed"
        running = [one for one, state in self.operations.items() if state in ("dispatched", "awaiting_approval")]
        assert not running, f"{running} go on after the end"
        assert event.how != "finished" or self.holds
