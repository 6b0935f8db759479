"""A reply while it is being written, told to whoever follows the run.

Knows the ledger's way of telling, no wire. Invariant: what is told here is no fact; it belongs to the request that was
recorded last, and to no other.
"""

from __future__ import annotations

from remit.types.event import ModelRequested
from remit.types.ident import RunId
from remit.types.ledger import Ledger
from remit.types.model import Piece
from remit.types.stream import Delta

__all__ = ["DeltaWriter"]


class DeltaWriter:
    """The deltas of one run's current request."""

    def __init__(self, ledger: Ledger, run: RunId) -> None:
        self._ledger = ledger
        self._run = run
        self._after = 0
        self._turn = 0
        self._attempt = 0
        self._index = 0

    def begin(self, sequence: int, request: ModelRequested) -> None:
        """What is written from now on answers this request, which has that sequence number."""
        self._after, self._turn, self._attempt, self._index = sequence, request.turn, request.attempt, 0

    def write(self, piece: Piece) -> None:
        """Tell followers of one more piece."""
        delta = Delta(
            run=self._run,
            after=self._after,
            turn=self._turn,
            attempt=self._attempt,
            index=self._index,
            kind=piece.kind,
            text=piece.text,
        )
        self._index += 1
        self._ledger.publish_deltas((delta,))

    def retract(self) -> None:
        """The request brought no reply: nothing that was told of it stands."""
        if self._index:
            self._index = 0
            self._ledger.drop_deltas(self._run)
