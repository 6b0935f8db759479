"""A ledger in a PostgreSQL database, for any number of processes on any number of machines.

Knows psycopg, sessions and locks; not what is written, which is the same law as in a file.
"""

from __future__ import annotations

__all__ = ["PostgresLedger"]

from remit.ledger.postgres.ledger import PostgresLedger
