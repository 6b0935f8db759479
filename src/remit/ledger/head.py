"""The heads of runs: taken, and held against what the ledger says later.

Reads only. Invariant: a chain that agrees with a head has every event that it had then, each as it was.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from remit.errors import NotFound
from remit.ledger.sql import Database, one, rows
from remit.types.head import Head, Heads
from remit.types.ident import RunId

__all__ = ["faults_of_head", "heads"]

_HEADS = (
    "SELECT r.id, r.sequence, e.number, r.head FROM remit_run r LEFT JOIN remit_page e ON e.run = r.id AND e.last = r.sequence"
)


def heads(db: Database, runs: Sequence[RunId] | None, now_ms: int) -> Heads:
    """Of these runs, or of all.

    Raises:
        NotFound: there is no such run.
    """
    with db:  # one snapshot
        if runs is None:
            found = list(rows(db, f"{_HEADS} ORDER BY r.number"))
        else:
            found = [one(db, f"{_HEADS} WHERE r.id = ?", run) for run in dict.fromkeys(runs)]
    missing = [run for run, row in zip(dict.fromkeys(runs or ()), found, strict=False) if row is None]
    if missing:
        raise NotFound("no such run", code="run.not_found", run=missing[0])
    stood = tuple(Head(run=RunId(row[0]), sequence=row[1], page=row[2] or 0, hash=row[3]) for row in found if row is not None)
    return Heads(at_ms=now_ms, whole=runs is None, heads=stood)


def faults_of_head(db: Database, head: Heads, run: RunId | None) -> Iterator[str]:
    """What is no longer as it was when the head was taken: of one run, or of all that it names."""
    for was in head.heads:
        if run is None or was.run == run:
            yield from _faults(db, was)
    if run is not None and head.of(run) is None:
        yield f"run {run}: the head does not name it, so nothing is known of how it stood"


def _faults(db: Database, was: Head) -> Iterator[str]:
    row = one(db, "SELECT sequence FROM remit_run WHERE id = ?", was.run)
    if row is None:
        yield f"run {was.run}: is gone; when the head was taken it stood at event {was.sequence}"
        return
    if not was.sequence:
        return
    last = one(db, "SELECT max(last) FROM remit_page WHERE run = ?", was.run)
    page = one(db, "SELECT number, hash FROM remit_page WHERE run = ? AND last = ?", was.run, was.sequence)
    if last is None or (last[0] or 0) < was.sequence:
        stands = 0 if last is None else last[0] or 0
        yield f"run {was.run}: its end was cut off: it stood at event {was.sequence}, and its chain now ends at {stands}"
    elif page is None or (page[0], page[1].hex()) != (was.page, was.hash):
        yield f"run {was.run}: events up to {was.sequence} were computed anew: they have another hash than the head"
