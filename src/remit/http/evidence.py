"""Requests and answers as lines for the operator.

Pure. Invariant: a line holds no query, body, name or password, and no header but those that say when an answer was made
and how the other side calls it; a long piece of a path, which may be a token, is cut.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from urllib.parse import urlsplit

__all__ = ["answered", "moment", "place"]

_IDS = (
    *("date", "request-id", "x-request-id", "x-amzn-requestid", "x-amz-request-id", "x-correlation-id", "cf-ray"),
    *("paypal-debug-id", "idempotent-replayed", "idempotency-replayed", "retry-after"),
)
_VALUE = re.compile(r"[A-Za-z0-9 ,:._/+=-]{1,80}")
_SHORT = 20
_KEPT = 8


def moment(now_ms: int) -> str:
    """A moment of the wall clock, in UTC."""
    return datetime.fromtimestamp(now_ms / 1000, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def place(url: str) -> str:
    """Host and path."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        return "an address that is none"
    path = "/".join(piece if len(piece) <= _SHORT else f"{piece[:_KEPT]}..." for piece in parts.path.split("/"))
    return f"{host}{'' if port is None else f':{port}'}{path}"


def answered(status: int, headers: Mapping[str, str]) -> str:
    """A status, and what its headers say about when and which."""
    found = {name: headers[name] for name in _IDS if name in headers}
    said = [f"{name}: {value}" for name, value in found.items() if _VALUE.fullmatch(value)]
    return "; ".join([f"answered {status}", *said])
