"""The names of things: every identifier has a type of its own, so that two kinds are never confused."""

from __future__ import annotations

import hashlib
from typing import NewType

__all__ = [
    "ApprovalId",
    "CallId",
    "ConversationId",
    "Digest",
    "Json",
    "OperationId",
    "OwnerId",
    "RunId",
    "Wording",
    "call_id",
    "child_of",
    "is_of_request",
    "call_of_request",
]

RunId = NewType("RunId", str)
ConversationId = NewType("ConversationId", str)
OperationId = NewType("OperationId", str)
ApprovalId = NewType("ApprovalId", str)
OwnerId = NewType("OwnerId", str)
"""One process that may own runs; alive for as long as its lock is held."""

CallId = NewType("CallId", str)
"""A call inside its run: `"3.1"` is turn 3, position 1 (both from 1 and 0); `"host:ID"` under another loop."""


def call_id(turn: int, position: int) -> CallId:
    """The call at `position` (from 0) of the reply of `turn` (from 1)."""
    return CallId(f"{turn}.{position}")


_BASE_32 = "0123456789abcdefghjkmnpqrstvwxyz"


def child_of(run: RunId, call: CallId) -> RunId:
    """The run that answers this call, where another agent does: the same for the same call, in every process."""
    number = int.from_bytes(hashlib.sha256(f"remit.child\0{run}\0{call}".encode()).digest()[:13], "big")
    return RunId(f"run_{''.join([_BASE_32[number >> shift & 31] for shift in range(95, -1, -5)])}")


_REQUEST = "request:"


def call_of_request(turn: int, attempt: int) -> CallId:
    """The model request itself, where it may change something; no reply proposes it."""
    return CallId(f"{_REQUEST}{turn}.{attempt}")


def is_of_request(call: CallId) -> bool:
    """Whether it is a model request's."""
    return call.startswith(_REQUEST)


Digest = NewType("Digest", str)
"""Lower-case hexadecimal SHA-256."""

Wording = NewType("Wording", str)
"""JSON text exactly as a provider wrote it, or as we send it: kept and joined, never parsed and written again."""

Json = None | bool | int | float | str | list["Json"] | dict[str, "Json"]
"""A JSON value. Numbers that a float cannot hold travel as text inside canonical arguments (`canonical`)."""
