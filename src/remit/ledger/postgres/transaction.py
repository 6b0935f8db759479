"""A write transaction: how it begins, so that only a living owner of this version writes, and how it is known again.

Knows locks and transaction ids; not what is written. Invariant: what is begun here is refused if the
owner's lock was lost or the tables were migrated by a newer version, and nobody migrates them before it is over.
"""

from __future__ import annotations

import contextlib
import threading
from dataclasses import dataclass

from remit.errors import LedgerError
from remit.ledger.migration import MIGRATIONS
from remit.ledger.postgres.connect import Place
from remit.ledger.postgres.database import Again, PostgresDatabase, lock_number
from remit.ledger.postgres.owner import lost, owner_lock
from remit.ledger.postgres.schema import SCHEMA_TURN, refuse_newer
from remit.ledger.sql import one
from remit.types.ident import OwnerId

__all__ = ["Begun", "Beginning", "settled"]

_LOOK_S = 0.05
_LOOKS = 400
"""So often it is looked whether a commit whose answer was lost is over: twenty seconds in all."""
_PATIENT = 40
"""After so many looks the session that is at it is ended: it may wait for a client that is gone."""


@dataclass(frozen=True, slots=True)
class Begun:
    """A transaction, by the number that the database knows it by for ever."""

    number: str


class Beginning:
    """Begins transactions for one owner; the whole of it is one round trip."""

    def __init__(self, place: Place, owner: OwnerId) -> None:
        self._place = place
        self._begin = (
            "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE;"
            f" SELECT pg_advisory_xact_lock_shared({lock_number(place.schema, SCHEMA_TURN)});"
            f" SELECT pg_try_advisory_xact_lock_shared({owner_lock(place.schema, owner)}),"
            " (SELECT max(version) FROM remit_migration), pg_current_xact_id()::text"
        )

    def begin(self, db: PostgresDatabase) -> Begun:
        """Begin one.

        Raises:
            LedgerError: this owner's lock was lost, or the tables are a newer version's; it is open, and to be rolled back.
        """
        dead, version, number = db.last_of(self._begin)
        if dead:
            raise lost()
        refuse_newer(int(version), self._place)
        if version < len(MIGRATIONS):
            raise LedgerError("the ledger's tables were taken back to an older version; restart", code="ledger.foreign")
        return Begun(str(number))


def settled(db: PostgresDatabase, begun: Begun) -> bool:
    """Return once the transaction is over, asked by another session; False if it does not end in twenty seconds.

    A session whose connection broke may still be at work on its COMMIT.
    """
    pause = threading.Event()
    for looks in range(_LOOKS):
        try:
            found = one(db, "SELECT pg_xact_status(?::text::xid8)", begun.number)
        except (LedgerError, Again):
            return True  # the server has crashed since, and does not know the number
        if not found or found[0] != "in progress":
            return True
        if looks == _PATIENT:
            _end(db, begun)
        pause.wait(_LOOK_S)
    return False


def _end(db: PostgresDatabase, begun: Begun) -> None:
    with contextlib.suppress(LedgerError):  # it may be none of ours to end
        one(db, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE backend_xid = ?::text::xid8::xid", begun.number)
