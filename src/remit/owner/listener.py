"""Who in this process listens to a run's replies while they are written.

Knows the ledger's deltas, no run's state. Invariant: a run is streamed for whoever listens; once nobody does, and it stands
still, nothing of its deltas is left here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator
from contextlib import contextmanager

from remit.types.ident import RunId
from remit.types.ledger import Ledger

__all__ = ["Listeners"]


class Listeners:
    """The listeners of all runs, and the runs whose deltas may be in the ledger."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._listening: Counter[RunId] = Counter()
        self._streamed: dict[RunId, bool] = {}  # whether it stands still

    def wants(self, run: RunId, *, always: bool) -> bool:
        """Whether the run's next reply is to be streamed; asked before each request."""
        if not always and not self._listening[run]:
            return False
        self._streamed[run] = False
        return True

    @contextmanager
    def listening(self, run: RunId) -> Generator[None]:
        """Somebody here listens to the run's deltas."""
        self._listening[run] += 1
        try:
            yield
        finally:
            self._listening[run] -= 1
            self._tidy(run)

    def stands_still(self, run: RunId) -> None:
        """Nobody here drives the run any more."""
        if run in self._streamed:
            self._streamed[run] = True
            self._tidy(run)

    def _tidy(self, run: RunId) -> None:
        if self._listening[run]:
            return
        del self._listening[run]
        if self._streamed.get(run):
            del self._streamed[run]
            self._ledger.drop_deltas(run)
