"""Everything that there is to judge about a play, read once.

Knows the ledger's reading methods. Invariant: what is here is what an operator could read, and what the world knows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

from remit.testing.explorer.play import Played
from remit.testing.explorer.world import now
from remit.types.approval import Approval
from remit.types.budget import Spent
from remit.types.event import Event, Recorded
from remit.types.ident import ApprovalId, OperationId, RunId
from remit.types.operation import Operation
from remit.types.run import RunRow

__all__ = ["Record", "Story", "read"]

E = TypeVar("E", bound=Event)


@dataclass(frozen=True, slots=True)
class Story:
    """One run: its row, its events, and what is booked for it."""

    row: RunRow
    recorded: Sequence[Recorded]
    spent: Spent

    def of(self, kind: type[E]) -> Iterator[E]:
        """Its events of one kind, in order."""
        return (one.event for one in self.recorded if isinstance(one.event, kind))


@dataclass(frozen=True, slots=True)
class Record:
    """The ledger's side and the world's side of one play."""

    played: Played
    stories: Sequence[Story]
    operations: dict[OperationId, Operation]
    approvals: dict[ApprovalId, Approval]
    faults: Sequence[str]

    def story(self, run: RunId) -> Story | None:
        """The run of this id."""
        return next((one for one in self.stories if one.row.id == run), None)


def read(played: Played) -> Record:
    """Read the ledger of a play from beginning to end, and verify it."""
    store = played.store
    runs = now(store.runs(limit=None))
    return Record(
        played=played,
        stories=[Story(row, now(store.read(row.id)), now(store.spent(f"run:{row.id}"))) for row in reversed(runs)],
        operations={one.id: one for one in now(store.operations(limit=None))},
        approvals={one.id: one for one in now(store.approvals(limit=None))},
        faults=now(store.verify()),
    )
