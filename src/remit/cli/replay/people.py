"""Those who decided in a recorded run, each time with the same words.

Knows records and an owner. Invariant: nobody decides what today's rules do not let them decide; that is written down.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from remit.approval import may_decide
from remit.cli.replay.clock import Then
from remit.cli.replay.record import Record
from remit.errors import Denied
from remit.types.approval import Approval, ApprovalState
from remit.types.delivery import Decision
from remit.types.event import ApprovalDecided, CallEnded
from remit.types.ledger import Ledger
from remit.types.outcome import NotRun
from remit.types.principal import Principal
from remit.types.run import Paused

if TYPE_CHECKING:
    from remit import Remit

__all__ = ["People"]

_DECIDED: tuple[ApprovalState, ...] = ("approved", "denied", "answered", "expired", "consumed")


@dataclass(slots=True)
class People:
    """What people said then, said again about what waits now.

    Args:
        refused: what today's rules did not let them decide.
    """

    remit: Remit
    ledger: Ledger
    record: Record
    clock: Then
    refused: list[str] = field(default_factory=list[str])

    async def speak(self, standing: Paused) -> bool:
        """Say about what waits what was said then; whether there was anything to say."""
        said = [await self._about(row) for row in (*standing.approvals, *standing.questions)]
        cancelled = self.record.cancelled()
        if not any(said) and not self.refused and cancelled is not None:
            await self.remit.cancel(self.record.row.id, by=cancelled.by, reason=cancelled.reason)
            return True
        return any(said)

    async def _about(self, row: Approval) -> bool:
        rows = await self.ledger.approvals(run=row.run, call=row.call, state=_DECIDED, limit=None)
        decisions = self.record.decisions(row.call)[len(rows) :]
        if decisions:
            return await self._decide(row, *decisions[0])
        if row.operation is None or not _withdrawn(self.record, row):
            return False
        await self.remit.withdraw(row.operation, by=self.record.row.subject)
        return True

    async def _decide(self, row: Approval, at_ms: int, decided: ApprovalDecided) -> bool:
        expired = decided.verdict == "expired"
        person = Principal(decided.by, row.tenant, frozenset(row.scope.split()))
        self.clock.at_ms = max(self.clock.now_ms(), at_ms, (row.expires_ms or 0) if expired else 0)
        if not expired:
            try:
                may_decide(row, person)
            except Denied as error:
                self.refused.append(f"{row.call}: {error.message}")
                return False
        was = next((one for one in self.record.approvals if one.id == decided.approval), None)
        decision = Decision(
            approval=row.id,
            verdict="denied" if decided.verdict in ("expired", "void") else decided.verdict,
            by=decided.by,
            reason=decided.reason,
            edited=None if was is None or decided.verdict != "approved" else was.edited,
            answer=decided.answer,
        )
        await self.ledger.decide(decision)
        return True


def _withdrawn(record: Record, row: Approval) -> bool:
    ends = (one.event for one in record.events if isinstance(one.event, CallEnded))
    return any(end.call == row.call and isinstance(end.outcome, NotRun) and end.outcome.code == "withdrawn" for end in ends)
