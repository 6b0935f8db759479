"""How a run stands: the values that `run`, `resume` and `submit` give back."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from remit.types.approval import Approval
from remit.types.budget import Usage
from remit.types.ident import ConversationId, Json, OperationId, OwnerId, RunId

__all__ = [
    "Cancelled",
    "Escalated",
    "Finished",
    "ModelRefused",
    "Paused",
    "RunRow",
    "RunStatus",
    "Standing",
    "Stopped",
    "Submitted",
]

RunStatus = Literal["queued", "active", "paused", "ended"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRow:
    """The ledger's row of a run. `head` is the hash of its last event, `epoch` counts its owners; `parent` is the run whose
    call it answers; `forgotten_ms` is when all that was said in it was deleted."""

    id: RunId
    root: RunId
    agent: str
    tenant: str
    subject: str
    conversation: ConversationId | None
    request_id: str | None
    request_digest: str | None
    status: RunStatus
    host: bool = False
    parent: RunId | None = None
    owner: OwnerId | None = None
    epoch: int = 0
    sequence: int = 0
    head: str = ""
    expires_ms: int | None = None
    created_ms: int = 0
    updated_ms: int = 0
    forgotten_ms: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Standing:
    id: RunId
    usage: Usage = field(default_factory=Usage)
    open_operations: tuple[OperationId, ...] = ()
    reason: str = ""
    answer_so_far: str = ""
    conversation: ConversationId | None = None
    durable: bool = True

    @property
    def cost_usd_micros(self) -> int | None:
        """List price of the run so far, in millionths of a dollar; None where it is unknown."""
        return self.usage.cost_usd_micros


@dataclass(frozen=True, slots=True, kw_only=True)
class Finished(_Standing):
    """The model stopped, the answer has its type, and `done=` holds.

    `answer` is the text, or the parsed answer of the agent's answer type. `verified` is False where an
    operation is open.
    """

    answer: Json = None
    verified: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Paused(_Standing):
    """People must decide first. `queued`: another run holds the conversation; this one starts after it."""

    approvals: tuple[Approval, ...] = ()
    questions: tuple[Approval, ...] = ()
    queued: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Stopped(_Standing):
    """A limit was reached; `reason` is its stable code, for example `budget.turns`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Escalated(_Standing):
    """The end is not what was promised; a person should look. `explanation`: at what, where the reason does not say."""

    explanation: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelRefused(_Standing):
    """The model or its provider declined to answer. Nothing ran for it, and it is not asked again."""

    explanation: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Cancelled(_Standing):
    """Somebody cancelled it; what had been dispatched is in `open_operations` or settled. `explanation`: of a workflow, what
    it had done and nothing took back."""

    explanation: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Submitted(_Standing):
    """Recorded, and going on in the background: follow it by `id`."""


Standing = Finished | Paused | Stopped | Escalated | ModelRefused | Cancelled
