"""What people and other processes write: deliveries into a run's inbox, and decisions.

Runs inside an open transaction. Invariant: a pending approval is decided at most once, and whoever
decided it is in its run's inbox in the same transaction.
"""

from __future__ import annotations

from dataclasses import replace

from remit.errors import InputError, NotFound
from remit.ledger.row import APPROVAL, approval_of
from remit.ledger.sql import execute, insert_numbered, locked, one, take_turn
from remit.ledger.transaction import Transaction
from remit.types.approval import Approval
from remit.types.codec import encode_delivery
from remit.types.delivery import Decision, Delivery
from remit.types.ident import RunId

__all__ = ["decide", "post"]

_FITS = {"approval": ("approved", "denied", "expired"), "question": ("answered", "denied", "expired")}


def post(tx: Transaction, run: RunId, delivery: Delivery) -> int:
    """Put it into the run's inbox; its id. Raises `NotFound` if there is no such run."""
    found = one(tx.db, "SELECT forgotten_ms FROM remit_run WHERE id = ?", run)
    if found is None:
        raise NotFound("no such run", code="run.not_found", run=run)
    if found[0] is not None:
        raise NotFound("the run was forgotten, and takes no news", code="run.forgotten", run=run)
    take_turn(tx.db, f"inbox {run}")  # who waits for ids above one that it has seen must not miss a lower one
    values = (run, encode_delivery(delivery))
    tx.posted.add(run)
    return insert_numbered(tx.db, "INSERT INTO remit_inbox (run, text) VALUES (?, ?)", values, "id")


def decide(tx: Transaction, decision: Decision, now_ms: int) -> Approval:
    """Decide a pending row and tell its run; a row that is decided comes back as it is.

    Raises:
        NotFound: there is no such row.
        InputError: an approval is approved or denied, a question answered or denied.
    """
    row = locked(tx.db, f"{APPROVAL} WHERE id = ?", decision.approval)
    if row is None:
        raise NotFound("no such approval", code="approval.not_found", approval=decision.approval)
    approval = approval_of(row)
    if approval.state != "pending":
        return approval
    if decision.verdict not in _FITS[approval.kind]:
        raise InputError(f"a {approval.kind} cannot be {decision.verdict}", code="decision.unfit")
    now_ms = max(now_ms, _last_ms(tx, approval.run))
    if approval.expires_ms is not None and approval.expires_ms <= now_ms:
        decision = Decision(approval=approval.id, verdict="expired", by="time")
    elif decision.verdict == "expired":
        return approval
    decided = _decided(approval, decision, now_ms)
    execute(
        tx.db,
        "UPDATE remit_approval SET state = ?, decided_by = ?, decided_ms = ?, reason = ?, edited = ?, answer = ? WHERE id = ?",
        (
            decided.state,
            decided.decided_by,
            decided.decided_ms,
            decided.reason,
            decided.edited,
            decided.answer,
            decided.id,
        ),
    )
    post(tx, approval.run, replace(decision, edited=decided.edited, answer=decided.answer))
    return decided


def _decided(approval: Approval, decision: Decision, now_ms: int) -> Approval:
    return replace(
        approval,
        state=decision.verdict,
        decided_by=decision.by,
        decided_ms=now_ms,
        reason=decision.reason,
        edited=decision.edited if decision.verdict == "approved" else None,
        answer=decision.answer if decision.verdict == "answered" else None,
    )


def _last_ms(tx: Transaction, run: RunId) -> int:
    row = one(tx.db, "SELECT updated_ms FROM remit_run WHERE id = ?", run)
    return row[0] if row else 0
