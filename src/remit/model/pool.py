"""The connections of one event loop to one address: used one at a time, kept for the next request.

Knows no provider and makes no connection. Invariant: a connection that is handed out belongs to one request alone.
"""

from __future__ import annotations

from collections import deque

from remit import ambient
from remit.model.connection import Connection

__all__ = ["Pool"]

_KEPT = 64
_KEPT_S = 30.0
"""A provider's servers close an idle connection after a minute or later; what is closed earlier is seen before use."""


class Pool:
    """Connections that wait for a request."""

    def __init__(self) -> None:
        self._idle: deque[tuple[Connection, float]] = deque()
        self._closed = False

    def take(self) -> Connection | None:
        """The connection that was used last and still stands, if there is one."""
        while self._idle:
            connection, since_s = self._idle.pop()
            if not connection.is_stale and ambient.monotonic_s() - since_s < _KEPT_S:
                return connection
            connection.close()
        return None

    def give(self, connection: Connection) -> None:
        """Take a connection whose request is over, whatever came of it."""
        if self._closed or len(self._idle) >= _KEPT or not connection.reuse():
            connection.close()
        else:
            self._idle.append((connection, ambient.monotonic_s()))
        while len(self._idle) > 1 and ambient.monotonic_s() - self._idle[0][1] >= _KEPT_S:
            self._idle.popleft()[0].close()

    def close(self) -> None:
        """Close what is not in use; what is closes when it comes back."""
        self._closed = True
        while self._idle:
            self._idle.pop()[0].close()
