"""Bringing a ledger's tables to this version, said before it is done.

Knows both stores and which migrations there are; not what they change. Invariant: a dry run changes nothing, and what is a
newer version's or another program's is left as it was.
"""

from __future__ import annotations

from pathlib import Path

import apsw

from remit import ambient
from remit.errors import LedgerError
from remit.ledger.migration import MIGRATIONS
from remit.ledger.name import is_address
from remit.ledger.schema import connect, migrate, translate, version_of
from remit.types.upgrade import Upgraded

__all__ = ["upgrade"]


def upgrade(name: str | Path, *, dry_run: bool = False) -> Upgraded:
    """Make the migrations that are yet to be made. Blocks; nobody writes meanwhile.

    Args:
        name: a file that holds a ledger, or the address of a database, where the tables are made if there are none.

    Raises:
        LedgerError: as opening the ledger does.
    """
    if not is_address(name):
        return _file(Path(name).resolve(), dry_run=dry_run)
    from remit.ledger.postgres.upgrade import upgrade_database

    return upgrade_database(str(name), dry_run=dry_run)


def _file(path: Path, *, dry_run: bool) -> Upgraded:
    if not path.is_file():
        raise LedgerError(f"there is no ledger at {path}; name one", code="ledger.missing", retryable=False)
    try:
        db = connect(path)
        try:
            before = version_of(db)
            if not dry_run:
                migrate(db, ambient.now_ms())
        finally:
            db.close()
    except (apsw.Error, OSError) as error:
        raise translate(error, path) from error
    return Upgraded(before=before, steps=tuple(name for name, _ in MIGRATIONS[before:]), done=not dry_run)
