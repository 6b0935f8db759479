"""What the ledger is asked: queries, each by an index.

Knows the tables and the order that each question promises; writes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache

from remit.errors import LedgerError, NotFound
from remit.ledger.hide import hidden
from remit.ledger.pack import unpacked
from remit.ledger.row import (
    APPROVAL,
    CONVERSATION,
    INBOX,
    NOTICE,
    OPERATION,
    RUN,
    RUN_COLUMNS,
    approval_of,
    conversation_of,
    delivered_of,
    notice_of,
    operation_of,
    run_of,
)
from remit.ledger.sql import Database, Row, one, rows
from remit.types.approval import Approval
from remit.types.budget import Spent
from remit.types.change import Notice
from remit.types.codec import decode_event
from remit.types.delivery import Delivered
from remit.types.event import Forgotten, Recorded
from remit.types.ident import ApprovalId, ConversationId, Digest, OperationId, OwnerId, RunId
from remit.types.ledger import Conversation, Noun
from remit.types.operation import Operation
from remit.types.run import RunRow

__all__ = [
    "approval",
    "approvals",
    "blob",
    "claimable",
    "conversation",
    "find",
    "find_request",
    "held",
    "inbox",
    "inbox_after",
    "notices",
    "operation",
    "operations",
    "read",
    "request",
    "run",
    "runs",
    "spent",
    "transcript",
]

_PAGES = "SELECT e.run, e.last, e.kinds, e.times, p.text FROM remit_page e LEFT JOIN remit_payload p ON p.page = e.number"

_HOLDS = "state IN ('dispatched', 'unknown', 'succeeded')"

_LAST = "\U0010ffff"
"""Sorts after every letter."""

Filters = Mapping[str, str | Sequence[str] | None]
"""Column -> the value, or values, that it must have; None asks nothing."""


def run(db: Database, id: RunId) -> RunRow | None:
    """A run's row."""
    row = one(db, f"{RUN} WHERE id = ?", id)
    return run_of(row) if row else None


def request(db: Database, id: RunId) -> str:
    """What the run was created with."""
    row = one(db, "SELECT q.text FROM remit_run r JOIN remit_request q ON q.run = r.number WHERE r.id = ?", id)
    if row is None:
        _remember(db, id)
        raise NotFound("no such run", code="run.not_found", run=id)
    return row[0]


def find_request(db: Database, place: tuple[str, str, str, str]) -> RunRow | None:
    """The run of (tenant, subject, agent, request id)."""
    row = one(db, f"{RUN} WHERE tenant = ? AND subject = ? AND agent = ? AND request_id = ?", *place)
    return run_of(row) if row else None


def runs(db: Database, filters: Filters, limit: int | None) -> list[RunRow]:
    """Newest first; where only queued ones are asked for, oldest first."""
    order = "ASC" if filters.get("status") == ("queued",) else "DESC"
    return [run_of(row) for row in _select(db, RUN, filters, f"ORDER BY number {order}", limit)]


def claimable(db: Database, agents: Sequence[str], *, now_ms: int, alive: Callable[[OwnerId], bool]) -> list[RunRow]:
    """Runs that somebody should take up now, oldest first."""
    ready = [row for owner in _gone(db, alive) for row in rows(db, _DROPPED, (owner,))]
    ready += [*rows(db, _EXPIRED, (now_ms,)), *rows(db, _TOLD), *rows(db, _QUEUED)]
    found = {row[0]: run_of(row[1:]) for row in ready}
    return [row for _, row in sorted(found.items()) if row.agent in agents and (row.owner is None or not alive(row.owner))]


def read(db: Database, run: RunId, after: int, limit: int | None) -> list[Recorded]:
    """A run's events, in order."""
    found: list[Recorded] = []
    for page in rows(db, f"{_PAGES} WHERE e.run = ? AND e.last > ? ORDER BY e.last LIMIT ?", (run, after, _most(limit))):
        if page[4] is None:
            _remember(db, run)
        found += [_recorded(page, line) for line in _lines(page) if line[0] > after]
        if limit is not None and len(found) >= limit:
            return found[:limit]
    return found


