"""One `Append` as SQL: create or check ownership, changes, events, inbox, status.

Runs inside an open transaction. Invariant: the run's row, its events and what they imply change
together; a stale owner changes nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from remit import ambient
from remit.errors import Conflict, NotFound, RunOwned
from remit.ledger.chain import SALT_BYTES, commitment_of, first_link, link
from remit.ledger.change import Place, make
from remit.ledger.row import RUN, insert, run_of
from remit.ledger.sql import Row, execute, execute_all, one
from remit.ledger.transaction import Transaction
from remit.types.change import Create
from remit.types.codec import encode_event
from remit.types.event import Recorded
from remit.types.ledger import Append, Committed, Stamped
from remit.types.run import RunRow

__all__ = ["Prepared", "apply", "prepare"]


@dataclass(frozen=True, slots=True)
class _Payload:
    stamped: Stamped
    text: str
    salt: bytes
    commitment: bytes


@dataclass(frozen=True, slots=True)
class Prepared:
    """An append with everything worked out that needs no database."""

    append: Append
    now_ms: int
    payloads: tuple[_Payload, ...]


def prepare(append: Append) -> Prepared:
    """Encode the events and draw their salts, in the caller's thread and by its clock."""
    return Prepared(append, ambient.now_ms(), tuple(_payload(one) for one in append.events))


def apply(tx: Transaction, prepared: Prepared) -> Committed:
    """Do it.

    Raises:
        RunOwned, Conflict, KeyTaken, BudgetExceeded, NotFound: nothing of it was written.
    """
    append = prepared.append
    row = _create(tx, append.create, prepared) if append.create else _own(tx, append)
    stamps = _stamps(row, prepared)
    at = Place(tx.db, append.run, stamps[-1] if stamps else max(row.updated_ms, prepared.now_ms))
    for change in append.changes:
        make(change, at)
    head = _chain(tx, row, prepared.payloads, stamps)
    _take(tx, append)
    sequence = row.sequence + len(stamps)
    _stand(tx, append, row, sequence=sequence, head=head, at_ms=at.at_ms)
    recorded = tuple(
        Recorded(append.run, row.sequence + offset, at_ms, one.event)
        for offset, (at_ms, one) in enumerate(zip(stamps, append.events, strict=True), start=1)
    )
    return Committed(row.epoch, sequence, recorded)


def _payload(stamped: Stamped) -> _Payload:
    text = encode_event(stamped.event)
    salt = ambient.random_bytes(SALT_BYTES)
    return _Payload(stamped, text, salt, commitment_of(salt, text))


def _create(tx: Transaction, create: Create, prepared: Prepared) -> RunRow:
    asked = create.row
    taken = one(tx.db, "SELECT id FROM remit_run WHERE id = ?", asked.id) or (
        asked.request_id is not None
        and one(
            tx.db,
            "SELECT id FROM remit_run WHERE tenant = ? AND subject = ? AND agent = ? AND request_id = ?",
            asked.tenant,
            asked.subject,
            asked.agent,
            asked.request_id,
        )
    )
    if taken:
        raise Conflict("the request exists already", code="request.exists", run=taken[0])
    at_ms = prepared.append.events[0].at_ms if prepared.append.events else prepared.now_ms
    queued = asked.status == "queued"
    row = replace(
        asked,
        owner=None if queued else tx.owner,
        epoch=0 if queued else 1,
        sequence=0,
        head="",
        created_ms=at_ms,
        updated_ms=at_ms,
    )
    insert(tx.db, "remit_run", row, request=create.request)
    return row


def _own(tx: Transaction, append: Append) -> RunRow:
    found = one(tx.db, f"{RUN} WHERE id = ?", append.run)
    if found is None:
        raise NotFound("no such run", code="run.not_found", run=append.run)
    row = run_of(found)
    if append.claim:
        row = _claim(tx, row)
    elif row.owner != tx.owner or row.epoch != append.epoch:
        raise RunOwned("the run is no longer this owner's", run=row.id, owner=row.owner)
    if row.sequence != append.sequence:
        raise Conflict(
            f"the run stands at event {row.sequence}, not {append.sequence}", code="journal.sequence", sequence=row.sequence
        )
    return row


def _claim(tx: Transaction, row: RunRow) -> RunRow:
    if row.owner == tx.owner:
        return row
    if row.owner is not None and tx.alive(row.owner):
        raise RunOwned("a live process owns the run", run=row.id, owner=row.owner)
    return replace(row, owner=tx.owner, epoch=row.epoch + 1)


def _stamps(row: RunRow, prepared: Prepared) -> list[int]:
    """The events' moments: time in a run never goes back."""
    last = row.updated_ms
    stamps: list[int] = []
    for one_event in prepared.append.events:
        last = max(last, one_event.at_ms)
        stamps.append(last)
    return stamps


def _chain(tx: Transaction, row: RunRow, payloads: Sequence[_Payload], stamps: Sequence[int]) -> str:
    if not payloads:
        return row.head
    head = bytes.fromhex(row.head) if row.head else first_link(row.id)
    events: list[Row] = []
    for sequence, (payload, at_ms) in enumerate(zip(payloads, stamps, strict=True), start=row.sequence + 1):
        kind = payload.stamped.event.kind
        head = link(head, run=row.id, sequence=sequence, kind=kind, at_ms=at_ms, commitment=payload.commitment)
        events.append((row.id, sequence, kind, at_ms, payload.commitment, head))
    execute_all(
        tx.db, "INSERT INTO remit_event (run, sequence, kind, at_ms, commitment, hash) VALUES (?, ?, ?, ?, ?, ?)", events
    )
    first = tx.db.last_insert_rowid() - len(events) + 1  # each new id is the largest plus one, and only we write
    texts = [(first + offset, payload.salt, payload.text) for offset, payload in enumerate(payloads)]
    execute_all(tx.db, "INSERT INTO remit_payload VALUES (?, ?, ?)", texts)
    return head.hex()


def _take(tx: Transaction, append: Append) -> None:
    for delivery in append.taken:
        execute(tx.db, "DELETE FROM remit_inbox WHERE id = ? AND run = ?", (delivery, append.run))
        if tx.db.changes() == 0:
            raise Conflict("the delivery was journaled already", code="inbox.taken", delivery=delivery)


def _stand(tx: Transaction, append: Append, row: RunRow, *, sequence: int, head: str, at_ms: int) -> None:
    """Write where the run stands now. Another status brings its own expiry, or none."""
    status = append.status or row.status
    expires_ms = append.expires_ms if append.status or append.expires_ms is not None else row.expires_ms
    execute(
        tx.db,
        "UPDATE remit_run SET status = ?, owner = ?, epoch = ?, sequence = ?, head = ?, expires_ms = ?, updated_ms = ?"
        " WHERE id = ?",
        (
            status,
            None if append.release else row.owner,
            row.epoch,
            sequence,
            head,
            expires_ms,
            at_ms,
            row.id,
        ),
    )
