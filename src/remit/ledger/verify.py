"""The audit: whether the chain is whole, and whether rows say what the events say.

Reads only. What it finds without help: an event or payload altered, removed or put elsewhere; a
run's row, an operation or an approval that does not match its events; bytes that do not match their
digest. What it can find only with a head that was exported earlier: the last events of a run cut
off together with all that they changed, and a chain computed anew by somebody who may write the
file, and whole runs removed. Inboxes, notices and amounts spent are not covered by the chain.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator
from itertools import zip_longest
from typing import TypeVar

from remit.errors import LedgerError
from remit.ledger.account import Account, faults_of_approval, faults_of_operation
from remit.ledger.chain import Header, commitment_of, first_link, link
from remit.ledger.head import faults_of_head
from remit.ledger.hide import kept, secret_of
from remit.ledger.pack import unpacked
from remit.ledger.row import APPROVAL, INBOX, OPERATION, RUN, approval_of, delivered_of, operation_of, run_of
from remit.ledger.sql import Database, Row, rows
from remit.types.codec import decode_event
from remit.types.delivery import Decision
from remit.types.event import ChildStarted, Event, Forgotten, OperationMoved, RunStarted
from remit.types.head import Heads
from remit.types.ident import OperationId, RunId
from remit.types.run import RunRow

__all__ = ["verify"]

_FORGOTTEN = "run.forgotten"
_OTHER = "are not as they were when it was forgotten"

T = TypeVar("T")

_LINKS = (
    "SELECT e.number, e.last, e.kinds, e.times, e.opened, e.commitment, e.hash, p.salt, p.text"
    " FROM remit_page e LEFT JOIN remit_payload p ON p.page = e.number WHERE e.run = ? ORDER BY e.last"
)
_ORPHANS = "SELECT DISTINCT run FROM remit_page WHERE run NOT IN (SELECT id FROM remit_run) ORDER BY run"
_ELSEWHERE = (
    "SELECT e.number, e.kinds, p.text FROM remit_page e JOIN remit_payload p ON p.page = e.number"
    " WHERE e.run <> ? AND e.kinds LIKE '%operation.moved%' AND (typeof(p.text) = 'blob' OR instr(p.text, ?)) ORDER BY e.number"
)


def verify(db: Database, run: RunId | None = None, head: Heads | None = None) -> list[str]:
    """What is wrong, each named with its place; empty if nothing is. One run, or everything; held against a head."""
    account = Account()
    faults: list[str] = []
    with db:  # one snapshot
        found = [run_of(row) for row in _of(db, RUN, "id", run)]
        for row in found:
            faults += _run(db, row, account)
        if run is None:
            faults += _strays(db)
            faults += _foreign(found, account)
        elif not found:
            faults.append(f"run {run}: there is no such run")
        faults += _rows(db, run, account)
        faults += [] if head is None else faults_of_head(db, head, run)
    return faults


def _run(db: Database, row: RunRow, account: Account) -> list[str]:
    faults: list[str] = []
    sequence, head, before_ms = 0, first_link(row.id), 0
    started: RunStarted | None = None
    ended, said_last = False, ""
    for number, last, kinds, times, opened, commitment, stored, salt, text in rows(db, _LINKS, (row.id,)):
        first = last - kinds.count(" ")
        where = f"run {row.id}, {f'event {last}' if first == last else f'events {first} to {last}'}"
        if first != sequence + 1:
            faults.append(f"run {row.id}: event {sequence + 1} is missing")
        if stored != link(head, Header(number, row.id, last, kinds, times, opened), commitment):
            faults.append(f"{where}: does not follow from the event before it (altered, removed or reordered)")
        sequence, head, before_ms = last, stored, _later(where, times, before_ms, faults)
        gone = row.forgotten_ms is not None and kinds != _FORGOTTEN
        text = _plain(text)
        if gone and text is not None:
            faults.append(f"{where}: was forgotten, and its payload is still there")
        elif not gone and (text is None or commitment_of(salt, text) != commitment):
            faults.append(f"{where}: the payload {'is missing' if text is None else 'was altered'}")
        if not gone:
            account.declare(opened, salt or b"")
        ended = ended or "run.ended" in kinds.split(" ")
        said_last = kinds
        for place, event in _events(f"run {row.id}, event", (first, kinds, text or ""), faults):
            account.add((number, place), event)
            started = event if isinstance(event, RunStarted) else started
            if isinstance(event, ChildStarted):
                account.children.setdefault(event.child, row.id)
            if isinstance(event, Forgotten) and event.kept != kept(db, row.id, secret_of(db) or b""):
                faults.append(f"run {row.id}: its row, operations or approvals, or the secret of the ledger, {_OTHER}")
    if (row.sequence, row.head) != (sequence, head.hex() if sequence else ""):
        faults.append(f"run {row.id}: its row stands at event {row.sequence}, the chain at {sequence} or under another hash")
    if (row.forgotten_ms is not None) != (said_last == _FORGOTTEN):
        faults.append(f"run {row.id}: its row and its chain do not agree on whether it was forgotten")
    if row.forgotten_ms is not None:
        account.forgotten.add(row.id)
    return [*faults, *_standing(row, started, ended)]


def _plain(kept: str | bytes | None) -> str | None:
    """The text of a payload; what cannot be read is altered, and fits no commitment."""
    try:
        return None if kept is None else unpacked(kept)
    except LedgerError:
        return ""


def _later(where: str, times: str, before_ms: int, faults: list[str]) -> int:
    """When the last of these happened; each must not be earlier than the one before."""
    moments = [before_ms, *(int(at_ms) if at_ms.isdecimal() else -1 for at_ms in times.split(" "))]
    if moments != sorted(moments):
        faults.append(f"{where}: happened before the event before it")
    return moments[-1]


def _events(where: str, page: tuple[int, str, str], faults: list[str]) -> Iterator[tuple[int, Event]]:
    """The events of a page that can be read."""
    first, kinds, text = page
    for place, (kind, line) in enumerate(zip_longest(kinds.split(" "), text.split("\n") if text else ())):
        if kind is None or line is None:
            continue  # the payload is missing, or was altered
        try:
            yield place, decode_event(kind, line)
        except LedgerError:
            faults.append(f"{where} {first + place}: the payload is no {kind}")


def _standing(row: RunRow, started: RunStarted | None, ended: bool) -> Iterable[str]:
    if ended != (row.status == "ended"):
        yield f"run {row.id}: its row says {row.status}, its events say {'ended' if ended else 'not ended'}"
    if started is None:
        return
    names = ("agent", "tenant", "subject", "root", "conversation", "request_id", "request_digest", "host", "parent")
    for name in names:
        if getattr(row, name) != getattr(started, name):
            yield f"run {row.id}: its row names another {name} than its first event"


def _foreign(found: Iterable[RunRow], account: Account) -> Iterable[str]:
    for row in found:
        if row.parent is not None and row.parent not in account.forgotten and account.children.get(row.id) != row.parent:
            yield f"run {row.id}: its row says that it answers a call of {row.parent}, whose events do not say so"


_GONE = "SELECT id, last FROM remit_conversation WHERE last IS NOT NULL AND last NOT IN (SELECT id FROM remit_run)"


def _strays(db: Database) -> Iterable[str]:
    for conversation, last in rows(db, _GONE):
        yield f"conversation {conversation}: its last run, {last}, is gone"
    for (run,) in rows(db, _ORPHANS):
        yield f"run {run}: has events and no row"
    for (page,) in rows(db, "SELECT page FROM remit_payload WHERE page NOT IN (SELECT number FROM remit_page)"):
        yield f"payload {page}: its events are missing"
    for digest, data in rows(db, "SELECT digest, data FROM remit_blob"):
        if hashlib.sha256(data).hexdigest() != digest:
            yield f"bytes {digest}: were altered"


def _rows(db: Database, run: RunId | None, account: Account) -> list[str]:
    faults: list[str] = []
    operations = [
        row
        for row in _readable(_of(db, OPERATION, "run", run), operation_of, "operation", faults)
        if row.run not in account.forgotten
    ]
    approvals = [
        row
        for row in _readable(_of(db, APPROVAL, "run", run), approval_of, "approval", faults)
        if row.run not in account.forgotten
    ]
    told = [one.delivery for one in _readable(_inbox(db, run), delivered_of, "delivery", faults)]
    waiting = {one.approval: one for one in told if isinstance(one, Decision)}  # decided, and not journaled yet
    if run is not None:
        _look_elsewhere(db, run, account, [row.id for row in operations if faults_of_operation(row, account)])
    for operation in operations:
        faults += faults_of_operation(operation, account)
    for approval in approvals:
        faults += faults_of_approval(approval, account, waiting.get(approval.id))
    known = {*(row.id for row in operations), *(row.id for row in approvals)}
    gone = [name for name in account.declared if name not in known]
    return faults + [f"{account.what(name)} {name}: is in the journal and has no row" for name in gone]


def _readable(found: Iterable[Row], of: Callable[[Row], T], what: str, faults: list[str]) -> list[T]:
    """The nouns in the rows; a row that holds none is a fault."""
    nouns: list[T] = []
    for row in found:
        try:
            nouns.append(of(row))
        except (LedgerError, TypeError, ValueError):
            faults.append(f"{what} {row[0]}: the row cannot be read")
    return nouns


def _of(db: Database, sql: str, column: str, run: RunId | None) -> Iterable[Row]:
    """The rows of a run, or all."""
    if run is None:
        return rows(db, f"{sql} ORDER BY number")
    return rows(db, f"{sql} WHERE {column} = ? ORDER BY number", (run,))


def _inbox(db: Database, run: RunId | None) -> Iterable[Row]:
    return rows(db, f"{INBOX} ORDER BY id") if run is None else rows(db, f"{INBOX} WHERE run = ? ORDER BY id", (run,))


def _look_elsewhere(db: Database, run: RunId, account: Account, operations: Iterable[OperationId]) -> None:
    """Another run may have sent an operation again: what the journal of any says of these."""
    for operation in operations:
        for number, kinds, text in rows(db, _ELSEWHERE, (run, operation)):
            for place, event in _events(
                "", (0, kinds, _plain(text) or ""), []
            ):  # that run's own audit names what is wrong there
                if isinstance(event, OperationMoved) and event.operation == operation:
                    account.add((number, place), event)
