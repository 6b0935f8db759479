"""Whose turn it is to write to a file, among the threads of this process: first come, first served.

Knows no database. Invariant: one has the turn, and it goes to whoever has waited longest.
"""

from __future__ import annotations

import threading
from collections import deque

__all__ = ["Turn"]


class Turn:
    """A lock that is fair, and that another thread may give back."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._line: deque[threading.Lock] = deque()
        self._taken = False

    @property
    def taken(self) -> bool:
        """Whether somebody has it."""
        return self._taken

    def take(self) -> None:
        """Wait until it is the caller's."""
        with self._guard:
            if not self._taken:
                self._taken = True
                return
            mine = threading.Lock()
            mine.acquire()
            self._line.append(mine)
        mine.acquire()

    def give(self) -> None:
        """Let the next one have it; for whoever has it, from any thread."""
        with self._guard:
            if self._line:
                self._line.popleft().release()
            else:
                self._taken = False

    def __enter__(self) -> None:
        self.take()

    def __exit__(self, *ended: object) -> None:
        self.give()
