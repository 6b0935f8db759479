"""What the events say of what came to light after a call was answered, or after its run ended.

Part of the closed list in `remit.types.event`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from remit.types.ident import OperationId

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
    """All that was said in this run was deleted, at somebody's word. Its headers, commitments and states stay."""

    by: str
    reason: str
    kind: Literal["run.forgotten"] = "run.forgotten"
