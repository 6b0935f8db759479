"""What followers of a run are given beside its committed events.

Knows no transport. Invariant: nothing here is a fact about the run; what counts is committed as an event.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from remit.types.event import Recorded
from remit.types.ident import RunId
from remit.types.run import Standing

__all__ = ["Delta", "Retracted", "Step"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Delta:
    """A piece of a reply that is still being written. Not recorded: the reply itself is, once it is whole.

    The text deltas of a request, one after the other, are the text of its reply.

    Args:
        after: sequence number of the `ModelRequested` that it answers.
        index: from 0, counting the deltas of this attempt; a follower that comes back is given them from 0 again.
        kind: `text` and `reasoning` are to be shown one after the other; `call` is the name of a tool that the
            model begins to propose.
    """

    run: RunId
    after: int
    turn: int
    attempt: int
    index: int
    kind: Literal["text", "reasoning", "call"]
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Retracted:
    """The deltas of this attempt stand for nothing: its reply never came, or was not whole."""

    run: RunId
    turn: int
    attempt: int


Step = Recorded | Delta | Retracted | Standing
"""What `Remit.stream` gives: committed events, what is being written meanwhile and, last, how the run stands."""
