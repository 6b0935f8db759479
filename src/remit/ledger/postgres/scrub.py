"""The room that a ledger takes, and giving back what its deleted rows took.

Knows VACUUM; not what was deleted. Invariant: nothing that a table holds is touched.
"""

from __future__ import annotations

from remit.errors import LedgerError
from remit.ledger.postgres.connect import Place, connect
from remit.ledger.postgres.database import Gone, PostgresDatabase, translate
from remit.ledger.sql import one, rows

__all__ = ["scrub", "size"]

_SIZE = """SELECT coalesce(sum(pg_total_relation_size(c.oid)), 0)::bigint FROM pg_class c
    WHERE c.relnamespace = ?::regnamespace AND c.relkind IN ('r', 'm')"""


def size(db: PostgresDatabase) -> int:
    """Bytes of all tables with their indexes."""
    found = one(db, _SIZE, db.schema)
    return int(found[0]) if found else 0


def scrub(place: Place) -> bool:
    """Write every table anew, without what was deleted; False where somebody was in the way. Blocks.

    Each table is locked meanwhile. What the write-ahead log, its archive and backups hold is the server's.
    """
    db = connect(place, "scrub")
    try:
        for (name,) in list(rows(db, "SELECT tablename FROM pg_tables WHERE schemaname = ?", (place.schema,))):
            db.execute(f'VACUUM (FULL) "{place.schema}"."{name}"')
    except LedgerError:
        return False
    except Gone as gone:
        raise translate(gone, place.name) from gone
    finally:
        db.close()
    return True
