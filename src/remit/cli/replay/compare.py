"""Then and now, call by call: which steps decided, and what came of it.

Pure. Invariant: ids, texts and times are left out, so two runs that were decided the same way are equal; and what a crash
alone changed in the record is never taken for another decision.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from remit.cli.replay.again import Again
from remit.cli.replay.record import Record
from remit.types.event import (
    CallConsidered,
    CallEnded,
    OperationMoved,
    Recorded,
    Replied,
    RequestFailed,
    Resumed,
    RunEnded,
    Waiting,
)
from remit.types.ident import CallId, Json, OperationId, call_id
from remit.types.outcome import Succeeded

__all__ = ["Compared", "Decided", "compare"]

_ALSO_REPEATED = frozenset({"", "repeat"})
_MISSED = ("replay.miss", "replay.end")


@dataclass(slots=True)
class Decided:
    """What became of one call.

    Args:
        steps: step and code of each decision of the gate.
        outcome: `succeeded`, `refused`, `failed`, `unknown` or `not_run`; empty while it waits.
        code: the outcome's own.
    """

    tool: str = ""
    steps: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    outcome: str = ""
    code: str = ""
    begun: list[tuple[str, str]] | None = None
    """The steps before a crash, where it was considered again after it."""
    is_crashed: bool = False
    """Whether a crash, or the doubt that one left, had a part in what came of it."""

    def is_as(self, now: Decided) -> bool:
        """Whether it was decided as it is now: as it was before a crash, or as it was considered last."""
        if (self.outcome, self.code) == (now.outcome, now.code) and self.steps == now.steps:
            return True
        if self.begun is None:
            return False
        as_ever = now.steps in (self.begun, self.steps[-1:])
        return (
            as_ever
            and self.outcome == now.outcome
            and (self.code == now.code or _ALSO_REPEATED.issuperset((self.code, now.code)))
        )

    def begins_as(self, now: Decided | None) -> bool:
        """Whether its first decision, which no crash had a part in, is that of now; so also where there is none now."""
        return now is None or (self.begun or self.steps)[:1] == now.steps[:1]

    def document(self) -> dict[str, Json]:
        """It as JSON."""
        steps: list[Json] = [{"step": step, "code": code} for step, code in self.steps]
        return {"decided": steps, "outcome": self.outcome or None, "code": self.code or None}

    def describe(self) -> str:
        """It in one line."""
        decided = ", ".join(f"{step}: {code}" for step, code in self.steps) or "not considered"
        code = f" ({self.code})" if self.code else ""
        return f"{decided} -> {self.outcome or 'waits'}{code}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """A run then and now.

    Args:
        calls: each call that was proposed then or now; None where it was not.
        ends: how the run stood at its end: reason codes.
        head_differs: members of the request's head that are not as recorded: the model would be told something else.
        missed: why the record could not be followed to its end.
        refused: decisions of people that today's rules do not let them make.
    """

    calls: dict[CallId, tuple[Decided | None, Decided | None]]
    ends: tuple[str, str]
    head_differs: tuple[str, ...]
    missed: str | None
    refused: tuple[str, ...]

    @property
    def different(self) -> list[CallId]:
        """Calls that were decided, or came out, otherwise; not those that this replay did not reach."""
        reached = {call: pair for call, pair in self.calls.items() if pair[1] is not None or not self.missed}
        return [call for call, (then, now) in reached.items() if then is None or now is None or not then.is_as(now)]

    @property
    def equal(self) -> bool:
        """Whether all was decided as it was."""
        return not self.different and self.missed is None and not self.refused and self.ends[0] == self.ends[1]

    @property
    def is_comparable(self) -> bool:
        """Whether it can be said; not where the two part over what a crash left, which a replay does not go through."""
        crashed = {call for call, (then, now) in self.calls.items() if then and then.is_crashed and then.begins_as(now)}
        if self.equal or self.refused or not crashed:
            return True
        different = set(self.different)
        return not different <= crashed if different else self.missed is None


def compare(record: Record, again: Again) -> Compared:
    """Hold what happened now against what was recorded."""
    then, now = _decided(record.events), _decided(again.events)
    missed = _missed(again.events)
    ends = (_end(record.events), _end(again.events))
    if missed is not None and missed.code == "replay.end" and not _is_finished(record.events):
        missed, ends = None, (ends[0], ends[0])  # nobody knows how it would have gone on
    return Compared(
        calls={call: (then.get(call), now.get(call)) for call in {**then, **now}},
        ends=ends,
        head_differs=again.head_differs,
        missed=None if missed is None else missed.message,
        refused=again.refused,
    )


def _decided(events: Sequence[Recorded]) -> dict[CallId, Decided]:
    found: dict[CallId, Decided] = {}
    open_before: set[CallId] = set()
    doubted: set[OperationId] = set()
    waits = False
    for one in events:
        match one.event:
            case Replied(turn=turn, calls=calls):
                found.update({call_id(turn, call.position): Decided(call.name) for call in calls})
            case Waiting():
                waits = True
            case Resumed():
                left = () if waits else [call for call, decided in found.items() if decided.steps and not decided.outcome]
                open_before.update(left)
                waits = False
            case OperationMoved(state="unknown", operation=operation):
                doubted.add(operation)
            case CallConsidered(call=call, step=step, code=code) if call in found:
                _consider(found[call], (step, code), again=call in open_before)
            case CallEnded(call=call, outcome=outcome) if call in found and not found[call].outcome:
                found[call].outcome = outcome.kind
                found[call].code = ("repeat" if outcome.repeat else "") if isinstance(outcome, Succeeded) else outcome.code
                found[call].is_crashed = call in open_before or outcome.operation in doubted
            case _:
                pass
    return found


def _consider(decided: Decided, step: tuple[str, str], *, again: bool) -> None:
    if again and decided.begun is None:
        decided.begun = list(decided.steps)
    if not decided.steps or decided.steps[-1] != step:
        decided.steps.append(step)


def _missed(events: Sequence[Recorded]) -> RequestFailed | None:
    """The request that the record has no answer to."""
    failed = (one.event for one in events if isinstance(one.event, RequestFailed))
    return next((one for one in failed if one.code in _MISSED), None)


def _is_finished(events: Sequence[Recorded]) -> bool:
    return any(isinstance(one.event, RunEnded) and one.event.how == "finished" for one in events)


def _end(events: Sequence[Recorded]) -> str:
    for one in reversed(events):
        if isinstance(one.event, RunEnded):
            reason = one.event.reason
            return one.event.how if reason in ("", one.event.how) else f"{one.event.how} ({reason})"
        if isinstance(one.event, Waiting):
            return "waits"
    return "goes on"
