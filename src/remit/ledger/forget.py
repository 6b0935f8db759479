"""Forgetting runs: every word of them is deleted, and what proves and protects stays.

Runs inside an open transaction. Invariant: nothing is forgotten that could still happen or be asked; the chain still holds,
and a key that was held is held, though nobody can guess from the row what it was made of.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from remit.errors import Conflict, NotFound
from remit.ledger.append import Prepared, apply
from remit.ledger.hide import hidden, kept, secret_of
from remit.ledger.pack import unpacked
from remit.ledger.row import RUN, run_of
from remit.ledger.sql import Database, execute, one, pragma, rows
from remit.ledger.transaction import Transaction
from remit.types.ident import Digest, RunId
from remit.types.retention import Erased
from remit.types.run import RunRow

__all__ = ["SECRET_BYTES", "forget", "survey", "to_forget"]

SECRET_BYTES = 32
_DIGEST = re.compile(r"\b[0-9a-f]{64}\b")
_OF_PAGES = "SELECT number FROM remit_page WHERE run = ? AND kinds <> 'run.forgotten'"


def to_forget(db: Database, run: RunId, *, conversation: bool) -> list[RunRow]:
    """The run and all that belongs to it: those that answered its calls and, if that is wanted, its whole conversation.

    Raises:
        NotFound: there is no such run.
        Conflict: it is part of something that stays (`forget.child`, `forget.conversation`), it has not ended
            (`forget.running`), or something of it is open (`forget.open`, `forget.waiting`).
    """
    row = one(db, f"{RUN} WHERE id = ?", run)
    if row is None:
        raise NotFound("no such run", code="run.not_found", run=run)
    first = run_of(row)
    if first.parent is not None:
        raise Conflict(
            f"run {run} answered a call of {first.parent}, which holds its words too; forget that one",
            code="forget.child",
            run=first.parent,
        )
    firsts = [first] if first.conversation is None else _together(db, first)
    if first.conversation is not None and not conversation:
        raise Conflict(
            f"run {run} is one of {len(firsts)} in conversation {first.conversation}: later ones were said to a model that had"
            " read it; the whole conversation can be forgotten",
            code="forget.conversation",
            conversation=first.conversation,
        )
    found = [one_run for top in firsts for one_run in _tree(db, top)]
    for one_run in found:
        _refuse_open(db, one_run)
    return [one_run for one_run in found if one_run.forgotten_ms is None]


def _together(db: Database, first: RunRow) -> list[RunRow]:
    place = (first.tenant, first.conversation)
    found = rows(db, f"{RUN} WHERE tenant = ? AND conversation = ? AND parent IS NULL ORDER BY number", place)
    return [run_of(row) for row in found]


def _tree(db: Database, top: RunRow) -> Iterator[RunRow]:
    yield top
    for row in list(rows(db, f"{RUN} WHERE parent = ? ORDER BY number", (top.id,))):
        yield from _tree(db, run_of(row))


def _refuse_open(db: Database, run: RunRow) -> None:
    if run.status != "ended":
        raise Conflict(f"run {run.id} has not ended; it is {run.status}", code="forget.running", run=run.id)
    open_now = one(
        db,
        "SELECT id, state FROM remit_operation WHERE run = ? AND state IN ('awaiting_approval', 'dispatched', 'unknown')",
        run.id,
    )
    if open_now is not None:
        raise Conflict(
            f"operation {open_now[0]} of run {run.id} is {open_now[1]}; settle or withdraw it first",
            code="forget.open",
            operation=open_now[0],
        )
    if one(db, "SELECT 1 FROM remit_approval WHERE run = ? AND state = 'pending'", run.id):
        raise Conflict(f"somebody is still asked about run {run.id}", code="forget.waiting", run=run.id)
    if one(db, "SELECT 1 FROM remit_inbox WHERE run = ?", run.id):
        raise Conflict(f"run {run.id} has news that nobody has taken up yet; `remit recover` does", code="forget.waiting")


def survey(db: Database, runs: Iterable[RunRow]) -> Erased:
    """What would be deleted."""
    found = list(runs)
    payloads = [_count(db, "remit_payload", f"page IN ({_OF_PAGES})", one_run.id, size="text") for one_run in found]
    blobs = _blobs(db, found)
    sizes = [one(db, "SELECT length(data) FROM remit_blob WHERE digest = ?", digest) for digest in blobs]
    return Erased(
        runs=tuple(one_run.id for one_run in found),
        payloads=sum(count for count, _ in payloads),
        operations=sum(_count(db, "remit_operation", "run = ?", one_run.id)[0] for one_run in found),
        approvals=sum(_count(db, "remit_approval", "run = ?", one_run.id)[0] for one_run in found),
        blobs=len(blobs),
        size=sum(size for _, size in payloads) + sum(row[0] for row in sizes if row is not None),
        done=False,
        scrubbed=False,
    )


def _count(db: Database, table: str, where: str, run: RunId, *, size: str = "''") -> tuple[int, int]:
    row = one(db, f"SELECT count(*), coalesce(sum(octet_length({size})), 0) FROM {table} WHERE {where}", run)
    assert row is not None
    return row[0], row[1]


def forget(tx: Transaction, events: Iterable[tuple[RunRow, Digest, Prepared]], *, secret: bytes, again: list[RunRow]) -> Erased:
    """Append to each run that it was forgotten, and delete its words.

    Args:
        events: the runs as they were read, what stays of each, and the event that says so.
        secret: for the digests that stay, and in those of what stays.
        again: what is to be forgotten as it is now.

    Raises:
        Conflict: something has changed since the runs were read (`forget.moved`).
    """
    planned = list(events)
    now = [(row.id, row.sequence, kept(tx.db, row.id, secret)) for row in again]
    if [(row.id, row.sequence, stays) for row, stays, _ in planned] != now or secret_of(tx.db) not in (None, secret):
        raise Conflict("the runs have changed meanwhile; try again", code="forget.moved", retryable=True)
    report = survey(tx.db, again)
    pragma(tx.db, "secure_delete", 1)
    try:
        execute(tx.db, "INSERT INTO remit_secret VALUES (1, ?) ON CONFLICT DO NOTHING", (secret,))
        blobs = _blobs(tx.db, again)
        for row, _, prepared in planned:
            apply(tx, prepared)
            _delete(tx.db, row, prepared.now_ms)
        for digest in blobs:
            execute(tx.db, "DELETE FROM remit_blob WHERE digest = ?", (digest,))
    finally:
        pragma(tx.db, "secure_delete", 0)
    return report


def _delete(db: Database, run: RunRow, now_ms: int) -> None:
    execute(db, f"DELETE FROM remit_payload WHERE page IN ({_OF_PAGES})", (run.id,))
    execute(db, "DELETE FROM remit_request WHERE run = (SELECT number FROM remit_run WHERE id = ?)", (run.id,))
    execute(db, "DELETE FROM remit_notice WHERE run = ?", (run.id,))
    if run.conversation is not None:
        execute(db, "DELETE FROM remit_conversation WHERE tenant = ? AND id = ?", (run.tenant, run.conversation))
    for name, key, digest in list(rows(db, "SELECT id, key, arguments_digest FROM remit_operation WHERE run = ?", (run.id,))):
        execute(
            db,
            "UPDATE remit_operation SET arguments = 'null', outcome = NULL, evidence = '[]', key = ?, arguments_digest = ?"
            " WHERE id = ?",
            (hidden(db, key), hidden(db, digest), name),
        )
    for name, digest in list(rows(db, "SELECT id, arguments_digest FROM remit_approval WHERE run = ?", (run.id,))):
        execute(
            db,
            "UPDATE remit_approval SET arguments = 'null', shown = 'null', preview = '', reasons = '[]', label = '',"
            " reason = '', edited = NULL, answer = NULL, arguments_digest = ? WHERE id = ?",
            (hidden(db, digest), name),
        )
    asked = None if run.request_digest is None else hidden(db, run.request_digest)
    execute(db, "UPDATE remit_run SET forgotten_ms = ?, request_digest = ? WHERE id = ?", (now_ms, asked, run.id))


# bytes that nothing else refers to


def _blobs(db: Database, runs: list[RunRow]) -> list[str]:
    ours = {run.id for run in runs}
    known = {digest for (digest,) in rows(db, "SELECT digest FROM remit_blob")}
    if not known or not ours:
        return []
    mine: set[str] = set()
    others: set[str] = set()
    for run, text in _texts(db):
        named = known.intersection(_DIGEST.findall(text))
        (mine if run in ours else others).update(named)
    return sorted(mine - others)


def _texts(db: Database) -> Iterator[tuple[str, str]]:
    """Everything that may name a blob, and the run that it is of."""
    for run, text in rows(db, "SELECT e.run, p.text FROM remit_page e JOIN remit_payload p ON p.page = e.number"):
        yield run, unpacked(text)
    yield from rows(db, "SELECT r.id, q.text FROM remit_request q JOIN remit_run r ON r.number = q.run")
    yield from rows(db, "SELECT run, text FROM remit_inbox")
    yield from rows(db, "SELECT run, outcome FROM remit_notice")
    yield from rows(db, "SELECT run, outcome FROM remit_operation WHERE outcome IS NOT NULL")