def _remember(db: Database, run: RunId) -> None:
    """Raise `NotFound` if the run was forgotten; it says who did so and why."""
    row = one(db, f"{_PAGES} WHERE e.run = ? AND e.kinds = 'run.forgotten' ORDER BY e.last DESC LIMIT 1", run)
    if row is None or row[4] is None:
        return
    [line] = _lines(row)
    event = _recorded(row, line).event
    assert isinstance(event, Forgotten)
    message = f"run {run} was forgotten: what was said in it is deleted, at the word of {event.by} ({event.reason})"
    raise NotFound(message, code="run.forgotten", run=run, at_ms=line[1], by=event.by)


def transcript(db: Database, tenant: str, conversation: ConversationId) -> list[Recorded]:
    """What was said in a conversation, over all its runs."""
    found: list[Recorded] = []
    for page in rows(db, _TRANSCRIPT, (tenant, conversation)):
        found += [_recorded(page, line) for line in _lines(page) if line[2] in _SAID]
    return found


def conversation(db: Database, tenant: str, id: ConversationId) -> Conversation | None:
    """A conversation's row."""
    row = one(db, f"{CONVERSATION} WHERE tenant = ? AND id = ?", tenant, id)
    return conversation_of(row) if row else None


def notices(db: Database, tenant: str, conversation: ConversationId) -> list[Notice]:
    """What no message carries yet, oldest first."""
    found = rows(db, f"{NOTICE} WHERE tenant = ? AND conversation = ? ORDER BY id", (tenant, conversation))
    return [notice_of(row) for row in found]


def operation(db: Database, id: OperationId) -> Operation | None:
    """An operation's row."""
    row = one(db, f"{OPERATION} WHERE id = ?", id)
    return operation_of(row) if row else None


def held(db: Database, key: Digest) -> Operation | None:
    """Who holds the key."""
    row = one(db, f"{OPERATION} WHERE key = ? AND {_HOLDS}", key)
    if row is None and (secret := hidden(db, key)) != key:
        row = one(db, f"{OPERATION} WHERE key = ? AND {_HOLDS}", secret)
    return operation_of(row) if row else None


def operations(db: Database, filters: Filters, limit: int | None) -> list[Operation]:
    """Oldest first."""
    return [operation_of(row) for row in _select(db, OPERATION, filters, "ORDER BY number", limit)]


def approval(db: Database, id: ApprovalId) -> Approval | None:
    """An approval's row."""
    row = one(db, f"{APPROVAL} WHERE id = ?", id)
    return approval_of(row) if row else None


def approvals(db: Database, filters: Filters, limit: int | None) -> list[Approval]:
    """Oldest first."""
    return [approval_of(row) for row in _select(db, APPROVAL, filters, "ORDER BY number", limit)]


def find(db: Database, noun: Noun, prefix: str, limit: int) -> list[str]:
    """Ids that begin so, newest first."""
    within, bounds = (" WHERE id >= ? AND id < ?", (prefix, prefix + _LAST)) if prefix else ("", ())
    return [row[0] for row in rows(db, f"SELECT id FROM remit_{noun}{within} ORDER BY number DESC LIMIT ?", (*bounds, limit))]


def inbox(db: Database, run: RunId) -> list[Delivered]:
    """What nobody has journaled yet."""
    return [delivered_of(row) for row in rows(db, f"{INBOX} WHERE run = ? ORDER BY id", (run,))]


def inbox_after(db: Database, run: RunId, after: int) -> bool:
    """Whether the inbox holds an id greater than `after`."""
    return one(db, "SELECT 1 FROM remit_inbox WHERE run = ? AND id > ? LIMIT 1", run, after) is not None


def spent(db: Database, scope: str) -> Spent:
    """What has been spent in a scope."""
    row = one(db, "SELECT turns, calls, tokens, usd_micros, approvals, active_ms FROM remit_spent WHERE scope = ?", scope)
    if row is None:
        return Spent()
    turns, calls, tokens, usd_micros, approvals, active_ms = row
    return Spent(turns=turns, calls=calls, tokens=tokens, usd_micros=usd_micros, approvals=approvals, active_ms=active_ms)


