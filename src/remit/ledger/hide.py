"""What stays in the rows of runs that were forgotten: digests, comparable still, though nobody can guess what they are of.

Reads the ledger's secret. Invariant: a hidden digest is equal to another one if and only if what they are of is equal.
"""

from __future__ import annotations

import hmac
from hashlib import sha256

from remit import canonical
from remit.ledger.sql import Database, one, rows
from remit.types.ident import Digest, RunId

__all__ = ["hidden", "hidden_by", "kept", "matches", "secret_of"]

_HIDDEN = "hmac:"

_KEPT = (
    "SELECT request_digest, NULL, root, agent, tenant, subject, conversation, request_id, parent FROM remit_run WHERE id = ?",
    "SELECT key, arguments_digest, id, tenant, subject, call, tool, author, state, closed, attempt, approval, settled_by"
    " FROM remit_operation WHERE run = ? ORDER BY number",
    "SELECT NULL, arguments_digest, id, requester, call, tool, operation, author, state, decided_by, decided_ms"
    " FROM remit_approval WHERE run = ? ORDER BY number",
)
"""Of a run, its operations and its approvals: first what is hidden, then what stays as it is."""


def secret_of(db: Database) -> bytes | None:
    """The ledger's secret; None where nothing was ever forgotten in it."""
    row = one(db, "SELECT secret FROM remit_secret WHERE id = 1")
    return None if row is None else bytes(row[0])


def hidden_by(secret: bytes, digest: str) -> str:
    """The digest as it stays in a row that is forgotten: who does not have the secret can compare it with nothing."""
    if digest.startswith(_HIDDEN):
        return digest
    return _HIDDEN + hmac.digest(secret, digest.encode(), sha256).hex()


def hidden(db: Database, digest: str) -> str:
    """The same, by the ledger's own secret; as it is, where nothing was ever forgotten in this ledger."""
    secret = secret_of(db)
    return digest if secret is None else hidden_by(secret, digest)


def kept(db: Database, run: RunId, secret: bytes) -> Digest:
    """One digest over what stays of a run, as it is once the run is forgotten, and the secret; the same before and after."""
    found = [[hidden_by(secret, run)]] + [
        [None if one is None else hidden_by(secret, one) for one in row[:2]] + list(row[2:])
        for sql in _KEPT
        for row in rows(db, sql, (run,))
    ]
    return canonical.digest("remit.kept", canonical.encode(found))


def matches(db: Database, kept: str | None, digest: Digest) -> bool:
    """Whether a digest that a row has, forgotten or not, is this one."""
    if kept is None or not kept.startswith(_HIDDEN):
        return kept == digest
    return hmac.compare_digest(kept, hidden(db, digest))
