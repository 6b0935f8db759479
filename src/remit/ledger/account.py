"""What the events say of operations and approvals, and where a row says otherwise.

Pure. Invariant: a row may be behind its events in nothing, and ahead of them only by a decision
that is still in the run's inbox.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from remit.canonical import digest
from remit.errors import LedgerError
from remit.ledger.chain import declared_of
from remit.types.approval import Approval
from remit.types.codec import decode_outcome
from remit.types.delivery import Decision
from remit.types.event import ApprovalDecided, ApprovalRequested, Event, OperationMoved
from remit.types.ident import ApprovalId, OperationId, RunId
from remit.types.operation import Operation, settler

__all__ = ["Account", "faults_of_approval", "faults_of_operation"]


Place = tuple[int, int]
"""The number of a page, and which of its events."""


@dataclass(slots=True)
class Account:
    """Per operation its moves, in the order they were committed, whichever run made them; per approval, what was
    asked and decided, and whether something was dispatched with it; of both, what was declared when they were made. And which
    run has announced which other one, to answer a call."""

    moves: dict[OperationId, dict[Place, OperationMoved]] = field(
        default_factory=dict[OperationId, dict["Place", OperationMoved]]
    )
    declared: dict[str, tuple[str, bytes]] = field(default_factory=dict[str, tuple[str, bytes]])
    forgotten: set[RunId] = field(default_factory=set[RunId])
    used: set[ApprovalId] = field(default_factory=set[ApprovalId])
    asked: dict[ApprovalId, ApprovalRequested] = field(default_factory=dict[ApprovalId, ApprovalRequested])
    decided: dict[ApprovalId, ApprovalDecided] = field(default_factory=dict[ApprovalId, ApprovalDecided])
    children: dict[RunId, RunId] = field(default_factory=dict[RunId, RunId])

    def declare(self, opened: str, salt: bytes) -> None:
        """Count what a page says of new rows; `salt` is that of its payload."""
        for one in opened.split():
            name, _, said = one.partition("=")
            self.declared[name] = (said, salt)

    def what(self, name: str) -> str:
        """Whether something declared is an operation or an approval."""
        return "approval" if name in self.asked else "operation"

    def add(self, place: Place, event: Event) -> None:
        """Count an event; `place` is where it is among all of the ledger."""
        match event:
            case OperationMoved(operation=operation):
                self.moves.setdefault(operation, {})[place] = event
                if event.state == "dispatched" and event.approval is not None:
                    self.used.add(event.approval)
            case ApprovalRequested(approval=approval):
                self.asked[approval] = event
            case ApprovalDecided(approval=approval, verdict=verdict):
                if verdict != "void" or approval not in self.decided:
                    self.decided[approval] = event
            case _:
                return


def faults_of_operation(row: Operation, account: Account) -> list[str]:
    """Where the row is not what its moves made of it."""
    moves = [move for _, move in sorted(account.moves.get(row.id, {}).items())]
    if not moves:
        return [f"operation {row.id}: has a row and no event"]
    last = moves[-1]
    faults = [*_declared(row, account), *_operation(row, moves, last)]
    return [f"operation {row.id}: {fault}" for fault in faults]


def faults_of_approval(row: Approval, account: Account, waiting: Decision | None) -> list[str]:
    """Where the row is not what was asked and decided. `waiting` is a decision in the inbox."""
    asked = account.asked.get(row.id)
    if asked is None:
        return [f"approval {row.id}: has a row and no event"]
    faults = [*_declared(row, account), *_approval(row, asked, account.decided.get(row.id), waiting)]
    if row.state == "approved" and row.id in account.used:
        faults.append("the row says approved, and something was dispatched with it already")
    return [f"approval {row.id}: {fault}" for fault in faults]


def _declared(row: Operation | Approval, account: Account) -> Iterator[str]:
    said, salt = account.declared.get(row.id, ("", b""))
    if said != declared_of(row, salt):
        yield "the row says other things than were declared when it was made"


def _operation(row: Operation, moves: list[OperationMoved], last: OperationMoved) -> Iterator[str]:
    if (row.state, row.closed, row.attempt) != (last.state, last.closed, last.attempt):
        yield f"the row says {row.state}, attempt {row.attempt}; its last event says {last.state}, attempt {last.attempt}"
    if any(move.key not in (None, row.key) for move in moves):
        yield "the row has another key than its events"
    for name in ("owner", "not_after_ms", "approval"):
        said = [value for move in moves if (value := getattr(move, name)) is not None]
        if getattr(row, name) != (said[-1] if said else None):
            yield f"the row has another {name} than its events"
    if any(move.arguments_digest not in (None, row.arguments_digest) for move in moves):
        yield "the row has another arguments digest than its events"
    if digest("remit.arguments", row.arguments) != row.arguments_digest:
        yield "the row's arguments do not match their digest"
    outcomes = [move.outcome for move in moves if move.outcome is not None]
    if row.outcome is not None and outcomes:
        try:
            same = decode_outcome(row.outcome) == outcomes[-1]
        except LedgerError:
            same = False
        if not same:
            yield "the row has another outcome than its last event"
    settled = [settler(move.on, move.by) for move in moves if move.state in ("succeeded", "failed") and move.by is not None]
    if row.settled_by != (settled[-1] if settled else None):
        yield "the row says that somebody else settled it than its events"
    if row.state == "succeeded" and row.outcome is None and outcomes:
        yield "the row has lost its outcome"


def _approval(
    row: Approval, asked: ApprovalRequested, decided: ApprovalDecided | None, waiting: Decision | None
) -> Iterator[str]:
    if asked.digest != row.arguments_digest or digest("remit.arguments", row.arguments) != row.arguments_digest:
        yield "the row has other arguments than were asked about"
    if (asked.call, asked.operation, asked.ask) != (row.call, row.operation, row.kind):
        yield "the row is about another call, operation or kind than was asked"
    if (asked.preview, asked.expires_ms) != (row.preview, row.expires_ms):
        yield "the row has another sentence or expiry than was asked"
    if row.state in ("void", "expired"):
        return  # nothing runs for it, whatever was decided
    if row.state == "pending":
        if decided is not None:
            yield f"the row says pending, its event says {decided.verdict}"
        return
    verdict = decided or waiting
    if verdict is None:
        yield f"the row says {row.state}, and nobody's decision is recorded"
        return
    fits = {"consumed": ("approved", "answered")}.get(row.state, (row.state,))
    if verdict.verdict not in fits:
        yield f"the row says {row.state}, the decision was {verdict.verdict}"
    if (verdict.by, verdict.answer) != (row.decided_by, row.answer):
        yield "the row names another person or answer than the decision"
    edited = None if row.edited is None else digest("remit.arguments", row.edited)
    if isinstance(verdict, Decision):
        said = None if verdict.edited is None else digest("remit.arguments", verdict.edited)
    else:
        said = verdict.edited
    if edited != said:
        yield "the row has other edited arguments than the decision"
