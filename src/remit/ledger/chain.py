"""The chain of a run: a link for each page, which is what one commit appended to it.

A page's hash covers the one before it, its header (the place, kind and time of each of its events)
and a commitment to its payload. Pure. The payload is covered by a salted hash only, so that it can
be forgotten without breaking the chain. Invariant: no header or payload changes, leaves or moves
without the hashes after it changing.
"""

from __future__ import annotations

from hashlib import sha256

import orjson

from remit.types.ident import RunId

__all__ = ["SALT_BYTES", "commitment_of", "first_link", "link"]

SALT_BYTES = 16


def commitment_of(salt: bytes, payload: str) -> bytes:
    """What a header says of its payload."""
    return sha256(b"remit.payload.1\n" + salt + payload.encode()).digest()


def first_link(run: RunId) -> bytes:
    """What the first page's hash covers in place of an earlier one."""
    return sha256(b"remit.run.1\n" + run.encode()).digest()


def link(before: bytes, *, run: RunId, last: int, kinds: str, times: str, commitment: bytes) -> bytes:
    """The hash of a page: SHA-256 of a domain, the hash before it and its canonical header."""
    header = {"commitment": commitment.hex(), "kinds": kinds, "last": last, "run": run, "times": times}
    return sha256(b"remit.page.1\n" + before + orjson.dumps(header, option=orjson.OPT_SORT_KEYS)).digest()
