"""What a run has used so far, folded from its events, and whether it may go on.

Knows events and limits; no store, no price. Invariant: counting is pure and total: any event of any
run can be counted, in order, and events that use nothing cost nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from remit.budget.limit import deadline_ms, per_tool, usd_micros
from remit.canonical import digest
from remit.types.budget import Budget, Usage
from remit.types.event import (
    ApprovalRequested,
    CallConsidered,
    CallEnded,
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

_NOT_STARTED = frozenset(
    {"model.rate_limited", "model.overloaded", "model.refused_request", "model.unauthorized", "model.context_full"}
)
"""The provider's own word that it did not take the request up: what was reserved for it is given back."""


@dataclass(frozen=True, slots=True)
class Repeat:
    """How often the same call was made, and how often in a row with the same result."""

    calls: int = 0
    unchanged: int = 0
    result: str | None = None


_Same = tuple[str, Digest | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Tally:
    """What was used. Amounts of the current request are at their reserved upper bound until it is answered.

    Args:
        turns: model requests, retries of one not counted.
        calls: proposals.
        tokens, usd_micros: settled to actual with each reply, given back where the provider declined the request; what is
            unknown stays spent.
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
    _open: Mapping[CallId, _Same] = field(default_factory=dict[CallId, _Same])
    _reserved: tuple[int, int] = (0, 0)

    def count(self, recorded: Recorded) -> Tally:
        """The tally with one more event."""
        event, at_ms = recorded.event, recorded.at_ms
        match event:
            case ModelRequested():
                tally = self._requested(event)
            case Replied():
                tally = self._replied(event)
            case RequestFailed() if event.code in _NOT_STARTED:
                tally = self._given_back()
            case CallConsidered():
                tally = self._considered(event)
            case CallEnded():
                tally = self._ended(event)
            case ApprovalRequested():
                tally = replace(self, approvals=self.approvals + 1)
            case RunStarted():
                tally = replace(self, since_ms=at_ms)
            case Resumed():
                tally = replace(self, settled_ms=self.active_ms(self.last_ms), since_ms=at_ms)
            case Waiting() | RunEnded():
                tally = replace(self, settled_ms=self.active_ms(at_ms), since_ms=None)
            case _:
                tally = self
        return tally if at_ms <= tally.last_ms else replace(tally, last_ms=at_ms)

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

    def _requested(self, event: ModelRequested) -> Tally:
        return replace(
            self,
            turns=max(self.turns, event.turn),
            tokens=self.tokens + event.reserved_tokens,
            usd_micros=self.usd_micros + event.reserved_usd_micros,
            _reserved=(event.reserved_tokens, event.reserved_usd_micros),
        )

    def _replied(self, event: Replied) -> Tally:
        tokens, usd = self._reserved
        cost = event.usage.cost_usd_micros
        return replace(
            self,
            tokens=self.tokens - tokens + event.usage.input_tokens + event.usage.output_tokens,
            usd_micros=self.usd_micros - (usd - cost if cost is not None else 0),
            usage=self.usage + event.usage,
            _reserved=(0, 0),
        )

    def _given_back(self) -> Tally:
        tokens, usd = self._reserved
        return replace(self, tokens=self.tokens - tokens, usd_micros=self.usd_micros - usd, _reserved=(0, 0))

    def _considered(self, event: CallConsidered) -> Tally:
        if event.call in self._open:
            return self
        same = (event.tool, event.digest)
        seen = self.repeats.get(same, Repeat())
        counted = {**self.repeats, same: replace(seen, calls=seen.calls + 1)} if event.digest is not None else self.repeats
        return replace(
            self,
            calls=self.calls + 1,
            calls_per_tool={**self.calls_per_tool, event.tool: self.calls_per_tool.get(event.tool, 0) + 1},
            repeats=counted,
            _open={**self._open, event.call: same},
        )

    def _ended(self, event: CallEnded) -> Tally:
        errors = self.consecutive_errors
        if isinstance(event.outcome, Succeeded):
            errors = 0
        elif isinstance(event.outcome, (Refused, Failed)):
            errors += 1
        same = self._open.get(event.call)
        repeats = self.repeats
        if same is not None and same in repeats:
            seen, result = repeats[same], _result(event)
            unchanged = seen.unchanged + 1 if result == seen.result else 1
            repeats = {**repeats, same: Repeat(seen.calls, unchanged, result)}
        still = {call: one for call, one in self._open.items() if call != event.call}
        return replace(self, consecutive_errors=errors, repeats=repeats, _open=still)


def _reached(used: int, limit: int | None) -> bool:
    return limit is not None and used >= limit


def _result(event: CallEnded) -> str:
    """What tells two results apart, short enough to keep."""
    outcome = event.outcome
    told = repr(outcome.blob or outcome.value) if isinstance(outcome, Succeeded) else f"{outcome.kind} {outcome.code}"
    return digest("remit.result", told)[:16]
