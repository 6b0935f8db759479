"""The outside world's own books: which effects there were, and which attempts began.

Knows no ledger. Invariant: what is written here has happened, and nothing takes it back.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from remit.types.ident import CallId, Digest, OperationId, RunId

__all__ = ["Attempt", "Books", "Effect"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """A handler of a write that was started.

    Args:
        key: of the effect, computed here from the tool's declaration.
        digest: of the arguments that it was given.
        durable: the dispatch of this very attempt was in the ledger when it began.
        consumed: so was the use of the approval that the operation names; True where it names none.
        process: which process it began in.
    """

    tool: str
    operation: OperationId
    attempt: int
    run: RunId
    call: CallId
    key: Digest
    digest: Digest
    durable: bool
    consumed: bool
    process: int


@dataclass(frozen=True, slots=True)
class Effect:
    """Something that happened in the outside world."""

    of: Attempt
    at_s: float


@dataclass(slots=True)
class Books:
    """What an inspector finds when it is over.

    Attributes:
        answered: attempts whose handler gave its result back, in time or late.
        called_late: runs whose function was called when it was to be taken back already.
    """

    attempts: list[Attempt] = field(default_factory=list[Attempt])
    effects: list[Effect] = field(default_factory=list[Effect])
    answered: list[Attempt] = field(default_factory=list[Attempt])
    refused: list[Attempt] = field(default_factory=list[Attempt])
    called_late: list[RunId] = field(default_factory=list[RunId])

    def happened(self, operation: OperationId) -> bool:
        """Whether the operation had an effect."""
        return any(one.of.operation == operation for one in self.effects)
