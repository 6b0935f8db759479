"""Making old runs take less place: their payloads compressed, and what ended processes left behind removed.

Runs inside an open transaction, a part at a time, so that others write between. Invariant: nothing is lost; what was read
before reads the same, and verifies.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from remit.ledger.pack import packed
from remit.ledger.sql import Database, execute, rows
from remit.ledger.transaction import Transaction
from remit.types.ident import OwnerId, RunId

__all__ = ["Loose", "drop_owners", "loose", "old_runs", "pack"]

_OLD = "SELECT id FROM remit_run WHERE status = 'ended' AND updated_ms < ? ORDER BY number"
_LOOSE = """SELECT p.page, p.text FROM remit_page e JOIN remit_payload p ON p.page = e.number
    WHERE e.run = ? AND typeof(p.text) = 'text'"""


@dataclass(frozen=True, slots=True)
class Loose:
    """A payload that is not compressed, and what it would be; None where that is no shorter."""

    page: int
    size: int
    data: bytes | None


def old_runs(db: Database, before_ms: int) -> list[RunId]:
    """Those that ended before that moment."""
    return [RunId(name) for (name,) in rows(db, _OLD, (before_ms,))]


def loose(db: Database, run: RunId) -> list[Loose]:
    """The run's payloads that may be compressed."""
    return [Loose(page, len(text.encode()), packed(text)) for page, text in rows(db, _LOOSE, (run,))]


def pack(tx: Transaction, payloads: list[Loose]) -> None:
    """Put the shorter ones in the place of what they are compressed from."""
    for one in payloads:
        if one.data is not None:
            execute(tx.db, "UPDATE remit_payload SET text = ? WHERE page = ? AND typeof(text) = 'text'", (one.data, one.page))


def drop_owners(db: Database, alive: Callable[[OwnerId], bool], *, dry: bool) -> int:
    """Remove the rows of processes that have ended and own no run; how many."""
    owning = "SELECT 1 FROM remit_run r WHERE r.owner = o.id"
    gone = [name for (name,) in rows(db, f"SELECT o.id FROM remit_owner o WHERE NOT EXISTS ({owning})") if not alive(name)]
    for name in () if dry else gone:
        execute(db, "DELETE FROM remit_owner WHERE id = ?", (name,))
    return len(gone)
