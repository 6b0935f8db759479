"""Then and now, call by call: which steps decided, and what came of it.

Pure. Invariant: ids, texts and times are left out, so two runs that were decided the same way are equal.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from remit.cli.replay.again import Again
from remit.cli.replay.record import Record
from remit.types.event import CallConsidered, CallEnded, Recorded, Replied, RequestFailed, RunEnded, Waiting
from remit.types.ident import CallId, Json, call_id
from remit.types.outcome import Succeeded

__all__ = ["Compared", "Decided", "compare"]

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
        return [call for call, (then, now) in self.calls.items() if then != now and not (now is None and self.missed)]

    @property
    def equal(self) -> bool:
        """Whether all was decided as it was."""
        return not self.different and self.missed is None and not self.refused and self.ends[0] == self.ends[1]


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
    for one in events:
        match one.event:
            case Replied(turn=turn, calls=calls):
                found.update({call_id(turn, call.position): Decided(call.name) for call in calls})
            case CallConsidered(call=call, step=step, code=code) if call in found:
                steps = found[call].steps
                if not steps or steps[-1] != (step, code):
                    steps.append((step, code))
            case CallEnded(call=call, outcome=outcome) if call in found and not found[call].outcome:
                found[call].outcome = outcome.kind
                found[call].code = ("repeat" if outcome.repeat else "") if isinstance(outcome, Succeeded) else outcome.code
            case _:
                pass
    return found


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
