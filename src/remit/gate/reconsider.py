"""After a person, or time, has decided: close, ask anew, or go on with the gate of now.

Knows decisions; runs nothing. Invariant: a yes alone starts nothing: scopes, policy and labels are
asked again with today's, and an approver's own arguments pass every step.
"""

from __future__ import annotations

from dataclasses import replace

from remit.approval import covers
from remit.canonical import decode, to_plain
from remit.errors import InputError
from remit.gate.approve import approve, ask_again, row_for
from remit.gate.authorize import authorize_draft
from remit.gate.code import not_run, refuse
from remit.gate.consider import add_doubts, consider, plan_of, settle
from remit.gate.desk import Desk
from remit.gate.draft import Draft, Stop
from remit.gate.lookup import Follow, Join, lookup
from remit.gate.note import Moved, end, moved
from remit.gate.resolve import resolve
from remit.gate.scene import Plan, Proposal, Scene
from remit.gate.tell import shown_of
from remit.tool import Arguments
from remit.types.approval import Approval
from remit.types.label import TRUSTED, Label
from remit.types.ledger import Change, ConsumeApproval, VoidApproval
from remit.types.operation import Move, Operation
from remit.types.outcome import FieldError, Outcome, Succeeded

__all__ = ["reconsider"]


async def reconsider(desk: Desk, proposal: Proposal, approval: Approval, scene: Scene) -> Plan | None:
    """A plan if the call may start now; else its events tell the rest."""
    if scene.cancelled.is_set() and approval.state in ("approved", "answered"):
        approval = replace(approval, state="void")
    if approval.kind == "question":
        _answer(desk, proposal, approval, scene)
        return None
    row = None if approval.operation is None else await desk.ledger.operation(approval.operation)
    match approval.state:
        case "approved":
            return await _approved(desk, proposal, approval, scene, row=row)
        case "denied":
            more = f"Their reason: {desk.redaction.text(approval.reason)}" if approval.reason else ""
            _close(scene, proposal, row, "denied", refuse("denied", more), approval=approval)
        case "expired" | "pending":
            _close(scene, proposal, row, "expired", refuse("expired"), approval=approval)
        case _:
            _close(scene, proposal, row, "cancelled", not_run("cancelled"), approval=approval)
    return None


def _answer(desk: Desk, proposal: Proposal, approval: Approval, scene: Scene) -> None:
    """The end of `ask_user`. Only the requester's own words are trusted."""
    outcome: Outcome
    changes: tuple[Change, ...] = ()
    label = TRUSTED
    match approval.state:
        case "answered":
            answer = to_plain(decode(approval.answer or "null"))
            outcome = Succeeded(value=desk.redaction.value(answer))
            changes = (ConsumeApproval(approval.id),)
            if approval.decided_by != approval.requester:
                label = Label(trusted=False, sources=frozenset({f"answer of {approval.decided_by}"}))
        case "denied":
            outcome = refuse("denied")
        case "expired" | "pending":
            outcome, changes = not_run("expired"), (VoidApproval(approval.id, "expired"),)
        case _:
            outcome, changes = not_run("cancelled"), (VoidApproval(approval.id),)
    end(scene, proposal, outcome, label=label.join(proposal.label) if label is not TRUSTED else label, changes=changes)


def _close(
    scene: Scene,
    proposal: Proposal,
    row: Operation | None,
    on: Move,
    outcome: Outcome,
    *,
    approval: Approval,
    detail: str | None = None,
) -> None:
    """The call will not start: its operation is closed, its approval stands no more."""
    before: tuple[Moved, ...] = ()
    if row is not None and row.state == "awaiting_approval":
        by = "time" if on == "expired" else approval.decided_by
        before = (moved(row, on, outcome=outcome, by=by),)
    changes: tuple[Change, ...] = ()
    if on != "denied":
        changes = (VoidApproval(approval.id, "expired" if on == "expired" else "void"),)
    operation = None if row is None else row.id
    outcome = replace(outcome, operation=operation)
    end(scene, proposal, outcome, operation=operation, before=before, changes=changes, detail=detail)


