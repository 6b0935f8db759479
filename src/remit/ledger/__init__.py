"""Ledgers: where runs, operations and approvals are durable.

Knows the law of one commit and how it reaches the disk; not what the events mean.
"""

from __future__ import annotations

__all__ = ["Journal", "MemoryLedger", "SqliteLedger"]

from remit.ledger.journal import Journal
from remit.ledger.memory import MemoryLedger
from remit.ledger.sqlite import SqliteLedger
