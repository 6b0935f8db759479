"""Which ledger a name means: the address of a PostgreSQL database, else a file.

Knows how names look; opens nothing. Invariant: a name is read in one way, in the program and on the command line.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from remit.errors import LedgerError
from remit.ledger.sqlite import SqliteLedger

if TYPE_CHECKING:
    from remit.ledger.postgres import PostgresLedger

__all__ = ["is_address", "ledger_named"]

_SCHEMES = ("postgresql://", "postgres://")


def is_address(name: str | Path) -> bool:
    """Whether it is the address of a database, and no file."""
    return str(name).startswith(_SCHEMES)


def ledger_named(name: str | Path, *, create: bool = True) -> SqliteLedger | PostgresLedger:
    """The ledger at an address (`postgresql://user@host/database?schema=remit`), or in a file; not yet opened.

    Args:
        create: whether opening it may make it.

    Raises:
        LedgerError: what it needs is not installed (`ledger.uninstalled`).
        InputError: the address cannot be read.
    """
    if not is_address(name):
        return SqliteLedger(name, create=create)
    try:
        from remit.ledger.postgres import PostgresLedger
    except ImportError as error:
        raise LedgerError(
            "a ledger in PostgreSQL needs psycopg: pip install 'remit[postgres]'", code="ledger.uninstalled", retryable=False
        ) from error
    return PostgresLedger(str(name), create=create)
