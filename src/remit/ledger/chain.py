"""The chain of a run: a link for each page, which is what one commit appended to it.

A page's hash covers the one before it, its header (its number among the pages of all runs, the place, kind
and time of each of its events, what its commit declared of new operations and approvals) and a
commitment to its payload. Pure. The payload is covered by a salted hash only, so that it can
be forgotten without breaking the chain. Invariant: no header or payload changes, leaves or moves
without the hashes after it changing.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from hashlib import sha256
from operator import attrgetter

import orjson

from remit.types.approval import Approval
from remit.types.ident import RunId
from remit.types.operation import Operation
from remit.types.quick import quick

__all__ = ["SALT_BYTES", "Header", "commitment_of", "declared_of", "first_link", "link"]

SALT_BYTES = 16


def commitment_of(salt: bytes, payload: str) -> bytes:
    """What a header says of its payload."""
    return sha256(b"remit.payload.1\n" + salt + payload.encode()).digest()


def first_link(run: RunId) -> bytes:
    """What the first page's hash covers in place of an earlier one."""
    return sha256(b"remit.run.1\n" + run.encode()).digest()


@quick
@dataclass(frozen=True, slots=True)
class Header:
    """A page but for its payload: its number, and the run, last sequence number, kinds and times of its events.

    `opened` is what was declared of each operation and approval that the commit made: `ID=DIGEST`, with spaces between.
    """

    number: int
    run: RunId
    last: int
    kinds: str
    times: str
    opened: str


def link(before: bytes, header: Header, commitment: bytes) -> bytes:
    """The hash of a page: SHA-256 of a domain, the hash before it, its header as JSON, and the commitment."""
    return sha256(b"remit.page.1\n" + before + orjson.dumps(header) + b"\n" + commitment).digest()


_CHANGING = frozenset(
    {
        *("state", "closed", "attempt", "owner", "approval", "first_dispatched_ms", "not_after_ms", "outcome", "settled_by"),
        *("evidence", "created_ms", "updated_ms", "decided_by", "decided_ms", "reason", "edited", "answer"),
        "arguments",  # covered by their own digest
    }
)
_DECLARED = {
    noun: attrgetter(*[one.name for one in fields(noun) if one.name not in _CHANGING]) for noun in (Operation, Approval)
}


def declared_of(noun: Operation | Approval, salt: bytes) -> str:
    """What a row says that never changes, as a digest; salted as its page's payload is, so that it can be forgotten with it."""
    values: tuple[object, ...] = _DECLARED[type(noun)](noun)
    plain = [float(value) if isinstance(value, int) and not isinstance(value, bool) else value for value in values]
    return sha256(b"remit.row.1\n" + salt + orjson.dumps(plain)).hexdigest()
