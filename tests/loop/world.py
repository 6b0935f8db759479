"""A world that answers a run's commands in any legal way: no gate, no model, no store, no clock.

Every command becomes a job; a job takes one or several steps, each of which records events. Who picks
the steps, and what the world answers, is the caller's: a script, a random source or Hypothesis. What it
records goes into a book of its own (`book.py`), which knows the law and nothing of the package.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

from loop.book import DECLINED, Book
from remit.budget import budget_to_json
from remit.loop.command import (
    AppendResults,
    Ask,
    Cancel,
    CheckAnswer,
    Command,
    Consider,
    Correct,
    Deny,
    End,
    HoldBack,
    Pause,
    Reconsider,
    Recover,
    Rejoin,
    Start,
    Tell,
)
from remit.loop.limits import Limits
from remit.loop.phase import Phase
from remit.loop.state import CallState, Ending, RunState
from remit.loop.transition import stop, transition
from remit.types.budget import Budget, Spent, Usage
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
    Recorded,
    Replied,
    RequestFailed,
    ResultsAppended,
    Resumed,
    RunEnded,
    RunStarted,
    Waiting,
)
from remit.types.ident import ApprovalId, CallId, Digest, OperationId, OwnerId, RunId, Wording, child_of
from remit.types.label import TRUSTED, UNTRUSTED
from remit.types.model import Call, Stop
from remit.types.outcome import Failed, NotRun, Outcome, Refused, Succeeded, Unknown

T = TypeVar("T")
Pick = Callable[[Sequence[T]], T]

RUN = RunId("run_1")
STOPS: tuple[Stop, ...] = ("calls", "end", "length", "context", "refusal", "filter", "pause", "compaction", "unknown")
TOOLS = ("read", "write", "write_a", "write_b", "ask_user", "pay", "poll", "helper")
READS = ("read", "poll")
WRITES = ("write_a", "write", "write_b") * 3
ARGUMENTS = ("{}", '{"n":1}')
TOUCHES = {"write_a": ("a",), "write_b": ("b",)}
MOODS = ("plain", "flaky", "eager", "careful", "doubtful")
"""What a world is inclined to: requests that fail, models that stop too soon, people who are asked, ends in doubt."""
RESERVED = 100
OWNERS = (("scripted:m", "scripted:n"), ("scripted:n",), ("scripted:o", "scripted:n"))
"""The models that those have who take the run up."""


def started(*, budget: Budget | None = None, on_wait: str = "hold") -> RunStarted:
    return RunStarted(
        agent="support",
        agent_digest=Digest("0"),
        model="scripted:m",
        protocol="anthropic",
        fallbacks=("scripted:n",),
        head=Wording('"model":"m"'),
        tools=(),
        tenant="t",
        subject="alice",
        scopes=(),
        root=RUN,
        label=TRUSTED,
        budget=budget_to_json(budget or Budget()),
        on_wait="answer" if on_wait == "answer" else "hold",
    )


def said(text: str = "hello") -> MessageAppended:
    return MessageAppended(wording=Wording(f'"{text}"'), source="user", label=TRUSTED)


def proposal(position: int, name: str, arguments: str = "{}", *, cut: bool = False) -> Call:
    return Call(position=position, wire_id=f"w{position}", name=name, arguments=arguments, cut=cut)


def replied(turn: int, calls: Sequence[Call] = (), *, stop: Stop = "calls", text: str = "", attempt: int = 1) -> Replied:
    return Replied(
        turn=turn,
        attempt=attempt,
        wording=Wording('{"role":"assistant"}'),
        text=text,
        calls=tuple(calls),
        stop=stop,
        raw_stop=stop,
        usage=Usage(input_tokens=10, output_tokens=5, cost_usd_micros=0),
    )


def check_counts(state: RunState) -> None:
    """What is counted along the way is what is there."""
    here = [call for call in state.calls if call.turn == state.turn]
    assert state.places == {call.id: place for place, call in enumerate(state.calls)}
    assert +Counter(state.statuses) == Counter(call.status for call in here)
    assert state.earlier == sum(call.status != "ended" for call in state.calls if call.turn != state.turn)
    assert state.is_open == bool(state.unanswered)
    assert state.children == sum(call.child is not None for call in state.unanswered)
    assert all(call.turn != state.turn or call.status != "proposed" for call in state.calls[: state.considered])


@dataclass
class Job:
    """A command under way. `step` counts what was recorded for it."""

    command: Command
    step: int = 0


@dataclass
class World:
    """One run, in a world that does whatever `pick` says."""

    pick: Pick[object]
    budget: Budget = field(default_factory=Budget)
    on_wait: str = "hold"
    mood: str = "plain"
    state: RunState = field(default_factory=lambda: RunState(run=RUN))
    journal: list[Recorded] = field(default_factory=list[Recorded])
    jobs: list[Job] = field(default_factory=list[Job])
    now_ms: int = 1_000
    limited: bool = False
    told: list[CallId] = field(default_factory=list[CallId])
    truth: dict[OperationId, bool] = field(default_factory=dict[OperationId, bool])
    children: set[CallId] = field(default_factory=set[CallId])
    effects: dict[object, set[OperationId]] = field(default_factory=dict[object, set[OperationId]])
    unsettled_cancel: bool = False
    waits: bool = False
    unsent: int = 0

    def __post_init__(self) -> None:
        self.book = Book(self.budget)

    @property
    def limits(self) -> Limits:
        """The package's own, as the driver has them."""
        return Limits(self.budget, None, (), Spent())

    # the journal

    def record(self, *events: Event) -> None:
        for event in events:
            self.now_ms += 1
            self.take(self.enter(Recorded(RUN, len(self.journal) + 1, self.now_ms, event)))

    def enter(self, recorded: Recorded) -> tuple[Command, ...]:
        self.journal.append(recorded)
        self.book.add(recorded.event, recorded.at_ms)
        self.check_words(recorded.event)
        before, seen = self.state, repr(self.state)
        self.state, commands = transition(before, recorded)
        assert repr(before) == seen, "a transition leaves the state that it was given as it was"
        check_counts(self.state)
        self.told += [one.call for one in commands if isinstance(one, Tell)]
        return commands

    def check_words(self, event: Event) -> None:
        """What was said is sent before the run is finished, though nothing is said behind a reply that waits."""
        match event:
            case RunStarted():
                self.waits = event.answers_only
            case MessageAppended():
                self.unsent += 1
            case ModelRequested() if not self.waits:
                self.unsent = 0
            case Replied():
                self.waits = bool(event.unresolved) or event.stop == "pause"
            case RunEnded(how="finished"):
                assert not self.unsent, "the model has not been told everything"
            case _:
                pass

    def take(self, commands: Sequence[Command]) -> None:
        for command in commands:
            if isinstance(command, Tell):
                continue
            if isinstance(command, Pause | End):
                self.forget()
            self.check_command(command)
            self.jobs.append(Job(command))

    def check_command(self, command: Command) -> None:
        """What nobody may be told to do."""
        assert command not in [job.command for job in self.jobs], f"{command} was given twice"
        if not isinstance(command, Consider | Reconsider | Start | Recover | Rejoin | HoldBack | Deny | Cancel):
            return
        call = self.book.calls[command.call]
        assert call.outcome is None, f"{command}: it has its answer"
        assert isinstance(command, Rejoin) == call.begun, f"{command}: what another run answers is joined, and nothing else"
        if isinstance(command, Recover):
            assert call.dispatched, f"{command}: it has not started"
        else:
            assert not call.dispatched, f"{command}: what has started is only recovered"
        if isinstance(command, Start | HoldBack):
            assert call.verdict == "ready", f"{command}: it is {call.verdict}"
        if isinstance(command, Start) and call.effect == "read":
            self.book.may_read(call)

    def forget(self) -> None:
        """What was asked for in a phase that was left: the driver passes over it."""
        stale = Pause | End | CheckAnswer | Correct if self.ended else Pause | End
        self.jobs = [job for job in self.jobs if not isinstance(job.command, stale)]

    def start(self) -> None:
        self.book = Book(self.budget)
        first = replace(said(), label=self.choose(TRUSTED, TRUSTED, TRUSTED, UNTRUSTED))
        begun = started(budget=self.budget, on_wait=self.on_wait)
        self.record(replace(begun, answers_only=self.choose(False, False, False, True)), first)

    # jobs

    @property
    def ended(self) -> bool:
        return self.state.ended is not None

    @property
    def waiting(self) -> list[CallState]:
        """The calls about which a person has not decided."""
        return [call for call in self.state.unanswered if call.status == "awaiting"]

    def choose(self, *options: T) -> T:
        return self.pick(options)  # type: ignore[return-value]

    def crash(self) -> None:
        """The process dies and another takes the run up."""
        self.jobs.clear()
        models = OWNERS[len(self.journal) % len(OWNERS)]
        self.record(Resumed(owner=OwnerId("o2"), scopes=(), scopes_from="recorded", models=models))

    def decide(self, call: CallState) -> None:
        """A person, or time, decides about a call that waits."""
        if call.child is not None:
            self._return(call)
            return
        if call.approval is None:
            return
        verdicts = ("answered", "expired") if call.effect == "ask" else ("approved", "denied", "expired", "void", "withdrawn")
        verdict = self.choose(*(one for one in verdicts if one != "withdrawn" or call.operation is not None))
        if self.state.paused:
            self.crash()
        if verdict == "withdrawn":
            self._end(call.id, NotRun(code="withdrawn", message=""), on="withdrawn")
        else:
            self.record(ApprovalDecided(approval=call.approval, call=call.id, verdict=verdict, by="bob"))  # type: ignore[arg-type]

    def _return(self, call: CallState) -> None:
        """The run that answers a call, and that waited, has ended."""
        assert call.child is not None
        if self.state.paused:
            self.crash()
        else:
            self.record(ChildReturned(call=call.id, child=call.child))

    def cancel(self) -> None:
        """Somebody cancels; a reply may be on its way still."""
        if self.state.paused:
            self.crash()
        self.unsettled_cancel = self.state.ending is None
        asking = [job for job in self.jobs if isinstance(job.command, Ask)]
        self.record(CancelRequested(by="bob"))
        self.jobs = [job for job in self.jobs if not isinstance(job.command, Ask)]
        for job in asking:
            if job.step and self.state.requested and self.choose(False, True):
                self._reply(job.command)  # type: ignore[arg-type]

    def work(self, job: Job) -> None:
        """Take one step of a job."""
        job.step += 1
        done = True
        match job.command:
            case Ask():
                done = self._ask(job.command, job.step)
            case Consider(call=name):
                self._consider(name)
            case Reconsider(call=name):
                self._reconsider(name)
            case Start(call=name):
                done = self._execute(name, job.step)
            case Recover(call=name, operation=operation):
                done = self._recover(name, operation)
            case Rejoin(call=name, stop=stop):
                done = self._rejoin(name, job.step, stop=stop)
            case HoldBack(call=name, code=code):
                self._end(name, NotRun(code=code, message=""))
            case Cancel(call=name):
                self._end(name, NotRun(code="cancelled", message=""))
            case Deny(call=name, code=code):
                self._considered(name, "settled", step="stop")
                self._end(name, Refused(code=code, message=""))
            case AppendResults(turn=turn):
                receipts = tuple(call.id for call in self.state.current if call.status != "ended")
                self.record(ResultsAppended(turn=turn, wording=Wording('"results"'), receipts=receipts))
            case CheckAnswer(turn=turn):
                if self.state.phase is Phase.VALIDATE_FINAL:
                    self._check_answer(turn)
            case Correct():
                if self.state.phase is Phase.RETURN_CORRECTION:
                    self.record(replace(said("not yet"), source="correction"))
            case Pause(text=text):
                if self.state.phase is Phase.WAIT:
                    self.record(Waiting(approvals=self.state.asked, text=text))
                    self.forget()
            case End(how=how, reason=reason):
                if self.state.phase in (Phase.STOP, Phase.ESCALATE) and not self.state.unanswered:
                    self.record(RunEnded(how=how, reason=reason))
                    self.forget()
            case _:
                raise AssertionError(job.command)
        if done and job in self.jobs:
            self.jobs.remove(job)

    def _check_answer(self, turn: int) -> None:
        holds = ((True, True), (True, False), (False, False))
        valid, done = self.choose(*(holds[1:] * 2 if self.mood == "eager" else ()), *holds)
        self.record(AnswerChecked(turn=turn, valid=valid, done=done, message="no", code="done.not"))

    # the model

    def _ask(self, command: Ask, step: int) -> bool:
        if step == 1:
            if self.state.phase is not Phase.CHECK_BUDGETS:
                return True
            reason = self.limits.may_request(self.state, self.now_ms, tokens=RESERVED, usd_micros=0)
            assert reason == self.book.may_request(self.now_ms, RESERVED, attempt=command.attempt)
            if reason is not None:
                self.limited = True
                self.state, commands = stop(self.state, Ending("stopped", reason))
                self.take(commands)
                return True
            self.record(
                ModelRequested(
                    turn=command.turn,
                    attempt=command.attempt,
                    model=command.model,
                    reserved_tokens=RESERVED,
                    reserved_usd_micros=0,
                    label=self.state.label,
                )
            )
            return False
        if self.state.phase is not Phase.ASK_MODEL:
            return True
        flaky = self.mood == "flaky"
        if self.choose(*([False] * 6 if flaky else [True] * 3), True, False):
            self._reply(command)
        else:
            retryable = self.choose(*[True] * (4 if flaky else 1), False)
            code = self.choose(*["model.unavailable"] * 4, DECLINED[1], "model.context_full")
            self.record(
                RequestFailed(
                    turn=command.turn,
                    attempt=command.attempt,
                    code=code,
                    message="",
                    retryable=retryable,
                    started=code not in DECLINED,
                )
            )
        return True

    def _reply(self, command: Ask) -> None:
        stops: list[Stop] = ["end"] * 6 if self.mood == "eager" else ["calls"] * 9 + ["end"] * 3
        stop = self.choose(*stops, *STOPS)
        count = (
            self.choose(*([2, 3, 4, 5] * 3 if self.mood == "doubtful" else [1]), 1, 2, 3, 4, 6, 0)
            if stop != "end"
            else self.choose(0, 0, 1)
        )
        calls = [proposal(place, self.choose(*TOOLS), self.choose(*ARGUMENTS), cut=stop == "length") for place in range(count)]
        reply = replied(command.turn, calls, stop=stop, text="words", attempt=command.attempt)
        if len(self.journal) % 7 == 0:
            reply = replace(reply, usage=Usage(reported=False))
        waits = stop in ("calls", "pause") and self.choose(*[False] * 5, True)
        self.record(replace(reply, unresolved=("srv_1",)) if waits else reply)

    # the gate

    def _may_ask(self) -> bool:
        code = self.limits.may_ask(self.state)
        assert code == self.book.may_ask()
        return code is None

    def _admit(self, call: CallState) -> str | None:
        same, polls = _digest(call), call.name == "poll"
        code = self.limits.admit(self.state, call.name, same, polls=polls)
        assert code == self.book.admit(call.name, same, polls=polls), call.id
        return code

    def _considered(self, name: CallId, verdict: str, *, step: str = "authorize", joined: CallId | None = None) -> None:
        call = self.state.call(name)
        assert call is not None
        effect = {"ask_user": "ask", "helper": "agent"}.get(call.name, "read" if call.name in READS else "write")
        self.record(
            CallConsidered(
                call=name,
                tool=call.name,
                effect=effect,  # type: ignore[arg-type]
                contract=Digest("c"),
                arguments=call.arguments,
                digest=_digest(call),
                verdict=verdict,  # type: ignore[arg-type]
                step=step,
                code="x",
                label=TRUSTED,
                resources=TOUCHES.get(call.name),
                joined=joined,
                key=_digest(call) if call.name == "pay" else None,
            )
        )

    def _waits(self, call: CallState) -> bool:
        """Its operation waits for a person."""
        return call.operation is not None and self.book.operations[call.operation] == "awaiting_approval"

    def _end(self, name: CallId, outcome: Outcome, *, on: str = "cancelled") -> None:
        call = self.state.call(name)
        if call is None or call.status == "ended":
            return
        if call.operation is not None and self._waits(call):
            self._moved(name, call.operation, on, "closed")
        label = self.choose(TRUSTED, TRUSTED, TRUSTED, UNTRUSTED)
        self.record(CallEnded(call=name, tool=call.name, outcome=outcome, label=label, changed=None))

    def _consider(self, name: CallId) -> None:
        call = self.state.call(name)
        assert call is not None
        if not call.counted:
            over = self._admit(call)
            if over is not None:
                self._considered(name, "settled", step="budget")
                self._end(name, Refused(code=over, message=""))
                return
        if self.state.cancelled is not None:
            self._considered(name, "ready")
            return
        self._look(name, call)

    def _look(self, name: CallId, call: CallState) -> None:
        """Any verdict that a gate may come to."""
        verdicts = ["ready"] * (8 if self.mood == "doubtful" else 2) + ["settled"]
        if call.name not in READS and self._may_ask():
            verdicts += ["waiting"] * (4 if self.mood == "careful" else 1)
        if call.name == "ask_user":
            verdicts = [one for one in verdicts if one != "ready"]
        holder = self._like(call)
        if holder is not None:
            verdicts += ["joined", "joined"]
        if call.joined is not None:
            verdicts.insert(0, "settled")
        verdict = self.choose(*verdicts)
        if verdict == "waiting":
            self._wait_for_a_person(name)
        else:
            self._considered(name, verdict, joined=holder.id if holder is not None and verdict == "joined" else None)
        if verdict == "settled":
            self._end(name, self.choose(Refused(code="policy.denied", message=""), Succeeded(repeat=True)))

    def _like(self, call: CallState) -> CallState | None:
        """An earlier call whose pending operation this one may share."""
        if call.name in ("ask_user", "helper"):
            return None
        same = [one for one in self.state.current if one.status == "awaiting" and one.id < call.id]
        return next((one for one in same if (one.name, one.arguments) == (call.name, call.arguments)), None)

    def _wait_for_a_person(self, name: CallId) -> None:
        call = self.state.call(name)
        assert call is not None
        number = len(self.journal)
        approval = ApprovalId(f"apr_{number}")
        operation = call.operation if self._waits(call) else OperationId(f"op_{number}")
        self._considered(name, "waiting", step="approve")
        if call.name in ("ask_user", "helper"):
            operation = None
        elif operation is not None and operation not in self.state.operations:
            self._moved(name, operation, "requested", "awaiting_approval")
        self.record(
            ApprovalRequested(
                approval=approval,
                call=name,
                operation=operation,
                ask="question" if call.name == "ask_user" else "approval",
                preview="",
                digest=Digest("d"),
                expires_ms=None,
            )
        )

    def _moved(self, name: CallId, operation: OperationId, on: str, state: str) -> None:
        attempt = self.book.sent[operation] + (state == "dispatched")
        moved = OperationMoved(operation=operation, call=name, on=on, state=state, attempt=attempt)  # type: ignore[arg-type]
        self.record(moved)
        if state == "dispatched":
            happens = self.choose(True, True, False)
            self.truth[operation] = self.truth.get(operation, False) or happens
            if happens:
                self._happens(name, operation)

    def _happens(self, name: CallId, operation: OperationId) -> None:
        """The outside world is changed; it knows an operation by its id."""
        call = self.book.calls[name]
        done = self.effects.setdefault((call.name, call.key) if call.key else name, set())
        done.add(operation)
        assert len(done) == 1, f"{name} happened twice, as {done}"

    def _reconsider(self, name: CallId) -> None:
        call = self.state.call(name)
        assert call is not None
        assert call.approval is not None
        verdict = self.book.asked[call.approval]
        if verdict == "answered":
            self._end(name, Succeeded(value="yes"))
            return
        if verdict == "approved" and self.state.cancelled is None:
            again = self.choose("ready", "ready", "refused", "waiting")
            if again == "ready":
                self._considered(name, "ready", step="approve")
                return
            if again == "waiting" and self._may_ask():
                self._wait_for_a_person(name)
                return
        if verdict == "void" and self.state.cancelled is None and call.operation is not None:
            self._moved(name, call.operation, "contract_changed", "closed")
            self._look(name, replace(call, operation=None))
            return
        code = NotRun(code="expired", message="") if verdict == "expired" else Refused(code="denied", message="")
        self._end(name, code, on="denied")

    # the handler

    def _execute(self, name: CallId, step: int) -> bool:
        call = self.state.call(name)
        assert call is not None
        if call.effect == "agent":
            return self._child(name) if step > 1 else self._begin(name)
        if step > 1:
            assert call.operation is not None
            return self._settle(name, call.operation)
        if self.state.cancelled is not None:
            self._end(name, NotRun(code="cancelled", message=""))
            return True
        if call.effect == "read":
            self._end(name, self.choose(Succeeded(value=1), Succeeded(value=2), Failed(code="x", message="")))
            return True
        return self._dispatch(name, call)

    # the run that answers a call

    def _begin(self, name: CallId) -> bool:
        """Announce it, and begin it; the process may die in between."""
        if self.state.cancelled is not None:
            self._end(name, NotRun(code="cancelled", message=""))
            return True
        self.record(ChildStarted(call=name, child=child_of(RUN, name)))
        if self.choose(True, True, False):
            self.children.add(name)
        return False

    def _child(self, name: CallId, *, stop: bool = False) -> bool:
        """It ends, or waits for people."""
        self.children.add(name)
        if not stop and self.state.cancelled is None and self.choose(False, False, True):
            approvals = (ApprovalId(f"below_{len(self.journal)}"),)
            self.record(ChildWaiting(call=name, child=child_of(RUN, name), approvals=approvals))
            return True
        part, failed, unsure = Succeeded(incomplete=True), Failed(code="x", message=""), Unknown(code="x", message="")
        self._end(name, self.choose(Succeeded(value=1), Succeeded(value=1), part, failed, unsure))
        return True

    def _rejoin(self, name: CallId, step: int, *, stop: bool) -> bool:
        call = self.state.call(name)
        assert call is not None
        if name in self.children or step > 1:
            return self._child(name, stop=stop)
        if stop or self.state.cancelled is not None:
            self._end(name, NotRun(code="cancelled", message=""))
            return True
        self._considered(name, "ready", step="lookup")
        return self._begin(name)

    def _dispatch(self, name: CallId, call: CallState) -> bool:
        """Take the key and go; another look if it was not free."""
        found = self.choose("free", "free", "taken", "taken, and free again")
        if found == "taken" and self._may_ask():
            self._wait_for_a_person(name)
            return True
        if found == "taken, and free again":
            self._considered(name, "ready", step="lookup")
        key = self.book.calls[name].key
        holder = None if key is None else self.book.holder(call.name, key)
        if holder is not None:
            known = self.book.operations[holder] == "succeeded"
            self._end(name, Succeeded(repeat=True) if known else Unknown(code="unknown", message=""), on="key_repeat")
            return True
        if call.operation is not None and self._waits(call):
            self._moved(name, call.operation, "approved", "dispatched")
        else:
            self._moved(name, OperationId(f"op_{len(self.journal)}"), "allowed", "dispatched")
        return False

    def _settle(self, name: CallId, operation: OperationId) -> bool:
        """The handler of this process ends, or what is known of it is asked."""
        if self.book.operations[operation] == "unknown":
            return self._recover(name, operation)
        doubtful = self.choose(*([True] * 3 if self.mood == "doubtful" else [False] * 2), False, True)
        if doubtful:
            self._moved(name, operation, "in_doubt", "unknown")
            return False
        happened = self.truth[operation]
        self._moved(name, operation, *(("returned", "succeeded") if happened else ("no_effect", "failed")))
        self._end(name, Succeeded(value=1) if happened else Failed(code="x", message=""))
        return True

    def _recover(self, name: CallId, operation: OperationId) -> bool:
        """The system of record is asked, or the call is sent again under its id, or a person must look."""
        state = self.book.operations[operation]
        if state in ("succeeded", "failed"):
            self._end(name, Succeeded(value=1) if state == "succeeded" else Failed(code="x", message=""))
            return True
        if state == "dispatched":
            self._moved(name, operation, "in_doubt", "unknown")
            return False
        found = self.choose("asked", "nobody knows", *["sent again"] * (self.state.cancelled is None))
        if found == "nobody knows":
            self._end(name, Unknown(code="unknown", message=""))
            return True
        if found == "sent again" and self.book.sent[operation] < 3:
            self._moved(name, operation, "resent", "dispatched")
            return False
        happened = self.truth[operation]
        self._moved(name, operation, *(("reconciled_yes", "succeeded") if happened else ("reconciled_no", "failed")))
        self._end(name, Succeeded(value=1) if happened else Failed(code="x", message=""))
        return True

    # what must hold at all times

    def check(self) -> None:
        """Somebody moves the run, and an ended one said all that it owed."""
        if not self.ended and not self.state.paused:
            assert self.jobs, f"nobody moves the run in {self.state.phase}"
        if self.state.paused:
            assert self.waiting, "the run waits for nobody"
            assert not self.jobs
        if not self.ended:
            return
        assert self.book.ended is not None
        assert not self.jobs
        assert Counter(self.told) == Counter(self.book.receipts), "a receipt has no outcome"
        if self.unsettled_cancel:
            assert self.book.ended.how == "cancelled"


