"""All that a ledger holds of one run and of what was before it, as far as a replay needs it.

It runs nothing. Invariant: what is read here is what was recorded, whatever agents and tools are today.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from remit.errors import InputError
from remit.types.approval import Approval
from remit.types.change import KeepBlob
from remit.types.event import (
    AnswerChecked,
    ApprovalDecided,
    CallConsidered,
    CallEnded,
    CancelRequested,
    MessageAppended,
    Recorded,
    RunStarted,
)
from remit.types.ident import CallId, Digest, RunId
from remit.types.label import Label
from remit.types.ledger import Ledger
from remit.types.operation import HOLDING, Operation
from remit.types.outcome import Outcome, Succeeded
from remit.types.run import RunRow

__all__ = ["Earlier", "Record", "read"]


@dataclass(frozen=True, slots=True)
class Earlier:
    """A run that the conversation had before this one, or one that holds the key of one of its effects."""

    row: RunRow
    events: tuple[Recorded, ...] = ()
    operations: tuple[Operation, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """One run as it was recorded.

    Args:
        started: its first event.
        request: JSON text of what was asked for.
        before: the runs of its conversation before it, oldest first.
        others: runs whose operations answered calls of this one.
        blobs: bytes that its request, results and messages name.
    """

    row: RunRow
    events: tuple[Recorded, ...]
    started: RunStarted
    request: str
    approvals: tuple[Approval, ...]
    before: tuple[Earlier, ...] = ()
    others: tuple[Earlier, ...] = ()
    blobs: tuple[KeepBlob, ...] = ()

    def outcome(self, call: CallId) -> Outcome | None:
        """What the model was told that a call came to; None if it never was."""
        ends = (one.event for one in self.events if isinstance(one.event, CallEnded))
        return next((end.outcome for end in ends if end.call == call), None)

    def label(self, call: CallId) -> Label | None:
        """What the answer of a call did to the context; None if it had none."""
        ends = (one.event for one in self.events if isinstance(one.event, CallEnded))
        return next((end.label for end in ends if end.call == call), None)

    def was_owner_denied(self, call: CallId) -> bool:
        """Whether the requester had no access to what a call names."""
        considered = (one.event for one in self.events if isinstance(one.event, CallConsidered))
        return any(one.call == call and one.code == "owner.denied" for one in considered)

    def decisions(self, call: CallId) -> list[tuple[int, ApprovalDecided]]:
        """What people, or time, said about a call, and when; not what became void."""
        found = [(one.at_ms, one.event) for one in self.events if isinstance(one.event, ApprovalDecided)]
        return [(at_ms, one) for at_ms, one in found if one.call == call and one.verdict != "void"]

    def checks(self) -> list[AnswerChecked]:
        """Whether what was promised was true, each time that the answer had its type."""
        found = [one.event for one in self.events if isinstance(one.event, AnswerChecked)]
        return [one for one in found if one.valid]

    def cancelled(self) -> CancelRequested | None:
        """Who cancelled it, if anybody did."""
        return next((one.event for one in self.events if isinstance(one.event, CancelRequested)), None)


async def read(ledger: Ledger, row: RunRow) -> Record:
    """The record of a run.

    Raises:
        InputError: nothing of it can be replayed: another loop drove it (`replay.host`), or it has not started
            (`replay.queued`).
    """
    events = tuple(await ledger.read(row.id))
    if row.host:
        raise InputError(f"{row.id} is driven by another loop; what its model said is not recorded", code="replay.host")
    started = events[0].event if events else None
    if not isinstance(started, RunStarted):
        raise InputError(f"{row.id} has not started yet", code="replay.queued")
    before = await _before(ledger, events)
    others = await _others(ledger, row, events)
    return Record(
        row=row,
        events=events,
        started=started,
        request=await ledger.request(row.id),
        approvals=tuple(await ledger.approvals(run=row.id, state=None, limit=None)),
        before=tuple(Earlier(one.row, one.events, others.pop(one.row.id, ())) for one in before),
        others=await _rows(ledger, others),
        blobs=await _blobs(ledger, [*(event for one in before for event in one.events), *events]),
    )


async def _before(ledger: Ledger, events: Sequence[Recorded]) -> tuple[Earlier, ...]:
    found: list[Earlier] = []
    first = events[0].event
    while isinstance(first, RunStarted) and first.after is not None:
        row = await ledger.run(first.after)
        if row is None:
            break
        earlier = tuple(await ledger.read(row.id))
        found.insert(0, Earlier(row, earlier))
        first = earlier[0].event if earlier else None
    return tuple(found)


async def _others(ledger: Ledger, row: RunRow, events: Sequence[Recorded]) -> dict[RunId, tuple[Operation, ...]]:
    """What had happened in other runs already when this one asked for the same, by run."""
    named = {one.event.outcome.operation: None for one in events if isinstance(one.event, CallEnded)}
    found: dict[RunId, tuple[Operation, ...]] = {}
    for name in named:
        operation = None if name is None else await ledger.operation(name)
        if operation is not None and operation.run != row.id and operation.state in HOLDING:
            found[operation.run] = (*found.get(operation.run, ()), operation)
    return found


async def _rows(ledger: Ledger, operations: Mapping[RunId, tuple[Operation, ...]]) -> tuple[Earlier, ...]:
    rows = {run: await ledger.run(run) for run in operations}
    return tuple(Earlier(row, operations=operations[run]) for run, row in rows.items() if row is not None)


async def _blobs(ledger: Ledger, events: Sequence[Recorded]) -> tuple[KeepBlob, ...]:
    digests: dict[str, None] = {}
    for one in events:
        match one.event:
            case MessageAppended(blobs=blobs):
                digests.update(dict.fromkeys(blobs))
            case CallEnded(outcome=Succeeded(attachments=attachments)):
                digests.update({attachment.digest: None for attachment in attachments})
            case _:
                pass
    return tuple([KeepBlob(Digest(digest), await ledger.blob(Digest(digest))) for digest in digests])
