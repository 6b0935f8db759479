"""Digests that stay in the rows of what was forgotten: comparable still, and nobody can guess what they are of.

Reads the ledger's secret. Invariant: a hidden digest is equal to another one if and only if what they are of is equal.
"""

from __future__ import annotations

import hmac
from hashlib import sha256

from remit.ledger.sql import Database, one
from remit.types.ident import Digest

__all__ = ["hidden", "matches"]

_HIDDEN = "hmac:"


def hidden(db: Database, digest: str) -> str:
    """The digest as it stays in a row that is forgotten: who does not have the ledger's secret can compare it with nothing.

    As it is, where nothing was ever forgotten in this ledger.
    """
    row = one(db, "SELECT secret FROM remit_secret WHERE id = 1")
    if row is None or digest.startswith(_HIDDEN):
        return digest
    return _HIDDEN + hmac.digest(row[0], digest.encode(), sha256).hex()


def matches(db: Database, kept: str | None, digest: Digest) -> bool:
    """Whether a digest that a row has, forgotten or not, is this one."""
    if kept is None or not kept.startswith(_HIDDEN):
        return kept == digest
    return hmac.compare_digest(kept, hidden(db, digest))
