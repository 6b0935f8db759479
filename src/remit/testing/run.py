"""A run as a test looks at it: what was proposed, what came of it, who is asked.

Knows events and rows, and reads them only. Invariant: everything here is read from the ledger, so a
test sees what an operator would.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

from remit.canonical import decode, to_plain
from remit.types.approval import Approval
from remit.types.budget import Usage
from remit.types.event import CallConsidered, CallEnded, Recorded, Replied
from remit.types.ident import ApprovalId, CallId, Json, OperationId, RunId, call_id
from remit.types.outcome import Outcome
from remit.types.run import Finished, Paused, Standing

__all__ = ["SeenApproval", "SeenCall", "SeenRun"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenApproval:
    """What a person is asked; `row` has the rest."""

    id: ApprovalId
    tool: str
    arguments: Json
    preview: str
    reasons: tuple[str, ...]
    row: Approval

    @classmethod
    def of(cls, row: Approval) -> SeenApproval:
        """Read from the ledger's row."""
        arguments = to_plain(decode(row.arguments))
        return cls(id=row.id, tool=row.tool, arguments=arguments, preview=row.preview, reasons=row.reasons, row=row)


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenCall:
    """A proposal, in the model's order. `outcome` is None while it has none; `code` is why it was let through or not."""

    id: CallId
    tool: str
    arguments: Json
    code: str
    outcome: Outcome | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenRun:
    """How a run stands, and its record so far."""

    standing: Standing
    events: tuple[Recorded, ...]
    approvals: tuple[SeenApproval, ...]
    questions: tuple[SeenApproval, ...]
    calls: tuple[SeenCall, ...]

    @classmethod
    def of(cls, standing: Standing, events: Sequence[Recorded]) -> SeenRun:
        """Read from how it stands and what was committed."""
        paused = standing if isinstance(standing, Paused) else None
        return cls(
            standing=standing,
            events=tuple(events),
            approvals=() if paused is None else tuple(SeenApproval.of(row) for row in paused.approvals),
            questions=() if paused is None else tuple(SeenApproval.of(row) for row in paused.questions),
            calls=_calls(events),
        )

    @property
    def id(self) -> RunId:
        """The run's id."""
        return self.standing.id

    @property
    def paused(self) -> bool:
        """Whether people must decide first."""
        return isinstance(self.standing, Paused)

    @property
    def finished(self) -> bool:
        """Whether the model stopped and what was promised holds."""
        return isinstance(self.standing, Finished)

    @property
    def answer(self) -> Json:
        """The final answer; None if there is none."""
        return self.standing.answer if isinstance(self.standing, Finished) else None

    @property
    def reason(self) -> str:
        """The stable code of how it stands."""
        return self.standing.reason

    @property
    def outcomes(self) -> tuple[Outcome, ...]:
        """The answers that proposals got, in the model's order."""
        return tuple(call.outcome for call in self.calls if call.outcome is not None)

    @property
    def usage(self) -> Usage:
        """Tokens of all model requests."""
        return self.standing.usage

    @property
    def cost(self) -> int | None:
        """List price in millionths of a dollar; None where it is unknown."""
        return self.standing.cost_usd_micros

    @property
    def open_operations(self) -> tuple[OperationId, ...]:
        """Effects whose outcome is not known."""
        return self.standing.open_operations


def _calls(events: Sequence[Recorded]) -> tuple[SeenCall, ...]:
    proposed: dict[CallId, tuple[str, str]] = {}
    considered: dict[CallId, CallConsidered] = {}
    outcomes: dict[CallId, Outcome] = {}
    for recorded in events:
        match recorded.event:
            case Replied(turn=turn, calls=calls):
                for call in calls:
                    proposed[call_id(turn, call.position)] = (call.name, call.arguments)
            case CallConsidered() as event:
                considered[event.call] = event
                proposed.setdefault(event.call, (event.tool, event.arguments or "null"))
            case CallEnded() as event:
                outcomes[event.call] = event.outcome
            case _:
                pass
    return tuple(
        SeenCall(
            id=name,
            tool=tool,
            arguments=_plain(considered[name].arguments if name in considered else None, text),
            code=considered[name].code if name in considered else "",
            outcome=outcomes.get(name),
        )
        for name, (tool, text) in proposed.items()
    )


def _plain(canonical: str | None, sent: str) -> Json:
    """The arguments as values; what cannot be read stays the text that was sent."""
    try:
        return cast("Json", json.loads(sent)) if canonical is None else to_plain(decode(canonical))
    except ValueError:
        return sent
