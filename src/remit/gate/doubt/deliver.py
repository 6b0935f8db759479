"""What others report about an operation of this run: a person, a late handler, whoever found its owner dead.

Knows the table of effects. Invariant: every delivery is journaled once, by the run's owner, whatever
it says; what cannot move the operation is kept as evidence, and what contradicts is named.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from remit.canonical import decode, to_plain
from remit.errors import Conflict
from remit.gate.attempt import after
from remit.gate.code import fail
from remit.gate.desk import Desk
from remit.gate.doubt.elsewhere import notices
from remit.gate.note import Moved, moved
from remit.gate.result import shorten
from remit.gate.scene import Scene
from remit.gate.stop import close_withdrawn
from remit.types.change import Change, PassEvidence
from remit.types.codec import encode_outcome
from remit.types.delivery import Delivered, LateReport, OwnerGone, Settlement, Withdrawal
from remit.types.event import Contradicted, Event, Settled
from remit.types.ident import Json, OperationId
from remit.types.operation import Operation
from remit.types.outcome import Failed, Outcome, Succeeded

__all__ = ["deliver"]

_LONGEST = 40_000


@dataclass(slots=True)
class _Entry:
    """What one delivery adds to the journal."""

    events: list[Event] = field(default_factory=list[Event])
    changes: list[Change] = field(default_factory=list[Change])

    def take(self, row: Operation, step: Moved, *changes: Change) -> Operation:
        self.events.append(step.event)
        self.changes += (step.change, *changes)
        return after(row, step)

    def keep(self, row: Operation, evidence: str, *, contradicts: bool = False, newer: OperationId | None = None) -> None:
        self.changes.append(PassEvidence(row.id, evidence))
        if contradicts:
            self.events.append(Contradicted(operation=row.id, evidence=evidence, newer=newer))


async def deliver(desk: Desk, delivered: Delivered, scene: Scene) -> None:
    """Journal a delivery about an operation, and wake whoever waits for it."""
    delivery = delivered.delivery
    match delivery:
        case Settlement():
            await _journal(desk, delivered, scene, lambda row: _settlement(desk, row, delivery))
        case LateReport():
            await _journal(desk, delivered, scene, lambda row: _late(desk, row, delivery))
        case OwnerGone():
            await _journal(desk, delivered, scene, lambda row: _gone(desk, row, delivery))
        case Withdrawal():
            await _withdraw(desk, delivered, scene, delivery)
        case _:
            raise ValueError(f"a {delivery.kind} is not about an operation")
    scene.woken.ring()


async def _journal(desk: Desk, delivered: Delivered, scene: Scene, read: Callable[[Operation], Awaitable[_Entry]]) -> None:
    """Make what a delivery means durable; read again, if somebody moved the operation at the same moment."""
    operation = getattr(delivered.delivery, "operation", None)
    while True:
        await scene.journal.flush()
        row = None if operation is None else await desk.ledger.operation(operation)
        entry = _Entry() if row is None or row.run != scene.run else await read(row)
        try:
            await scene.journal.commit(*entry.events, changes=tuple(entry.changes), taken=(delivered.id,))
        except Conflict as conflict:
            if conflict.code != "operation.moved":
                raise
        else:
            return


async def _owner_gone(desk: Desk, row: Operation) -> bool:
    """Whether nobody is at a dispatched operation any more. One that is sent again here is dispatched before its handler
    runs, and until its end is noted."""
    if row.id in desk.at_work.recovering:
        return False
    if row.owner is None or row.owner == desk.ledger.owner:
        return not desk.runs_here(row.id)
    return not await desk.ledger.alive(row.owner)


def _doubt(entry: _Entry, row: Operation, why: str) -> Operation:
    return entry.take(row, moved(row, "in_doubt", by="owner_gone", evidence=why))


# a person


async def _settlement(desk: Desk, row: Operation, said: Settlement) -> _Entry:
    entry = _Entry()
    if row.state == "dispatched" and await _owner_gone(desk, row):
        row = _doubt(entry, row, "a person settles it, and its owner is gone")
    if row.state != "unknown" or _passed_by(row, said):
        word = "happened" if said.happened else "did not happen"
        evidence = {"by": said.by, "attempt": said.attempt, "said": word, "reason": desk.redaction.text(said.reason)}
        entry.keep(row, json.dumps(evidence), contradicts=_contradicts(row, said))
        return entry
    outcome, blobs = _settled_outcome(desk, row, said)
    entry.take(row, moved(row, "settled_yes" if said.happened else "settled_no", outcome=outcome, by=said.by), *blobs)
    entry.events.append(Settled(operation=row.id, happened=said.happened, by=said.by, reason=desk.redaction.text(said.reason)))
    entry.changes += await notices(desk, row, outcome)
    return entry


def _passed_by(row: Operation, said: Settlement) -> bool:
    """A no about an operation that was sent again since the person looked: the later attempt may have happened."""
    return not said.happened and said.attempt < row.attempt


def _contradicts(row: Operation, said: Settlement) -> bool:
    if row.state == "dispatched":  # what the reconciler denied happened, and it was sent again; or the other side dedupes
        return said.happened and said.attempt < row.attempt and row.recovery != "idempotent"
    return row.state == ("failed" if said.happened else "succeeded") and not _passed_by(row, said)


def _settled_outcome(desk: Desk, row: Operation, said: Settlement) -> tuple[Outcome, tuple[Change, ...]]:
    if not said.happened:
        return fail("settled_no", operation=row.id), ()
    value: Json = None if said.result is None else to_plain(decode(said.result))
    tool = desk.tools.get(row.tool)
    whole = Succeeded(value=desk.redaction.value(value), operation=row.id, available=said.result is not None)
    shaped = shorten(whole, _LONGEST if tool is None else tool.max_result_chars)
    return shaped.outcome, shaped.changes


# a handler that was given up


async def _late(desk: Desk, row: Operation, report: LateReport) -> _Entry:
    entry = _Entry()
    said = {"attempt": report.attempt, "outcome": json.loads(encode_outcome(report.outcome))}
    evidence = json.dumps(said if report.evidence is None else {**said, "evidence": report.evidence.splitlines()})
    if row.state == "dispatched" and report.attempt == row.attempt:
        row = _doubt(entry, row, "its owner had given it up")
    if isinstance(report.outcome, Succeeded):
        await _late_success(desk, entry, row, report.outcome, evidence)
    elif isinstance(report.outcome, Failed):
        await _late_no_effect(desk, entry, row, report, evidence)
    else:
        entry.keep(row, evidence)
    return entry


async def _late_success(desk: Desk, entry: _Entry, row: Operation, outcome: Succeeded, evidence: str) -> None:
    match row.state:
        case "unknown":
            await _succeeded_late(desk, entry, row, outcome, evidence)
        case "dispatched":
            entry.take(row, moved(row, "late_success", by="late", evidence=evidence))
            if row.recovery != "idempotent":
                entry.events.append(Contradicted(operation=row.id, evidence=evidence))
        case "succeeded":
            entry.take(row, moved(row, "late_success", evidence=evidence))
        case "failed" if row.settled_by not in (None, "handler", "late"):
            holder = await desk.ledger.held(row.key)
            if holder is None:
                await _succeeded_late(desk, entry, row, outcome, evidence)
                entry.events.append(Contradicted(operation=row.id, evidence=evidence))
            else:
                entry.keep(row, evidence, contradicts=True, newer=holder.id)
        case _:
            entry.keep(row, evidence, contradicts=row.state == "failed")


async def _succeeded_late(desk: Desk, entry: _Entry, row: Operation, outcome: Succeeded, evidence: str) -> None:
    tool = desk.tools.get(row.tool)
    shaped = shorten(outcome, _LONGEST if tool is None else tool.max_result_chars)
    entry.take(row, moved(row, "late_success", outcome=shaped.outcome, by="late", evidence=evidence), *shaped.changes)
    entry.changes += await notices(desk, row, shaped.outcome)


async def _late_no_effect(desk: Desk, entry: _Entry, row: Operation, report: LateReport, evidence: str) -> None:
    match row.state:
        case "unknown" if report.attempt == row.attempt and _alone(row):
            entry.take(row, moved(row, "late_no_effect", outcome=report.outcome, by="late", evidence=evidence))
            entry.changes += await notices(desk, row, report.outcome)
        case "succeeded":
            entry.take(row, moved(row, "late_no_effect", evidence=evidence))
            entry.events.append(Contradicted(operation=row.id, evidence=evidence))
        case "failed" | "closed":
            entry.take(row, moved(row, "late_no_effect", evidence=evidence))
        case _:
            entry.keep(row, evidence)


def _alone(row: Operation) -> bool:
    """Whether no earlier attempt can have had an effect: after a reconciler's no, but not where it was sent again."""
    return row.attempt == 1 or row.recovery != "idempotent"


# whoever found the owner dead, and the requester


async def _gone(desk: Desk, row: Operation, gone: OwnerGone) -> _Entry:
    entry = _Entry()
    here = row.owner == desk.ledger.owner
    if row.state == "dispatched" and row.attempt == gone.attempt and not here and await _owner_gone(desk, row):
        _doubt(entry, row, "its owner was found dead")
    return entry


async def _withdraw(desk: Desk, delivered: Delivered, scene: Scene, said: Withdrawal) -> None:
    if not await close_withdrawn(desk, said.operation, scene, by=said.by, taken=(delivered.id,)):
        scene.journal.note(taken=(delivered.id,))
