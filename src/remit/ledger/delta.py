"""What models are writing just now, kept for followers in this process.

Knows runs, attempts and pieces; no file. Invariant: of a run only the latest attempt is kept, in
the order of its pieces, and of an attempt at most `MOST_BYTES`.
"""

from __future__ import annotations

import threading
from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from operator import attrgetter

from remit.types.ident import OwnerId, RunId
from remit.types.stream import Delta

__all__ = ["MOST_BYTES", "Deltas"]

MOST_BYTES = 8_000_000
"""What followers may hear of one attempt; after that there is silence until its reply is committed."""

_EACH_BYTES = 64


@dataclass(slots=True)
class _Attempt:
    """Who asked, the `ModelRequested` that is answered, and what has come of the answer."""

    owner: OwnerId
    after: int
    size: int = 0
    full: bool = False
    deltas: list[Delta] = field(default_factory=list[Delta])


class Deltas:
    """The attempts under way; used from any thread."""

    def __init__(self) -> None:
        self._attempts: dict[RunId, _Attempt] = {}
        self._lock = threading.Lock()

    def add(self, deltas: Sequence[Delta], owner: OwnerId) -> list[Delta]:
        """Keep them, if they are no earlier attempt's; those that were kept."""
        with self._lock:
            return [delta for delta in deltas if self._keep(delta, owner)]

    def of(self, run: RunId, after: int, index: int) -> list[Delta] | None:
        """What answers the request `after`, from `index` on; None if nothing of that attempt was ever kept."""
        with self._lock:
            attempt = self._attempts.get(run)
            if attempt is None or attempt.after != after:
                return None
            return attempt.deltas[bisect_left(attempt.deltas, index, key=attrgetter("index")) :]

    def drop(self, run: RunId, owner: OwnerId, alive: Callable[[OwnerId], bool]) -> None:
        """Forget the run's attempt, unless it is another's who lives."""
        with self._lock:
            attempt = self._attempts.get(run)
            if attempt is not None and (attempt.owner == owner or not alive(attempt.owner)):
                del self._attempts[run]

    def _keep(self, delta: Delta, owner: OwnerId) -> bool:
        attempt = self._attempts.get(delta.run)
        if attempt is None or attempt.after < delta.after:
            attempt = self._attempts[delta.run] = _Attempt(owner, delta.after)
        if delta.after < attempt.after:
            return False
        attempt.size += len(delta.text) + _EACH_BYTES
        attempt.full = attempt.full or attempt.size > MOST_BYTES
        if attempt.full:
            return False
        attempt.deltas.append(delta)
        return True