def blob(db: Database, digest: Digest) -> bytes:
    """Bytes by their digest."""
    row = one(db, "SELECT data FROM remit_blob WHERE digest = ?", digest)
    if row is None:
        raise NotFound("no such bytes", code="blob.not_found", digest=digest)
    return row[0]


def _gone(db: Database, alive: Callable[[OwnerId], bool]) -> list[OwnerId | None]:
    """Owners of active runs that live no more; None is no owner."""
    return [owner for (owner,) in rows(db, _OWNERS) if owner is None or not alive(owner)]


def _select(db: Database, sql: str, filters: Filters, order: str, limit: int | None) -> list[Row]:
    named: list[tuple[str, int]] = []
    values: list[str | int] = []
    for column, wanted in filters.items():
        if wanted is None:
            continue
        several = (wanted,) if isinstance(wanted, str) else tuple(wanted)
        named.append((column, len(several)))
        values += several
    return list(rows(db, f"{sql}{_where(tuple(named))} {order} LIMIT ?", (*values, _most(limit))))


@lru_cache
def _where(named: tuple[tuple[str, int], ...]) -> str:
    """The terms for columns that have one of so many values."""
    terms = [_term(column, size) for column, size in named]
    return f" WHERE {' AND '.join(terms)}" if terms else ""


def _term(column: str, size: int) -> str:
    if size == 1:
        return f"{column} = ?"
    return f"{column} IN ({', '.join('?' * size)})" if size else "1 = 0"


def _most(limit: int | None) -> int:
    return _ALL if limit is None else limit


_ALL = 2**63 - 1
"""No table has so many rows."""

_Line = tuple[int, int, str, str]
"""An event as a page holds it: its sequence number, its moment, its kind, its text."""


def _lines(page: Row) -> Iterator[_Line]:
    """The events of a row of `_PAGES`."""
    run, last, kinds, times, text = page
    named: list[str] = kinds.split(" ")
    lines: list[str] = [] if text is None else unpacked(text).split("\n")
    moments = [int(at_ms) for at_ms in times.split(" ") if at_ms.isdecimal()]
    first = last - len(named) + 1
    if not len(lines) == len(named) == len(moments):
        raise LedgerError(f"event {first} of run {run} has lost its payload", code="ledger.unreadable", retryable=False)
    yield from zip(range(first, last + 1), moments, named, lines, strict=True)


def _recorded(page: Row, line: _Line) -> Recorded:
    sequence, at_ms, kind, text = line
    return Recorded(RunId(page[0]), sequence, at_ms, decode_event(kind, text))


_SAID = frozenset({"message.appended", "model.replied", "results.appended"})

_NUMBERED = f"SELECT r.number, {', '.join(f'r.{name}' for name in RUN_COLUMNS)} FROM"
_OWNERS = "SELECT DISTINCT owner FROM remit_run INDEXED BY remit_run_owner WHERE status = 'active'"
_DROPPED = f"{_NUMBERED} remit_run r INDEXED BY remit_run_owner WHERE r.status = 'active' AND r.owner IS NOT DISTINCT FROM ?"
_EXPIRED = f"""{_NUMBERED} remit_run r INDEXED BY remit_run_expiry
    WHERE r.status = 'paused' AND r.expires_ms IS NOT NULL AND (r.expires_ms <= ? OR r.expires_ms <= r.updated_ms)"""
_TOLD = f"""{_NUMBERED} (SELECT DISTINCT run FROM remit_inbox) i CROSS JOIN remit_run r
    WHERE r.id = i.run AND r.status IN ('paused', 'ended')"""
_QUEUED = f"""{_NUMBERED} remit_run r WHERE r.status = 'queued'
    AND NOT EXISTS (SELECT 1 FROM remit_conversation c WHERE c.tenant = r.tenant AND c.id = r.conversation AND c.holder <> r.id)
    AND NOT EXISTS (
        SELECT 1 FROM remit_run e
        WHERE e.tenant = r.tenant AND e.conversation = r.conversation AND e.status = 'queued' AND e.number < r.number
    )"""
_TRANSCRIPT = f"""{_PAGES} JOIN remit_run r ON r.id = e.run
    WHERE r.tenant = ? AND r.conversation = ? AND r.forgotten_ms IS NULL ORDER BY r.number, e.last"""
