"""A world that answers a run's commands in any legal way: no gate, no model, no store, no clock.

Every command becomes a job; a job takes one or several steps, each of which records events. Who picks
the steps, and what the world answers, is the caller's: a script, a random source or Hypothesis.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

from remit.budget import budget_to_json
from remit.loop.command import (
    AppendResults,
    Ask,
    Backoff,
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
    Start,
    Tell,
)
from remit.loop.phase import Phase
from remit.loop.schedule import disjoint
from remit.loop.state import CallState, RunState
from remit.loop.transition import fold, limit, transition
from remit.types.budget import Budget, Usage
from remit.types.event import (
    AnswerChecked,
    ApprovalDecided,
    ApprovalRequested,
    CallConsidered,
    CallEnded,
    CancelRequested,
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
from remit.types.ident import ApprovalId, CallId, Digest, OperationId, OwnerId, RunId, Wording
from remit.types.label import TRUSTED
from remit.types.model import Call, Stop
from remit.types.outcome import Failed, NotRun, Outcome, Refused, Succeeded, Unknown

T = TypeVar("T")
Pick = Callable[[Sequence[T]], T]

RUN = RunId("run_1")
STOPS: tuple[Stop, ...] = ("calls", "end", "length", "context", "refusal", "filter", "pause", "compaction", "unknown")
TOOLS = ("read", "write", "write_a", "write_b", "ask_user")
TOUCHES = {"write_a": ("a",), "write_b": ("b",)}


def started(*, budget: Budget | None = None, on_wait: str = "hold") -> RunStarted:
    return RunStarted(
        agent="support",
        agent_digest=Digest("0"),
        model="scripted:m",
        protocol="anthropic",
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
    state: RunState = field(default_factory=lambda: RunState(run=RUN))
    journal: list[Recorded] = field(default_factory=list[Recorded])
    jobs: list[Job] = field(default_factory=list[Job])
    now_ms: int = 1_000
    limited: bool = False
    proposed: int = 0
    told: list[CallId] = field(default_factory=list[CallId])

    # the journal

    def record(self, *events: Event) -> None:
        for event in events:
            self.now_ms += 1
            recorded = Recorded(RUN, len(self.journal) + 1, self.now_ms, event)
            self.journal.append(recorded)
            self.check_legal(event)
            self.state, commands = transition(self.state, recorded)
            self.take(commands)

    def take(self, commands: Sequence[Command]) -> None:
        for command in commands:
            if isinstance(command, Tell):
                self.told.append(command.call)
                continue
            if isinstance(command, Pause | End):
                self.forget()
            assert command not in [job.command for job in self.jobs], f"{command} was given twice"
            self.jobs.append(Job(command))

    def forget(self) -> None:
        """What was asked for in a phase that was left: the driver passes over it."""
        stale = Pause | End | CheckAnswer | Correct if self.ended else Pause | End
        self.jobs = [job for job in self.jobs if not isinstance(job.command, stale)]

    def start(self) -> None:
        self.record(started(budget=self.budget, on_wait=self.on_wait), said())

    def check_legal(self, event: Event) -> None:
        """What the world must never be made to do."""
        if isinstance(event, OperationMoved) and event.state == "dispatched" and event.on != "resent":
            call = self.state.call(event.call)
            assert call is not None
            assert call.status in ("starting", "deciding"), f"{call.id} runs undecided: {call.status}"
            others = [one for one in self.state.unanswered if one.id != call.id and one.effect == "write"]
            for other in others:
                running = other.operation and self.state.operations.get(other.operation) == "dispatched"
                assert not running or disjoint(other, call), f"{other.id} and {call.id} run at once"
            assert self.state.cancelled is None
            before = [one.event for one in self.journal[:-1] if isinstance(one.event, OperationMoved)]
            again = [one for one in before if one.call == event.call and one.state == "dispatched"]
            assert not again, f"{call.id} was dispatched twice"

    # jobs

    @property
    def ended(self) -> bool:
        return self.state.ended is not None

    def choose(self, *options: T) -> T:
        return self.pick(options)  # type: ignore[return-value]

    def crash(self) -> None:
        """The process dies and another takes the run up."""
        self.jobs.clear()
        self.record(Resumed(owner=OwnerId("o2"), scopes=(), scopes_from="recorded"))

    def decide(self, call: CallState) -> None:
        """A person, or time, decides about a call that waits."""
        if call.approval is None:
            return
        verdicts = ("answered", "expired") if call.effect == "ask" else ("approved", "denied", "expired")
        verdict = self.choose(*verdicts)
        if self.state.paused:
            self.crash()
        self.record(ApprovalDecided(approval=call.approval, call=call.id, verdict=verdict, by="bob"))

    def cancel(self) -> None:
        if self.state.paused:
            self.crash()
        self.record(CancelRequested(by="bob"))
        self.jobs = [job for job in self.jobs if not isinstance(job.command, Ask | Backoff)]

    def work(self, job: Job) -> None:
        """Take one step of a job."""
        job.step += 1
        done = True
        match job.command:
            case Ask() | Backoff():
                done = self._ask(job.command, job.step)
            case Consider(call=name):
                self._consider(name)
            case Reconsider(call=name):
                self._reconsider(name)
            case Start(call=name):
                done = self._execute(name, job.step)
            case Recover(call=name, operation=operation):
                self._recover(name, operation)
            case HoldBack(call=name, code=code):
                self._end(name, NotRun(code=code, message=""))
            case Cancel(call=name):
                self._end(name, NotRun(code="cancelled", message=""))
            case Deny(call=name, code=code):
                self._considered(name, "settled", step="stop")
                self._end(name, Refused(code=code, message=""))
            case AppendResults(turn=turn, receipts=receipts):
                self.record(ResultsAppended(turn=turn, wording=Wording('"results"'), receipts=receipts))
            case CheckAnswer(turn=turn):
                if self.state.phase is Phase.VALIDATE_FINAL:
                    valid, done_ = self.choose((True, True), (True, False), (False, False))
                    self.record(AnswerChecked(turn=turn, valid=valid, done=done_, message="no", code="done.not"))
            case Correct():
                if self.state.phase is Phase.RETURN_CORRECTION:
                    self.record(replace(said("not yet"), source="correction"))
            case Pause(approvals=approvals, text=text):
                if self.state.phase is Phase.WAIT:
                    self.record(Waiting(approvals=approvals, text=text))
                    self.forget()
            case End(how=how, reason=reason):
                if self.state.phase in (Phase.STOP, Phase.ESCALATE) and not self.state.unanswered:
                    self.record(RunEnded(how=how, reason=reason))
                    self.forget()
            case _:
                raise AssertionError(job.command)
        if done and job in self.jobs:
            self.jobs.remove(job)

    def _ask(self, command: Ask | Backoff, step: int) -> bool:
        if step == 1:
            if self.state.phase is not Phase.CHECK_BUDGETS:
                return True
            tally = self.state.tally
            if command.attempt > 1:
                tally = replace(tally, turns=tally.turns - 1)
            reason = tally.may_request(self.budget, now_ms=self.now_ms, reserve_tokens=100, reserve_usd_micros=0)
            if reason is not None:
                self.limited = True
                self.state, commands = limit(self.state, reason)
                self.take(commands)
                return True
            self.record(
                ModelRequested(
                    turn=command.turn,
                    attempt=command.attempt,
                    model="scripted:m",
                    reserved_tokens=100,
                    reserved_usd_micros=0,
                    label=self.state.label,
                )
            )
            return False
        if self.state.phase is not Phase.ASK_MODEL:
            return True
        if self.choose(True, True, True, False):
            self._reply(command)
        else:
            retryable = self.choose(True, False)
            code = self.choose(*["model.unavailable"] * 4, "model.context_full")
            self.record(RequestFailed(turn=command.turn, attempt=command.attempt, code=code, message="", retryable=retryable))
        return True

    def _reply(self, command: Ask | Backoff) -> None:
        stop = self.choose(*["calls"] * 9, *["end"] * 3, *STOPS)
        count = self.choose(1, 2, 3, 4, 0) if stop != "end" else self.choose(0, 0, 1)
        calls = [proposal(place, self.choose(*TOOLS), cut=stop == "length") for place in range(count)]
        self.proposed += count
        self.record(replied(command.turn, calls, stop=stop, text="words", attempt=command.attempt))

    # the gate

    def _considered(
        self, name: CallId, verdict: str, *, step: str = "authorize", joined: CallId | None = None, key: str | None = None
    ) -> None:
        call = self.state.call(name)
        assert call is not None
        effect = "ask" if call.name == "ask_user" else "read" if call.name == "read" else "write"
        self.record(
            CallConsidered(
                call=name,
                tool=call.name,
                effect=effect,  # type: ignore[arg-type]
                contract=Digest("c"),
                arguments="{}",
                digest=Digest(call.name),
                verdict=verdict,  # type: ignore[arg-type]
                step=step,
                code="x",
                label=TRUSTED,
                resources=TOUCHES.get(call.name),
                joined=joined,
                key=None if key is None else Digest(key),
            )
        )

    def _end(self, name: CallId, outcome: Outcome) -> None:
        call = self.state.call(name)
        if call is None or call.status == "ended":
            return
        self.record(CallEnded(call=name, tool=call.name, outcome=outcome, label=TRUSTED, changed=None))

    def _consider(self, name: CallId) -> None:
        call = self.state.call(name)
        assert call is not None
        if not call.counted:
            refused = self.state.tally.admit(self.budget, call.name, Digest(call.name))
            if refused is not None:
                self._considered(name, "settled", step="budget")
                self._end(name, refused)
                return
        if call.joined is not None:
            self._considered(name, "settled")
            self._end(name, Succeeded(repeat=True))
            return
        if self.state.cancelled is not None:
            self._considered(name, "ready")
            return
        verdicts = ["ready", "ready", "settled"]
        if call.name != "read" and self.state.tally.may_ask(self.budget) is None:
            verdicts.append("waiting")
        if call.name == "ask_user":
            verdicts = [one for one in verdicts if one != "ready"]
        holder = next((one for one in self.state.current if one.name == call.name and one.status == "awaiting"), None)
        if holder is not None and call.name != "ask_user":
            verdicts.append("joined")
        verdict = self.choose(*verdicts)
        if verdict == "waiting":
            self._wait_for_a_person(name)
        else:
            self._considered(name, verdict, joined=holder.id if holder is not None and verdict == "joined" else None)
        if verdict == "settled":
            self._end(name, self.choose(Refused(code="policy.denied", message=""), Succeeded(repeat=True)))

    def _wait_for_a_person(self, name: CallId) -> None:
        call = self.state.call(name)
        assert call is not None
        number = len(self.journal)
        approval = ApprovalId(f"apr_{number}")
        operation = None if call.name == "ask_user" else call.operation or OperationId(f"op_{number}")
        self._considered(name, "waiting", step="approve")
        if operation is not None and operation not in self.state.operations:
            self._moved(name, operation, "requested", "awaiting_approval")
        self.record(
            ApprovalRequested(
                approval=approval,
                call=name,
                operation=operation,
                ask="question" if operation is None else "approval",
                preview="",
                digest=Digest("d"),
                expires_ms=None,
            )
        )

    def _moved(self, name: CallId, operation: OperationId, on: str, state: str) -> None:
        self.record(OperationMoved(operation=operation, call=name, on=on, state=state, attempt=1))  # type: ignore[arg-type]

    def _reconsider(self, name: CallId) -> None:
        call = self.state.call(name)
        assert call is not None
        decided = [one.event for one in self.journal if isinstance(one.event, ApprovalDecided)]
        verdict = next(one.verdict for one in reversed(decided) if one.call == name)
        if verdict == "answered":
            self._end(name, Succeeded(value="yes"))
            return
        if verdict == "approved" and self.state.cancelled is None:
            again = self.choose("ready", "ready", "refused", "waiting")
            if again == "ready":
                self._considered(name, "ready", step="approve")
                return
            if again == "waiting" and self.state.tally.may_ask(self.budget) is None:
                self._wait_for_a_person(name)
                return
        if call.operation is not None:
            self._moved(name, call.operation, "denied", "closed")
        code = NotRun(code="expired", message="") if verdict == "expired" else Refused(code="denied", message="")
        self._end(name, code)

    def _execute(self, name: CallId, step: int) -> bool:
        call = self.state.call(name)
        assert call is not None
        dispatched = call.operation is not None and self.state.operations.get(call.operation) == "dispatched"
        if self.state.cancelled is not None and not dispatched:
            self._end(name, NotRun(code="cancelled", message=""))
            return True
        if call.effect == "read":
            self._end(name, self.choose(Succeeded(), Failed(code="x", message="")))
            return True
        if step == 1:
            found = self.choose("free", "free", "taken", "taken, and free again")
            if found == "taken" and self.state.tally.may_ask(self.budget) is None:
                self._wait_for_a_person(name)
                return True
            if found == "taken, and free again":
                self._considered(name, "ready", step="lookup")
            operation = call.operation or OperationId(f"op_{len(self.journal)}")
            self._moved(name, operation, "allowed" if call.operation is None else "approved", "dispatched")
            return False
        assert call.operation is not None
        self._settle(name, call.operation)
        return True

    def _settle(self, name: CallId, operation: OperationId) -> None:
        outcome, on, state = self.choose(
            (Succeeded(value=1), "returned", "succeeded"),
            (Failed(code="x", message=""), "no_effect", "failed"),
            (Unknown(code="unknown", message=""), "in_doubt", "unknown"),
        )
        self._moved(name, operation, on, state)
        self._end(name, outcome)

    def _recover(self, name: CallId, operation: OperationId) -> None:
        if self.state.operations[operation] in ("dispatched", "unknown"):
            self._settle(name, operation)
        else:
            self._end(name, Succeeded(value=1))

    # what must hold at all times

    def check(self) -> None:
        ends: dict[CallId, int] = {}
        for one in self.journal:
            if isinstance(one.event, CallEnded):
                ends[one.event.call] = ends.get(one.event.call, 0) + 1
        assert all(count == 1 for count in ends.values()), "a proposal got two answers"
        if self.budget.turns is not None:
            assert self.state.tally.turns <= self.budget.turns
        if self.budget.tokens is not None:
            assert self.state.tally.tokens <= self.budget.tokens
        ran = {one.event.call for one in self.journal if isinstance(one.event, OperationMoved) and one.event.on == "allowed"}
        if self.budget.calls is not None:
            assert len(ran) <= self.budget.calls
        if not self.ended and not self.state.paused:
            assert self.jobs, f"nobody moves the run in {self.state.phase}"
        if self.state.paused:
            assert self.state.unanswered
            assert not self.jobs
        if self.ended:
            self.check_ended(ends)

    def check_ended(self, ends: dict[CallId, int]) -> None:
        proposed = [
            CallId(f"{one.event.turn}.{call.position}")
            for one in self.journal
            if isinstance(one.event, Replied)
            for call in one.event.calls
        ]
        assert sorted(ends) == sorted(proposed), "a proposal has no answer"
        replies = [one.event.turn for one in self.journal if isinstance(one.event, Replied) and one.event.calls]
        results = [one.event.turn for one in self.journal if isinstance(one.event, ResultsAppended)]
        assert replies == results, "the transcript is not closed"
        assert not self.jobs


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
        waiting = [call for call in world.state.unanswered if call.status == "awaiting"]
        world.decide(world.choose(*waiting))
    raise AssertionError("the run does not come to an end")


def take_up(journal: Sequence[Recorded], cut: int, world: World) -> World:
    """The run of this journal, cut after `cut` events, as another process takes it up."""
    again = World(world.pick, world.budget, world.on_wait, journal=list(journal[:cut]), now_ms=journal[cut - 1].at_ms)
    again.state = fold(again.journal)
    again.crash()
    return again
