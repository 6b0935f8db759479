"""Bringing the tables in a database to this version.

Knows sessions; the migrations are elsewhere. Invariant: a dry run changes nothing.
"""

from __future__ import annotations

from remit import ambient
from remit.ledger.migration import MIGRATIONS
from remit.ledger.postgres.connect import connect, place_of
from remit.ledger.postgres.database import Again, Gone, translate
from remit.ledger.postgres.schema import migrate, version_of
from remit.types.upgrade import Upgraded

__all__ = ["upgrade_database"]


def upgrade_database(url: str, *, dry_run: bool) -> Upgraded:
    """Make the migrations that are yet to be made. Blocks; writers wait, and are then refused if they are older.

    Raises:
        LedgerError: as opening the ledger does.
    """
    place = place_of(url, None)
    db = connect(place, "migrate")
    try:
        before = version_of(db, place, create=True)
        if not dry_run:
            migrate(db, place, ambient.now_ms())
    except (Gone, Again) as error:
        raise translate(error, place.name) from error
    finally:
        db.close()
    return Upgraded(before=before, steps=tuple(name for name, _ in MIGRATIONS[before:]), done=not dry_run)
