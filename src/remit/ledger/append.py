"""One `Append` as SQL: create or check ownership, changes, events, inbox, status.

Runs inside an open transaction. Invariant: the run's row, its events and what they implied change
together; a stale owner changes nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from remit import ambient
from remit.errors import Conflict, NotFound, RunOwned
from remit.ledger.chain import SALT_BYTES, Header, commitment_of, declared_of, first_link, link
from remit.ledger.change import Place, make_all
from remit.ledger.row import insert
from remit.ledger.sql import execute, insert_numbered, locked, one
from remit.ledger.transaction import Transaction
from remit.types.change import AskPerson, Change, Create, OpenOperation
from remit.types.codec import encode_event
from remit.types.event import Recorded
from remit.types.ident import OwnerId
from remit.types.ledger import Append, Committed

__all__ = ["Prepared", "apply", "prepare"]


@dataclass(slots=True)
class Prepared:
    """An append with everything worked out that needs no database; the payload is that of its events."""

    append: Append
    now_ms: int
    kinds: str
    opened: str
    payload: str
    salt: bytes
    commitment: bytes


@dataclass(slots=True)
class _Run:
    """Where a run's row stands, and what is to be written of it."""

    number: int
    owner: OwnerId | None
    epoch: int
    sequence: int
    head: str
    updated_ms: int
    claimed: bool = False


def prepare(append: Append) -> Prepared:
    """Encode the events and draw their salt, in the caller's thread and by its clock."""
    now_ms = ambient.now_ms()
    if not append.events:
        return Prepared(append, now_ms, "", "", "", b"", b"")
    salt = ambient.random_bytes(SALT_BYTES)
    kinds = " ".join([stamped.event.kind for stamped in append.events])
    payload = "\n".join([encode_event(stamped.event) for stamped in append.events])
    return Prepared(append, now_ms, kinds, _opened(append.changes, salt), payload, salt, commitment_of(salt, payload))


def _opened(changes: Sequence[Change], salt: bytes) -> str:
    """What the commit declares of the operations and approvals that it makes."""
    made = [change.operation for change in changes if isinstance(change, OpenOperation)]
    asked = [change.approval for change in changes if isinstance(change, AskPerson)]
    return " ".join([f"{noun.id}={declared_of(noun, salt)}" for noun in (*made, *asked)])


def apply(tx: Transaction, prepared: Prepared) -> Committed:
    """Do it.

    Raises:
        RunOwned, Conflict, KeyTaken, BudgetExceeded, NotFound: nothing of it was written.
    """
    append = prepared.append
    run = _create(tx, append.create, prepared) if append.create else _own(tx, append)
    recorded = _recorded(run, append)
    at_ms = recorded[-1].at_ms if recorded else max(run.updated_ms, prepared.now_ms)
    if append.changes:
        make_all(append.changes, Place(tx.db, append.run, at_ms, tx.posted))
    if recorded:
        _chain(tx, run, recorded, prepared)
    _take(tx, append)
    run.updated_ms = at_ms
    _stand(tx, append, run)
    return Committed(run.epoch, run.sequence, recorded)


def _create(tx: Transaction, create: Create, prepared: Prepared) -> _Run:
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
    number = insert(tx.db, "remit_run", row)
    execute(tx.db, "INSERT INTO remit_request VALUES (?, ?)", (number, create.request))
    return _Run(number, row.owner, row.epoch, 0, "", at_ms)


def _own(tx: Transaction, append: Append) -> _Run:
    found = locked(tx.db, "SELECT number, owner, epoch, sequence, head, updated_ms FROM remit_run WHERE id = ?", append.run)
    if found is None:
        raise NotFound("no such run", code="run.not_found", run=append.run)
    run = _Run(*found)
    if append.claim:
        _claim(tx, append, run)
    elif run.owner != tx.owner or run.epoch != append.epoch:
        raise RunOwned("the run is no longer this owner's", run=append.run, owner=run.owner)
    if run.sequence != append.sequence:
        raise Conflict(
            f"the run stands at event {run.sequence}, not {append.sequence}", code="journal.sequence", sequence=run.sequence
        )
    return run


def _claim(tx: Transaction, append: Append, run: _Run) -> None:
    if run.owner == tx.owner:
        return
    if run.owner is not None and tx.alive(run.owner):
        raise RunOwned("a live process owns the run", run=append.run, owner=run.owner)
    run.owner, run.epoch, run.claimed = tx.owner, run.epoch + 1, True


def _recorded(run: _Run, append: Append) -> tuple[Recorded, ...]:
    """The events in their places; time in a run never goes back."""
    last, sequence = run.updated_ms, run.sequence
    recorded: list[Recorded] = []
    for stamped in append.events:
        last = max(last, stamped.at_ms)
        sequence += 1
        recorded.append(Recorded(append.run, sequence, last, stamped.event))
    return tuple(recorded)


def _chain(tx: Transaction, run: _Run, recorded: Sequence[Recorded], prepared: Prepared) -> None:
    """Write the page and its payload, and move the run's head to it."""
    name, last = recorded[-1].run, recorded[-1].sequence
    times = " ".join([str(one_event.at_ms) for one_event in recorded])
    before = bytes.fromhex(run.head) if run.head else first_link(name)
    number = insert_numbered(tx.db, _PAYLOAD, (prepared.salt, prepared.payload), "page")
    header = Header(number, name, last, prepared.kinds, times, prepared.opened)
    head = link(before, header, prepared.commitment)
    page = (name, last, header.number, header.kinds, times, header.opened, prepared.commitment, head)
    execute(tx.db, "INSERT INTO remit_page VALUES (?, ?, ?, ?, ?, ?, ?, ?)", page)
    run.sequence, run.head = last, head.hex()
    tx.mark = (name, last, head)


_PAYLOAD = "INSERT INTO remit_payload (salt, text) VALUES (?, ?)"


def _take(tx: Transaction, append: Append) -> None:
    for delivery in append.taken:
        execute(tx.db, "DELETE FROM remit_inbox WHERE id = ? AND run = ?", (delivery, append.run))
        if tx.db.changes() == 0:
            raise Conflict("the delivery was journaled already", code="inbox.taken", delivery=delivery)


_GO_ON = "UPDATE remit_run SET sequence = ?, head = ?, updated_ms = ? WHERE number = ?"
_TURN = (
    "UPDATE remit_run SET sequence = ?, head = ?, updated_ms = ?, status = coalesce(?, status), owner = ?, epoch = ?,"
    " expires_ms = CASE WHEN ? = 1 THEN ? ELSE expires_ms END WHERE number = ?"
)


def _stand(tx: Transaction, append: Append, run: _Run) -> None:
    """Write where the run stands now. Another status brings its own expiry, or none.

    Most commits change neither status nor owner nor expiry, and then no index is touched.
    """
    stands = (run.sequence, run.head, run.updated_ms)
    expires = append.status is not None or append.expires_ms is not None
    if not (expires or append.release or run.claimed):
        execute(tx.db, _GO_ON, (*stands, run.number))
        return
    owner = None if append.release else run.owner
    execute(tx.db, _TURN, (*stands, append.status, owner, run.epoch, expires, append.expires_ms, run.number))
