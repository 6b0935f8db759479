"""Step 6, approve: a person is asked, by a durable row that is bound to exactly what would run.

Knows no decision. Invariant: row, operation and the event that says so are one transaction, and
nobody is asked for what the budget would not allow now.
"""

from __future__ import annotations

from typing import cast

from remit import ambient
from remit.approval import Subject, build, build_question
from remit.canonical import encode
from remit.gate.code import refuse
from remit.gate.draft import Draft, Stop, Wanted
from remit.gate.note import Moved
from remit.tool import Arguments
from remit.types.approval import Approval
from remit.types.change import AskPerson, Change
from remit.types.event import ApprovalRequested, OperationMoved
from remit.types.ident import Json, OperationId

__all__ = ["approve", "ask_again", "needs_person", "question", "row_for", "subject_of"]

_QUESTION_S = 86_400.0


def needs_person(draft: Draft) -> bool:
    """Whether a person is asked before the call goes on: for what is wanted, or because that is all that it does."""
    return draft.wanted is not None or (draft.resolved.effect.kind == "ask" and draft.resolved.name != "withdraw")


async def approve(draft: Draft, wanted: Wanted) -> Stop | None:
    """Ask for what is wanted; None once the request is durable."""
    over = await draft.scene.ask_over()
    if over is not None:
        return Stop("budget", refuse(over))
    if draft.resolved.effect.kind != "write":
        row = row_for(draft, wanted, None)
        await _commit(draft, row, (), ())
        return None
    operation = OperationId(ambient.new_id("op"))
    row = row_for(draft, wanted, operation)
    opened = draft.row(operation, "awaiting_approval", row.created_ms, approval=row.id)
    moved = OperationMoved(
        operation=operation,
        call=draft.proposal.call,
        on="requested",
        state="awaiting_approval",
        key=draft.key,
        arguments_digest=draft.valid.digest,
        approval=row.id,
    )
    await _commit(draft, row, (moved,), (opened,))
    return None


async def ask_again(draft: Draft, row: Approval, moved: Moved, *changes: Change) -> None:
    """The same operation, or the same read, under a new and stricter approval."""
    await _commit(draft, row, (moved.event,), (moved.change, *changes))


async def question(draft: Draft) -> Stop | None:
    """`ask_user`: a row without an operation, whose answer is the call's result."""
    over = await draft.scene.ask_over()
    if over is not None:
        return Stop("budget", refuse(over))
    row = build_question(
        subject_of(draft, None), question=draft.desk.redaction.text(str(draft.valid.get("question", ""))), expires_s=_QUESTION_S
    )
    await _commit(draft, row, (), ())
    return None


async def _commit(draft: Draft, row: Approval, moves: tuple[OperationMoved, ...], changes: tuple[Change, ...]) -> None:
    code = "question.asked" if row.kind == "question" else "approval.needed"
    requested = ApprovalRequested(
        approval=row.id,
        call=row.call,
        operation=row.operation,
        ask=row.kind,
        preview=row.preview,
        digest=row.arguments_digest,
        expires_ms=row.expires_ms,
    )
    considered = draft.considered("waiting", "approve", code, operation=row.operation, approval=row.id)
    await draft.scene.journal.commit(considered, *moves, requested, changes=(*changes, AskPerson(row)))


def row_for(draft: Draft, wanted: Wanted, operation: OperationId | None) -> Approval:
    """The pending row that asks for `wanted`."""
    tool, clean = draft.resolved, draft.desk.redaction.text
    preview = tool.preview
    return build(
        subject_of(draft, operation),
        scope=wanted.scope,
        expires_s=wanted.expires_s,
        two_person=wanted.two_person,
        reasons=wanted.reasons,
        preview=None if preview is None else lambda shown: clean(preview(Arguments(encode(cast("Json", dict(shown)))))),
    )


def subject_of(draft: Draft, operation: OperationId | None) -> Subject:
    """Who asks, and for what."""
    tool, arguments, scene = draft.resolved, draft.valid, draft.scene
    plain = cast("dict[str, Json]", draft.desk.redaction.value(arguments.plain()))
    return Subject(
        tenant=scene.principal.tenant,
        requester=scene.principal.subject,
        run=scene.run,
        call=draft.proposal.call,
        tool=tool.name,
        contract=tool.contract,
        text=arguments.text,
        digest=arguments.digest,
        plain=plain,
        secret=tool.secret,
        label=draft.proposal.label,
        policy=draft.desk.policy_version,
        now_ms=scene.journal.now_ms(),
        operation=operation,
        author=draft.author,
    )
