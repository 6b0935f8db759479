"""One effect's durable identity, and the closed table of what may happen to it.

The table is the law of effects as data: the ledger checks every move against it, the docs are
generated from it, and a test walks every row and every move that is not in it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from remit.errors import Conflict
from remit.types.ident import ApprovalId, CallId, ConversationId, Digest, OperationId, OwnerId, RunId
from remit.types.quick import quick

__all__ = ["HOLDING", "MOVES", "ClosedCode", "Move", "Operation", "OperationState", "RecoveryKind", "move", "settler"]

OperationState = Literal["awaiting_approval", "dispatched", "unknown", "succeeded", "failed", "closed"]
HOLDING: frozenset[OperationState] = frozenset({"dispatched", "unknown", "succeeded"})
"""The states that hold the operation's key."""

RecoveryKind = Literal["idempotent", "reconcile", "transactional", "manual"]
ClosedCode = Literal["denied", "expired", "cancelled", "withdrawn", "superseded", "refused", "repeat", "conflict"]

Move = Literal[
    "allowed",
    "requested",
    "approved",
    "denied",
    "expired",
    "cancelled",
    "withdrawn",
    "edited",
    "recheck_refused",
    "recheck_stricter",
    "contract_changed",
    "key_repeat",
    "key_conflict",
    "returned",
    "no_effect",
    "in_doubt",
    "reconciled_yes",
    "reconciled_no",
    "late_success",
    "late_no_effect",
    "settled_yes",
    "settled_no",
    "resent",
]

MOVES: dict[tuple[OperationState | None, Move], tuple[OperationState, ClosedCode | None]] = {
    (None, "allowed"): ("dispatched", None),
    (None, "requested"): ("awaiting_approval", None),
    ("awaiting_approval", "approved"): ("dispatched", None),
    ("awaiting_approval", "denied"): ("closed", "denied"),
    ("awaiting_approval", "expired"): ("closed", "expired"),
    ("awaiting_approval", "cancelled"): ("closed", "cancelled"),
    ("awaiting_approval", "withdrawn"): ("closed", "withdrawn"),
    ("awaiting_approval", "edited"): ("closed", "superseded"),
    ("awaiting_approval", "recheck_refused"): ("closed", "refused"),
    ("awaiting_approval", "recheck_stricter"): ("awaiting_approval", None),
    ("awaiting_approval", "contract_changed"): ("closed", "superseded"),
    ("awaiting_approval", "key_repeat"): ("closed", "repeat"),
    ("awaiting_approval", "key_conflict"): ("closed", "conflict"),
    ("dispatched", "returned"): ("succeeded", None),
    ("dispatched", "no_effect"): ("failed", None),
    ("dispatched", "in_doubt"): ("unknown", None),
    ("dispatched", "late_success"): ("dispatched", None),
    ("unknown", "reconciled_yes"): ("succeeded", None),
    ("unknown", "late_success"): ("succeeded", None),
    ("unknown", "settled_yes"): ("succeeded", None),
    ("unknown", "resent"): ("dispatched", None),
    ("unknown", "reconciled_no"): ("failed", None),
    ("unknown", "late_no_effect"): ("failed", None),
    ("unknown", "settled_no"): ("failed", None),
    ("succeeded", "late_success"): ("succeeded", None),
    ("succeeded", "late_no_effect"): ("succeeded", None),
    ("failed", "late_success"): ("succeeded", None),
    ("failed", "late_no_effect"): ("failed", None),
    ("closed", "late_no_effect"): ("closed", None),
}
"""(state, move) -> (state, why it closed). `None` is a proposal. A late success of a `failed` operation is legal
only where a reconciler or a person had said no, and leaves it `failed` if a newer operation holds the key."""


@quick
@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """A row of the ledger. What the tool declared is stored here once and never computed again.

    Args:
        key: digest of tenant, namespace, scope of sameness and key values; unique among holders.
        arguments: canonical JSON text, after validation and defaults.
        contract: digest of name, schema, effect, once_per and recovery when the row was made.
        attempt: 0 while awaiting approval, then 1, 2, ... for each dispatch.
        not_after_ms: latest wall-clock moment at which the current attempt can still act, by its timeout.
        outcome: the recorded `Outcome` as JSON text, once settled.
        settled_by: `handler`, `reconciler`, `late`, `ledger` (it was never committed), or `by:` and the person's subject; see
            `settler`.
        evidence: late or contradicting reports as JSON texts, oldest first.
    """

    id: OperationId
    tenant: str
    subject: str
    run: RunId
    root: RunId
    call: CallId
    conversation: ConversationId | None
    tool: str
    contract: Digest
    once_per: str
    key: Digest
    recovery: RecoveryKind
    atomic: bool
    window_s: float | None
    attempts: int
    settle_s: float
    timeout_s: float
    arguments: str
    arguments_digest: Digest
    author: str | None = None
    state: OperationState
    closed: ClosedCode | None = None
    attempt: int = 0
    owner: OwnerId | None = None
    approval: ApprovalId | None = None
    first_dispatched_ms: int | None = None
    not_after_ms: int | None = None
    outcome: str | None = None
    settled_by: str | None = None
    evidence: tuple[str, ...] = ()
    created_ms: int = 0
    updated_ms: int = 0

    @property
    def forgotten(self) -> bool:
        """Whether its arguments and its result were deleted; its key and digest are hidden then."""
        return self.arguments == "null"


def settler(on: Move, by: str | None) -> str | None:
    """What `settled_by` says of a move: the machine's own word, or `by:` and the person's subject, whatever that is."""
    return f"by:{by}" if by is not None and on in ("settled_yes", "settled_no") else by


def move(state: OperationState | None, on: Move) -> tuple[OperationState, ClosedCode | None]:
    """Where `on` leads from `state`.

    Raises:
        Conflict: the table has no such row (`operation.illegal_move`).
    """
    try:
        return MOVES[state, on]
    except KeyError:
        raise Conflict(
            f"an operation that is {state or 'only proposed'} cannot be moved by {on}",
            code="operation.illegal_move",
            state=state,
            move=on,
        ) from None