def _digest(call: CallState) -> Digest:
    return Digest(f"{call.name}{call.arguments}")


def _half(event: Event) -> bool:
    """It is in one commit with what follows."""
    if isinstance(event, CallConsidered):
        return event.verdict == "waiting"
    return isinstance(event, OperationMoved) and (event.on == "requested" or event.state == "closed")


def run_to_rest(world: World, *, steps: int = 2_000) -> None:
    """Do jobs, as `pick` likes, until the run has ended or waits."""
    for _ in range(steps):
        world.check()
        if world.ended or world.state.paused:
            return
        world.work(world.choose(*world.jobs))
    raise AssertionError("the run does not come to an end")


def run_to_end(world: World) -> None:
    """As `run_to_rest`, with people who decide whatever is asked."""
    for _ in range(200):
        run_to_rest(world)
        if world.ended:
            return
        world.decide(world.choose(*world.waiting))
    raise AssertionError("the run does not come to an end")


def take_up(journal: Sequence[Recorded], cut: int, world: World) -> World:
    """The run of this journal, cut after `cut` events, as another process takes it up."""
    again = World(world.pick, world.budget, world.on_wait, world.mood)
    while _half(journal[cut - 1].event):
        cut += 1
    for recorded in journal[:cut]:
        again.enter(recorded)
        again.now_ms = recorded.at_ms
        event = recorded.event
        if isinstance(event, OperationMoved) and event.state == "dispatched":
            again.truth[event.operation] = world.truth[event.operation]
            if again.truth[event.operation]:
                again._happens(event.call, event.operation)
        elif isinstance(event, ChildStarted) and event.call in world.children:
            again.children.add(event.call)
    again.crash()
    return again
