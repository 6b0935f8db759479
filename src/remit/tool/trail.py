"""What an attempt did outside, as far as it is told: its requests, and lines of evidence for the operator.

Knows no transport. Invariant: nothing is sent after the attempt was settled, and what was settled as without effect had
sent nothing that may have changed something. Told from any thread.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Literal

__all__ = ["Trail"]

_MOST_LINES = 40
_LONGEST = 300

_Stand = Literal["made", "sent", "heard"]


class Trail:
    """One attempt's own.

    Args:
        writes: the attempt is one of a write, and may change something.
        clean: takes declared secrets out of a text.
    """

    def __init__(self, *, writes: bool = False, clean: Callable[[str], str] = str) -> None:
        self.writes = writes
        self.clean = clean
        self._lock = threading.Lock()
        self._lines: list[str] = []
        self._left_out = 0
        self._requests: dict[str, _Stand] = {}
        self._sealed = False

    def note(self, line: str) -> None:
        """Keep a line of evidence: the first forty, each without secrets and of at most 300 characters."""
        text = " ".join(self.clean(str(line)).encode("utf-8", "backslashreplace").decode().split())
        with self._lock:
            if len(self._lines) < _MOST_LINES:
                self._lines.append(text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}...")
            else:
                self._left_out += 1

    @property
    def text(self) -> str | None:
        """The lines, None if there are none."""
        with self._lock:
            more = [f"({self._left_out} more)"] if self._left_out else []
            return "\n".join([*self._lines, *more]) or None

    # requests that may change something, each by its name

    def reserve(self, name: str) -> bool:
        """Whether a request of this name may be made: not while another one of that name may have had an effect."""
        with self._lock:
            if name in self._requests:
                return False
            self._requests[name] = "made"
            return True

    def send(self, name: str) -> bool:
        """Say that its first byte is about to leave. False: it must not, the attempt is over."""
        with self._lock:
            if self._sealed:
                return False
            self._requests[name] = "sent"
            return True

    def heard(self, name: str) -> None:
        """Say that it is over, and may have done something."""
        with self._lock:
            if self._requests.get(name) == "sent":
                self._requests[name] = "heard"

    def free(self, name: str) -> None:
        """Say that it did nothing."""
        with self._lock:
            self._requests.pop(name, None)

    @property
    def changed(self) -> bool:
        """Whether a request has left that may have changed something."""
        with self._lock:
            return any(stand != "made" for stand in self._requests.values())

    @property
    def pending(self) -> bool:
        """Whether such a request is still under way, so that nobody can know what it does."""
        with self._lock:
            return "sent" in self._requests.values()

    def seal(self) -> None:
        """Let nothing more be sent."""
        with self._lock:
            self._sealed = True