async def _approved(desk: Desk, proposal: Proposal, approval: Approval, scene: Scene, *, row: Operation | None) -> Plan | None:
    draft = Draft(desk, scene, proposal)
    tool = resolve(desk, proposal, scene)
    if isinstance(tool, Stop):
        _close(scene, proposal, row, "recheck_refused", tool.outcome, approval=approval)
        return None
    draft.tool = tool
    if tool.contract != approval.contract:
        _supersede(scene, row, "contract_changed", approval)
        return await consider(desk, replace(proposal, again=True), scene)
    if approval.edited is not None and Arguments(approval.edited).digest != approval.arguments_digest:
        return await _edited(draft, approval, row, approval.edited)
    draft.arguments = Arguments.restore(approval.arguments)
    if row is not None:
        draft.key, draft.once_per, draft.author = row.key, row.once_per, row.author
    if approval.author is not None:
        draft.shown = shown_of(desk, draft.resolved, draft.valid)
    return await _recheck(draft, approval, row)


async def _recheck(draft: Draft, approval: Approval, row: Operation | None) -> Plan | None:
    """Scopes, policy and labels of now, for what was approved."""
    scene, proposal = draft.scene, draft.proposal
    stop = await authorize_draft(draft)
    if stop is not None:
        why = f"{_code(stop.outcome)}: {stop.detail or ''}"
        _close(scene, proposal, row, "recheck_refused", refuse("policy.changed"), approval=approval, detail=why)
        return None
    await add_doubts(draft)
    wanted = draft.wanted
    if wanted is None or covers(approval, scope=wanted.scope, two_person=wanted.two_person, reasons=wanted.reasons):
        return _granted(draft, approval, row)
    over = scene.may_ask()
    if over is not None:
        _close(scene, proposal, row, "recheck_refused", over, approval=approval)
        return None
    if row is None:
        scene.journal.note(changes=(VoidApproval(approval.id),))
        await approve(draft, wanted)
        return None
    stricter = row_for(draft, wanted, row.id)
    await ask_again(draft, stricter, moved(row, "recheck_stricter", approval=stricter.id), VoidApproval(approval.id))
    return None


def _granted(draft: Draft, approval: Approval, row: Operation | None) -> Plan:
    operation = None if row is None else row.id
    draft.scene.journal.note(
        draft.considered("ready", "approve", "approval.granted", operation=operation, approval=approval.id)
    )
    return replace(plan_of(draft), operation=operation, approval=approval)


async def _edited(draft: Draft, approval: Approval, row: Operation | None, edited: str) -> Plan | None:
    """The approver's own arguments: a new operation, the requester's rights, the approver as author."""
    desk, scene, proposal = draft.desk, draft.scene, draft.proposal
    arguments = _check_edited(draft, edited)
    if isinstance(arguments, list):
        outcome = refuse("arguments.invalid", "An approver had changed them.", fields=tuple(arguments))
        _close(scene, proposal, row, "recheck_refused", outcome, approval=approval)
        return None
    draft.arguments, draft.author = arguments, approval.decided_by
    draft.shown = shown_of(desk, draft.resolved, draft.valid)
    _supersede(scene, row, "edited", None)
    found = await authorize_draft(draft) or (await lookup(draft) if row is not None else None)
    match found:
        case Stop():
            scene.journal.note(changes=(VoidApproval(approval.id),))
            return settle(draft, found)
        case Join():
            scene.journal.note(changes=(VoidApproval(approval.id),))
            return settle(draft, Stop("lookup", refuse("conflict"), operation=found.operation.id))
        case Follow() | None:
            return await _edited_granted(draft, approval)


async def _edited_granted(draft: Draft, approval: Approval) -> Plan | None:
    """Whether the yes of the approver who edited is enough for what they wrote."""
    await add_doubts(draft)
    wanted = draft.wanted
    editor = replace(approval, author=approval.decided_by)
    if wanted is None or covers(editor, scope=wanted.scope, two_person=wanted.two_person, reasons=wanted.reasons):
        return _granted(draft, approval, None)
    draft.scene.journal.note(changes=(VoidApproval(approval.id),))
    stop = await approve(draft, wanted)
    return None if stop is None else settle(draft, stop)


def _check_edited(draft: Draft, edited: str) -> Arguments | list[FieldError]:
    try:
        return draft.resolved.check(Arguments.restore(edited).plain_text())
    except InputError as error:
        return [FieldError("", error.message)]


def _supersede(scene: Scene, row: Operation | None, on: Move, approval: Approval | None) -> None:
    """Close the operation in favour of a new one."""
    changes: tuple[Change, ...] = () if approval is None else (VoidApproval(approval.id),)
    if row is None or row.state != "awaiting_approval":
        scene.journal.note(changes=changes)
        return
    step = moved(row, on)
    scene.journal.note(step.event, changes=(step.change, *changes))


def _code(outcome: Outcome) -> str:
    return "repeat" if isinstance(outcome, Succeeded) else outcome.code
