"""The chain of a run: each event's hash covers the one before it, its header and a commitment to its payload.

Pure. The payload is covered by a salted hash only, so that it can be forgotten without breaking the
chain. Invariant: no header or payload changes, leaves or moves without the hashes after it changing.
"""

from __future__ import annotations

import hashlib

import orjson

from remit.types.ident import RunId

__all__ = ["SALT_BYTES", "commitment_of", "first_link", "link"]

SALT_BYTES = 16


def commitment_of(salt: bytes, payload: str) -> bytes:
    """What a header says of its payload."""
    return hashlib.sha256(b"remit.payload.1\n" + salt + payload.encode()).digest()


def first_link(run: RunId) -> bytes:
    """What the first event's hash covers in place of an earlier one."""
    return hashlib.sha256(b"remit.run.1\n" + run.encode()).digest()


def link(before: bytes, *, run: RunId, sequence: int, kind: str, at_ms: int, commitment: bytes) -> bytes:
    """The hash of an event: SHA-256 of a domain, the hash before it and its canonical header."""
    header = {"at_ms": at_ms, "commitment": commitment.hex(), "kind": kind, "run": run, "sequence": sequence}
    return hashlib.sha256(b"remit.event.1\n" + before + orjson.dumps(header, option=orjson.OPT_SORT_KEYS)).digest()
