"""One function for each change that a commit may make beside appending events.

Knows the tables and the law of operations and approvals; nothing of ownership, which is settled
before. Invariant: every write is conditional on the state that the caller named, and what is
refused has written nothing (the savepoint around it is undone).
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import assert_never

from remit.errors import Conflict, InputError, KeyTaken, NotFound
from remit.ledger.bill import pay
from remit.ledger.hide import hidden
from remit.ledger.row import insert, texts, texts_of
from remit.ledger.sql import Database, execute, locked, one, take_turn
from remit.types.change import (
    AskPerson,
    Change,
    ConsumeApproval,
    FreeConversation,
    HoldConversation,
    KeepBlob,
    MoveOperation,
    Notify,
    OpenOperation,
    PassEvidence,
    Post,
    RowChange,
    Spend,
    TakeNotice,
    VoidApproval,
)
from remit.types.codec import encode_delivery, encode_label, encode_outcome
from remit.types.ident import ApprovalId, OperationId, RunId
from remit.types.label import UNTRUSTED
from remit.types.operation import HOLDING, Operation, OperationState, move

__all__ = ["Place", "make_all"]


@dataclass(slots=True)
class Place:
    """Where a change is made: the database, the run whose commit it is, and the commit's moment.

    `posted` are the runs whose inbox grows with it.
    """

    db: Database
    run: RunId
    at_ms: int
    posted: set[RunId]


def make_all(changes: Sequence[Change], at: Place) -> None:
    """Make the changes, in their order, and then all that is spent, of each scope at once.

    Raises:
        Conflict, KeyTaken, BudgetExceeded, NotFound, InputError: one cannot be made; what was written must be undone.
    """
    bills: dict[str, list[Spend]] = {}
    for change in changes:
        if isinstance(change, Spend):
            bills.setdefault(change.scope, []).append(change)
        else:
            _make(change, at)
    for scope, bill in bills.items():
        pay(at.db, scope, bill)


def _make(change: RowChange, at: Place) -> None:  # the closed list, one line each
    match change:
        case HoldConversation():
            _hold(change, at)
        case FreeConversation():
            _free(change, at)
        case OpenOperation():
            _open(change.operation, at)
        case MoveOperation():
            _move(change, at)
        case PassEvidence():
            _pass_evidence(change, at)
        case Post():
            _post(change, at)
        case AskPerson():
            insert(at.db, "remit_approval", change.approval, state="pending", created_ms=at.at_ms)
        case ConsumeApproval():
            _consume(change.approval, at)
        case VoidApproval():
            _void(change, at)
        case KeepBlob():
            _keep(change, at)
        case Notify():
            _notify(change, at)
        case TakeNotice():
            _take_notice(change, at)
        case _:
            assert_never(change)


def _post(change: Post, at: Place) -> None:
    if one(at.db, "SELECT 1 FROM remit_run WHERE id = ?", change.run) is None:
        raise NotFound("no such run", code="run.not_found", run=change.run)
    take_turn(at.db, f"inbox {change.run}")  # as `post`
    execute(at.db, "INSERT INTO remit_inbox (run, text) VALUES (?, ?)", (change.run, encode_delivery(change.delivery)))
    at.posted.add(change.run)


def _hold(change: HoldConversation, at: Place) -> None:
    name = (change.tenant, change.conversation)
    row = locked(at.db, "SELECT subject, agent, holder, last FROM remit_conversation WHERE tenant = ? AND id = ?", *name)
    if row is None:
        subject, agent, holder, last = change.subject, change.agent, None, None
        execute(
            at.db,
            "INSERT INTO remit_conversation (tenant, id, subject, agent, label) VALUES (?, ?, ?, ?, ?)",
            (*name, subject, agent, encode_label(UNTRUSTED)),
        )
    else:
        subject, agent, holder, last = row
    if (subject, agent) != (change.subject, change.agent):
        raise Conflict("the conversation belongs to another subject or agent", code="conversation.foreign")
    if holder not in (None, at.run):
        raise Conflict("another run holds the conversation", code="conversation.held", run=holder)
    if change.after is not None and change.after != (last or ""):
        raise Conflict("the conversation has moved on since it was read", code="conversation.moved", run=last)
    execute(at.db, "UPDATE remit_conversation SET holder = ? WHERE tenant = ? AND id = ?", (at.run, *name))


def _free(change: FreeConversation, at: Place) -> None:
    execute(
        at.db,
        """UPDATE remit_conversation SET holder = NULL, last = ?, label = ?
        WHERE tenant = (SELECT tenant FROM remit_run WHERE id = ?) AND id = ? AND holder = ?""",
        (at.run, encode_label(change.label), at.run, change.conversation, at.run),
    )


def _open(operation: Operation, at: Place) -> None:
    on = "requested" if operation.state == "awaiting_approval" else "allowed"
    state, _ = move(None, on)
    attempt = 1 if state == "dispatched" else 0
    if (operation.state, operation.attempt) != (state, attempt):
        raise Conflict("a new operation awaits approval, or is dispatched as attempt 1", code="operation.illegal_move")
    if state in HOLDING:
        _need_key(operation.id, operation.key, at)
    first = at.at_ms if state == "dispatched" else None
    insert(at.db, "remit_operation", operation, first_dispatched_ms=first, created_ms=at.at_ms, updated_ms=at.at_ms)


_STANDING = "SELECT state, attempt, closed, settled_by, key, evidence FROM remit_operation WHERE id = ?"


def _move(change: MoveOperation, at: Place) -> None:
    name = change.operation
    row = locked(at.db, _STANDING, name)
    if row is None:
        raise NotFound("no such operation", code="operation.not_found", operation=name)
    was: OperationState
    was, was_attempt, was_closed, settled_by, key, evidence = row
    if (was, was_attempt) != (change.state, change.attempt):
        raise Conflict(
            f"the operation is {was}, attempt {was_attempt}",
            code="operation.moved",
            operation=name,
            state=was,
            attempt=was_attempt,
        )
    state, closed = move(was, change.on)
    if was == "failed" and state == "succeeded" and settled_by in (None, "handler", "late"):
        raise Conflict("its own handler said that nothing happened", code="operation.illegal_move", operation=name)
    if state in HOLDING and was not in HOLDING:
        _need_key(name, key, at)
    dispatch = state == "dispatched" and was != "dispatched"
    attempt = was_attempt + 1 if dispatch else was_attempt
    if change.to_attempt not in (None, attempt):
        raise Conflict(f"the next attempt is {attempt}", code="operation.illegal_move", operation=name)
    execute(
        at.db,
        "UPDATE remit_operation SET state = ?, closed = ?, attempt = ?, owner = coalesce(?, owner),"
        " not_after_ms = coalesce(?, not_after_ms), approval = coalesce(?, approval), outcome = coalesce(?, outcome),"
        " settled_by = coalesce(?, settled_by), evidence = ?, updated_ms = ?,"
        " first_dispatched_ms = coalesce(first_dispatched_ms, ?) WHERE id = ?",
        (
            state,
            closed or was_closed,
            attempt,
            change.owner,
            change.not_after_ms,
            change.approval,
            change.outcome,
            change.settled_by,
            evidence if change.evidence is None else texts((*texts_of(evidence), change.evidence)),
            at.at_ms,
            at.at_ms if dispatch else None,
            name,
        ),
    )


def _pass_evidence(change: PassEvidence, at: Place) -> None:
    row = locked(at.db, "SELECT evidence FROM remit_operation WHERE id = ?", change.operation)
    if row is None:
        raise NotFound("no such operation", code="operation.not_found", operation=change.operation)
    execute(
        at.db,
        "UPDATE remit_operation SET evidence = ?, updated_ms = ? WHERE id = ?",
        (texts((*texts_of(row[0]), change.evidence)), at.at_ms, change.operation),
    )


def _need_key(operation: OperationId, key: str, at: Place) -> None:
    row = one(
        at.db,
        "SELECT id FROM remit_operation WHERE key = ? AND state IN ('dispatched', 'unknown', 'succeeded')",
        key,
    )
    if row is None and (secret := hidden(at.db, key)) != key:
        row = one(at.db, "SELECT id FROM remit_operation WHERE key = ? AND state = 'succeeded'", secret)
    if row is not None:
        raise KeyTaken("another operation holds the key", operation=row[0], instead_of=operation)


def _consume(approval: ApprovalId, at: Place) -> None:
    execute(
        at.db, "UPDATE remit_approval SET state = 'consumed' WHERE id = ? AND state IN ('approved', 'answered')", (approval,)
    )
    if at.db.changes() == 0:
        row = one(at.db, "SELECT state FROM remit_approval WHERE id = ?", approval)
        if row is None:
            raise NotFound("no such approval", code="approval.not_found", approval=approval)
        raise Conflict(f"the approval is {row[0]}", code="approval.used", approval=approval, state=row[0])


def _void(change: VoidApproval, at: Place) -> None:
    if change.was is not None:
        row = locked(at.db, "SELECT state FROM remit_approval WHERE id = ?", change.approval)
        if row is None or row[0] != change.was:
            raise Conflict("the approval was decided meanwhile", code="approval.moved", approval=change.approval)
    execute(
        at.db,
        "UPDATE remit_approval SET state = ? WHERE id = ? AND state NOT IN ('consumed', 'void', 'denied')",
        (change.state, change.approval),
    )


def _keep(change: KeepBlob, at: Place) -> None:
    if hashlib.sha256(change.data).hexdigest() != change.digest:
        raise InputError("the digest of kept bytes is their SHA-256", code="blob.digest")
    execute(at.db, "INSERT INTO remit_blob VALUES (?, ?) ON CONFLICT DO NOTHING", (change.digest, change.data))


def _notify(change: Notify, at: Place) -> None:
    execute(
        at.db,
        """INSERT INTO remit_notice (tenant, conversation, run, call, tool, operation, outcome)
        SELECT tenant, ?, ?, ?, ?, ?, ? FROM remit_run WHERE id = ?""",
        (
            change.conversation,
            change.run,
            change.call,
            change.tool,
            change.operation,
            encode_outcome(change.outcome),
            change.run,
        ),
    )


def _take_notice(change: TakeNotice, at: Place) -> None:
    execute(at.db, "DELETE FROM remit_notice WHERE id = ?", (change.id,))
    if at.db.changes() == 0:
        raise Conflict("another message carries the notice already", code="notice.taken", notice=change.id)
