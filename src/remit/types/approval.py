"""Approvals and questions: durable rows, single use, decided by people and never by text in a conversation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from remit.types.ident import ApprovalId, CallId, Digest, OperationId, RunId

__all__ = ["Approval", "ApprovalKind", "ApprovalState"]

ApprovalKind = Literal["approval", "question"]
ApprovalState = Literal["pending", "approved", "denied", "answered", "expired", "void", "consumed"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Approval:
    """What a person is asked, bound to exactly what will run.

    Args:
        arguments: canonical JSON text of what will run, secrets included (the vault); show `shown`.
        shown: the same with declared secrets masked, JSON text.
        preview: the sentence that the person reads.
        reasons: why a person is asked, for example that the context is untrusted.
        scope: what the approver must hold; empty for a question.
        two_person: neither the requester nor the author may approve.
        author: subject of the approver who wrote these arguments instead of the model's, if one did.
        expires_ms: wall clock; after it, neither a yes nor a no counts.
        decided_by: subject of who decided; `edited` holds other arguments that they wrote instead.
        answer: for a question, JSON text.
    """

    id: ApprovalId
    kind: ApprovalKind
    tenant: str
    requester: str
    run: RunId
    call: CallId
    tool: str
    contract: Digest
    arguments: str
    arguments_digest: Digest
    shown: str
    preview: str
    reasons: tuple[str, ...] = ()
    label: str = ""
    policy: str = ""
    operation: OperationId | None = None
    scope: str = ""
    two_person: bool = False
    expires_ms: int | None = None
    state: ApprovalState = "pending"
    decided_by: str | None = None
    decided_ms: int | None = None
    reason: str = ""
    edited: str | None = None
    answer: str | None = None
    author: str | None = None
    created_ms: int = 0
