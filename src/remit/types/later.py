"""What the events say of what came to light after a call was answered, or after its run ended.

Part of the closed list in `remit.types.event`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from remit.types.ident import Digest, OperationId

__all__ = ["Contradicted", "Forgotten", "Settled"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Settled:
    """An unknown operation was settled by a person after its call was answered."""

    operation: OperationId
    happened: bool
    by: str
    reason: str
    kind: Literal["operation.settled"] = "operation.settled"


@dataclass(frozen=True, slots=True, kw_only=True)
class Contradicted:
    """Two reports about one operation cannot both be true; a person should look. `newer` also holds its key."""

    operation: OperationId
    evidence: str
    newer: OperationId | None = None
    kind: Literal["operation.contradicted"] = "operation.contradicted"


@dataclass(frozen=True, slots=True, kw_only=True)
class Forgotten:
    """All that was said in this run was deleted, at somebody's word. Its headers, commitments and states stay.

    `kept` is a digest over what stays of its row, its operations and its approvals, of which no other event says anything now.
    """

    by: str
    reason: str
    kept: Digest
    kind: Literal["run.forgotten"] = "run.forgotten"
