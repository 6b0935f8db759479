"""What one commit may change beside appending events: a closed list, each all or nothing with its commit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from remit.types.approval import Approval, ApprovalState
from remit.types.budget import Spent
from remit.types.delivery import Delivery
from remit.types.ident import ApprovalId, CallId, ConversationId, Digest, OperationId, OwnerId, RunId
from remit.types.label import Label
from remit.types.operation import Move, Operation, OperationState
from remit.types.outcome import Outcome
from remit.types.quick import quick
from remit.types.run import RunRow

__all__ = [
    "AskPerson",
    "Change",
    "ConsumeApproval",
    "Create",
    "FreeConversation",
    "HoldConversation",
    "KeepBlob",
    "MoveOperation",
    "Notice",
    "Notify",
    "OpenOperation",
    "PassEvidence",
    "Post",
    "RowChange",
    "Spend",
    "TakeNotice",
    "VoidApproval",
]


@dataclass(frozen=True, slots=True)
class Create:
    """A new run. `request` is JSON text: all that is needed to start it later."""

    row: RunRow
    request: str


@dataclass(frozen=True, slots=True)
class HoldConversation:
    """Make it this run's. Makes the conversation if there is none.

    Raises `Conflict` with code `conversation.held` (`details["run"]`) if another run holds it,
    `conversation.foreign` if it belongs to another subject or agent of the tenant, and `conversation.moved` if its
    last run is not `after` (an empty string: none yet; None: not checked).
    """

    conversation: ConversationId
    tenant: str
    subject: str
    agent: str
    after: RunId | None = None


@dataclass(frozen=True, slots=True)
class FreeConversation:
    """Give it back, with the context label that it has now. Nothing if this run does not hold it."""

    conversation: ConversationId
    label: Label


@dataclass(frozen=True, slots=True)
class OpenOperation:
    """A new row, `awaiting_approval` or `dispatched`. Raises `KeyTaken` if it would hold a key that is held."""

    operation: Operation


@quick
@dataclass(frozen=True, slots=True, kw_only=True)
class MoveOperation:
    """Compare-and-set on (state, attempt) along the table of effects.

    Raises `Conflict` (`operation.moved`) if the row is elsewhere, `KeyTaken` if its key is held.
    A field that is None stays as it is. Evidence is added to what is there.
    """

    operation: OperationId
    on: Move
    state: OperationState
    attempt: int
    to_attempt: int | None = None
    owner: OwnerId | None = None
    not_after_ms: int | None = None
    approval: ApprovalId | None = None
    outcome: str | None = None
    settled_by: str | None = None
    evidence: str | None = None


@dataclass(frozen=True, slots=True)
class PassEvidence:
    """Keep a report about an operation without moving it."""

    operation: OperationId
    evidence: str


@dataclass(frozen=True, slots=True)
class Post:
    """Put a delivery into another run's inbox."""

    run: RunId
    delivery: Delivery


@dataclass(frozen=True, slots=True)
class AskPerson:
    """A new pending approval or question."""

    approval: Approval


@dataclass(frozen=True, slots=True)
class ConsumeApproval:
    """Approved or answered -> consumed. Raises `Conflict` (`approval.used`) from any other state."""

    approval: ApprovalId


@dataclass(frozen=True, slots=True)
class VoidApproval:
    """Whatever is not consumed -> void or expired. Nothing if it is consumed, void or denied.

    Args:
        was: what the row must be; it is refused with `approval.moved` if somebody has decided meanwhile. None: not checked.
    """

    approval: ApprovalId
    state: Literal["void", "expired"] = "void"
    was: ApprovalState | None = None


@quick
@dataclass(frozen=True, slots=True)
class Spend:
    """Add to what `scope` (`run:ID` or `conversation:TENANT:ID`) has spent; negative gives back.

    Raises `BudgetExceeded` (`details["budget"]`) if an amount that grows would pass its limit.
    """

    scope: str
    amounts: Spent
    limits: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True, slots=True)
class KeepBlob:
    """Bytes under their digest, once."""

    digest: Digest
    data: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Notify:
    """The conversation's next model request must carry this: a call was answered with a receipt or `Unknown`, and
    now it is known what became of it."""

    conversation: ConversationId
    run: RunId
    call: CallId
    tool: str
    operation: OperationId | None
    outcome: Outcome


@dataclass(frozen=True, slots=True)
class TakeNotice:
    """The message that carries the notice is appended by this commit."""

    id: int


@dataclass(frozen=True, slots=True)
class Notice:
    """A notice that no message carries yet."""

    id: int
    notify: Notify


RowChange = (
    HoldConversation
    | FreeConversation
    | OpenOperation
    | MoveOperation
    | PassEvidence
    | Post
    | AskPerson
    | ConsumeApproval
    | VoidApproval
    | KeepBlob
    | Notify
    | TakeNotice
)
"""A change that stands for itself."""

Change = RowChange | Spend
"""Any change; what a commit spends of one scope is added up and made last."""
