"""What a run has used so far, folded from its events, and whether it may go on.

Knows events and limits; no store, no price. Invariant: counting is pure and total: any event of any
run can be counted, in order, and events that use nothing cost nothing. A tally is never changed; `count`
sets fields of a copy.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from operator import attrgetter

from remit.budget.limit import deadline_ms, per_tool, usd_micros
from remit.canonical import digest
from remit.types.budget import Budget, Usage
from remit.types.event import (
    ApprovalRequested,
    CallConsidered,
    CallEnded,
    Event,
    ModelRequested,
    Recorded,
    Replied,
    RequestFailed,
    Resumed,
    RunEnded,
    RunStarted,
    Waiting,
)
from remit.types.ident import CallId, Digest
from remit.types.outcome import Failed, Refused, Succeeded

__all__ = ["Repeat", "Tally"]

_NOT_SENT = "model.not_sent"
"""Of a request that a cancel overtook: its turn is given back too."""


@dataclass(frozen=True, slots=True)
class Repeat:
    """How often the same call was made, and how often in a row with the same result."""

    calls: int = 0
    unchanged: int = 0
    result: str | None = None


_NEVER = Repeat()
_Same = tuple[str, Digest | None]


@dataclass(slots=True)
class Tally:
    """What was used. Amounts of the current request are at their reserved upper bound until it is answered.

    Args:
        turns: model requests, retries of one not counted.
        calls: proposals.
        tokens, usd_micros: settled to actual with each reply, given back where the provider did not begin with the request;
            what is unknown stays spent, so also what was reserved where no usage is reported.
        approvals: requests to people, questions included.
        consecutive_errors: refused and failed calls since the last that succeeded.
        usage: the sum of all replies.
        repeats: by tool and canonical arguments.
    """

    turns: int = 0
    calls: int = 0
    calls_per_tool: Mapping[str, int] = field(default_factory=dict[str, int])
    tokens: int = 0
    usd_micros: int = 0
    approvals: int = 0
    consecutive_errors: int = 0
    usage: Usage = field(default_factory=lambda: Usage(cost_usd_micros=0))
    repeats: Mapping[_Same, Repeat] = field(default_factory=dict[_Same, Repeat])
    settled_ms: int = 0
    since_ms: int | None = None
    last_ms: int = 0
    _open: dict[CallId, _Same] = field(default_factory=dict[CallId, _Same])
    _reserved: tuple[int, int] = (0, 0)

    def count(self, recorded: Recorded) -> Tally:
        """The tally with one more event."""
        if recorded.at_ms <= self.last_ms and not isinstance(recorded.event, _COUNTED):
            return self
        tally = Tally(*_OF_TALLY(self))
        tally._add(recorded.event, recorded.at_ms)
        tally.last_ms = max(self.last_ms, recorded.at_ms)
        return tally

    def _add(self, event: Event, at_ms: int) -> None:
        match event:
            case ModelRequested() | Replied() | RequestFailed():
                self._of_model(event)
            case CallConsidered():
                self._considered(event)
            case CallEnded():
                self._ended(event)
            case ApprovalRequested():
                self.approvals += 1
            case RunStarted():
                self.since_ms = at_ms
            case Resumed():
                self.settled_ms, self.since_ms = self.active_ms(self.last_ms), at_ms
            case Waiting() | RunEnded():
                self.settled_ms, self.since_ms = self.active_ms(at_ms), None
            case _:
                return

    def taken_by(self, event: ModelRequested | Replied | RequestFailed) -> tuple[int, int, int]:
        """The turns, tokens and millionths of a dollar that the event adds to what is spent: a reservation, or from there
        to what was really taken. Less is negative."""
        tokens, usd = self._reserved
        match event:
            case ModelRequested():
                return max(event.turn - self.turns, 0), event.reserved_tokens, event.reserved_usd_micros
            case Replied(usage=usage):
                cost = usage.cost_usd_micros
                used = usage.input_tokens + usage.output_tokens
                return 0, used - tokens if usage.reported else 0, 0 if cost is None else cost - usd
            case RequestFailed(started=False):
                return -1 if event.code == _NOT_SENT and event.attempt == 1 else 0, -tokens, -usd
            case RequestFailed():
                return 0, 0, 0

    def active_ms(self, now_ms: int) -> int:
        """Active time so far: not while people were waited for, nor while no process had the run."""
        return self.settled_ms + (max(now_ms - self.since_ms, 0) if self.since_ms is not None else 0)

    def admit(self, budget: Budget, tool: str, digest: Digest | None, *, polls: bool = False) -> str | None:
        """Why one more call may not be looked at: `budget.calls`, `.calls_per_tool`, `.errors` or `.repeats`.

        Args:
            digest: of the canonical arguments; None where they could not be read.
            polls: the call counts as repeated only while its result stays equal.
        """
        if _reached(self.calls, budget.calls):
            return "budget.calls"
        if _reached(self.calls_per_tool.get(tool, 0), per_tool(budget, tool)):
            return "budget.calls_per_tool"
        if _reached(self.consecutive_errors, budget.consecutive_errors):
            return "budget.errors"
        seen = self.repeats.get((tool, digest)) if digest is not None else None
        if seen is not None and _reached(seen.unchanged if polls else seen.calls, budget.repeats):
            return "budget.repeats"
        return None

    def may_ask(self, budget: Budget) -> str | None:
        """Why no further person may be asked: `budget.approvals`."""
        return "budget.approvals" if _reached(self.approvals, budget.approvals) else None

    def may_request(self, budget: Budget, *, now_ms: int, reserve_tokens: int, reserve_usd_micros: int | None) -> str | None:
        """Why the next model request may not be sent: `budget.turns`, `.deadline`, `.seconds`, `.tokens` or `.usd`.

        Args:
            reserve_tokens: counted input and the most output.
            reserve_usd_micros: their list price; None is unknown, and refused where `usd` is bounded.
        """
        if _reached(self.turns, budget.turns):
            return "budget.turns"
        deadline = deadline_ms(budget)
        if deadline is not None and now_ms >= deadline:
            return "budget.deadline"
        if budget.seconds is not None and self.active_ms(now_ms) >= budget.seconds * 1000:
            return "budget.seconds"
        if budget.tokens is not None and self.tokens + reserve_tokens > budget.tokens:
            return "budget.tokens"
        usd = usd_micros(budget)
        if usd is not None and (reserve_usd_micros is None or self.usd_micros + reserve_usd_micros > usd):
            return "budget.usd"
        return None

    def _of_model(self, event: ModelRequested | Replied | RequestFailed) -> None:
        turns, tokens, usd_micros = self.taken_by(event)
        self.turns += turns
        self.tokens += tokens
        self.usd_micros += usd_micros
        if isinstance(event, ModelRequested):
            self._reserved = (event.reserved_tokens, event.reserved_usd_micros)
        elif isinstance(event, Replied):
            self.usage += event.usage
            self._reserved = (0, 0)
        elif not event.started:
            self._reserved = (0, 0)

    def _considered(self, event: CallConsidered) -> None:
        if event.call in self._open:
            return
        same = (event.tool, event.digest)
        self.calls += 1
        self.calls_per_tool = {**self.calls_per_tool, event.tool: self.calls_per_tool.get(event.tool, 0) + 1}
        self._open = {**self._open, event.call: same}
        if event.digest is not None:
            seen = self.repeats.get(same, _NEVER)
            self.repeats = {**self.repeats, same: Repeat(seen.calls + 1, seen.unchanged, seen.result)}

    def _ended(self, event: CallEnded) -> None:
        if isinstance(event.outcome, Succeeded):
            self.consecutive_errors = 0
        elif isinstance(event.outcome, (Refused, Failed)):
            self.consecutive_errors += 1
        same = self._open.get(event.call)
        seen = None if same is None else self.repeats.get(same)
        if same is not None and seen is not None:
            result = _result(event)
            unchanged = seen.unchanged + 1 if result == seen.result else 1
            self.repeats = {**self.repeats, same: Repeat(seen.calls, unchanged, result)}
        if same is not None:
            self._open = {**self._open}
            del self._open[event.call]


_COUNTED = (
    ModelRequested,
    Replied,
    RequestFailed,
    CallConsidered,
    CallEnded,
    ApprovalRequested,
    RunStarted,
    Resumed,
    Waiting,
    RunEnded,
)
"""What uses something, or starts or stops the clock; all else is only later."""

_OF_TALLY = attrgetter(*(one.name for one in fields(Tally)))


def _reached(used: int, limit: int | None) -> bool:
    return limit is not None and used >= limit


def _result(event: CallEnded) -> str:
    """What tells two results apart, short enough to keep."""
    outcome = event.outcome
    told = repr(outcome.blob or outcome.value) if isinstance(outcome, Succeeded) else f"{outcome.kind} {outcome.code}"
    return digest("remit.result", told)[:16]
