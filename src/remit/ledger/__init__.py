"""Ledgers: where runs, operations and approvals are durable.

Knows the law of one commit and how it reaches the disk; not what the events mean. What PostgreSQL needs is loaded where it
is asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

__all__ = ["Journal", "MemoryLedger", "PostgresLedger", "SqliteLedger", "is_address", "ledger_named", "upgrade"]

from remit.ledger.journal import Journal
from remit.ledger.memory import MemoryLedger
from remit.ledger.name import is_address, ledger_named
from remit.ledger.sqlite import SqliteLedger
from remit.ledger.upgrade import upgrade

if TYPE_CHECKING:
    from remit.ledger.postgres import PostgresLedger


def __getattr__(name: str) -> object:
    if name != "PostgresLedger":
        raise AttributeError(f"module 'remit.ledger' has no attribute {name!r}")
    from remit.ledger.postgres import PostgresLedger

    return PostgresLedger
