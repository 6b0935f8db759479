"""After a person, or time, has decided: close, ask anew, or go on with the gate of now.

Knows decisions; runs nothing. Invariant: a yes alone starts nothing: scopes, policy and labels are
asked again with today's, and an approver's own arguments pass every step.
"""

from __future__ import annotations

from dataclasses import replace

from remit.approval import covers
from remit.canonical import decode, to_plain
from remit.errors import Conflict, InputError
from remit.gate.code import not_run, refuse
from remit.gate.consider import add_doubts, consider, plan_of, settle
from remit.gate.desk import Desk
from remit.gate.draft import Draft, Stop
from remit.gate.note import Moved, end, moved
from remit.gate.scene import Plan, Proposal, Scene
from remit.gate.step.approve import approve, ask_again, row_for
from remit.gate.step.authorize import authorize_draft
from remit.gate.step.lookup import Follow, Join, lookup
from remit.gate.step.resolve import resolve
from remit.gate.tell import shown_of
from remit.tool import Arguments
from remit.types.approval import Approval
from remit.types.change import Change, ConsumeApproval, VoidApproval
from remit.types.event import ApprovalDecided
from remit.types.label import TRUSTED, Label
from remit.types.operation import Move, Operation
from remit.types.outcome import FieldError, Outcome, Succeeded

__all__ = ["reconsider", "void_changed"]


async def reconsider(desk: Desk, proposal: Proposal, approval: Approval, scene: Scene) -> Plan | None:
    """A plan if the call may start now; else its events tell the rest."""
    if scene.cancelled.is_set() and approval.state in ("approved", "answered"):
        approval = replace(approval, state="void")
    elif approval.state == "void" and has_changed(desk, approval):
        return await _anew(desk, proposal, approval, scene)
    if approval.kind == "question":
        _answer(desk, proposal, approval, scene)
        return None
    row = await _operation(desk, approval, scene)
    match approval.state:
        case "approved":
            return await _approved(desk, proposal, approval, scene, row=row)
        case "denied":
            more = f"Their reason: {desk.redaction.text(approval.reason)}" if approval.reason else ""
            await _close(desk, scene, proposal, "denied", refuse("denied", more), approval=approval)
        case "expired" | "pending":
            await _close(desk, scene, proposal, "expired", refuse("expired"), approval=approval)
        case _:
            await _close(desk, scene, proposal, "cancelled", not_run("cancelled"), approval=approval)
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


def has_changed(desk: Desk, approval: Approval) -> bool:
    """Whether the tool that a person was asked about is not what it was."""
    tool = desk.tools.get(approval.tool)
    return approval.kind == "approval" and tool is not None and tool.contract != approval.contract


async def void_changed(desk: Desk, scene: Scene) -> None:
    """Journal that what people were asked is void, where the tool is not what it was; each call is then asked anew."""
    while not scene.cancelled.is_set():
        pending = await desk.ledger.approvals(run=scene.run, state=("pending",), limit=None)
        old = [row for row in pending if has_changed(desk, row)]
        if not old:
            return
        events = [ApprovalDecided(approval=row.id, call=row.call, verdict="void", by="run") for row in old]
        try:
            await scene.journal.commit(*events, changes=tuple(VoidApproval(row.id, was="pending") for row in old))
        except Conflict as conflict:
            if conflict.code != "approval.moved":
                raise


async def _operation(desk: Desk, approval: Approval, scene: Scene) -> Operation | None:
    """What the approval is about, as all that is noted has left it; no task of this process moves it before an await."""
    name = approval.operation
    return None if name is None else await scene.journal.current(lambda: desk.ledger.operation(name))


async def _close(
    desk: Desk,
    scene: Scene,
    proposal: Proposal,
    on: Move,
    outcome: Outcome,
    *,
    approval: Approval,
    detail: str | None = None,
) -> None:
    """The call will not start: its operation is closed, its approval stands no more."""
    before: tuple[Moved, ...] = ()
    row = await _operation(desk, approval, scene)
    if row is not None and row.closed != "superseded":
        if row.state != "awaiting_approval":
            return  # it was withdrawn meanwhile, and the call has that answer
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
        await _close(desk, scene, proposal, "recheck_refused", tool.outcome, approval=approval)
        return None
    draft.tool = tool
    if tool.contract != approval.contract:
        return await _anew(desk, proposal, approval, scene)
    if approval.edited is not None and Arguments(approval.edited).digest != approval.arguments_digest:
        return await _edited(draft, approval, row, approval.edited)
    draft.arguments = Arguments(approval.arguments)
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
        why, refused = f"{_code(stop.outcome)}: {stop.detail or ''}", refuse("policy.changed")
        await _close(draft.desk, scene, proposal, "recheck_refused", refused, approval=approval, detail=why)
        return None
    await add_doubts(draft)
    wanted = draft.wanted
    if wanted is None or covers(approval, scope=wanted.scope, two_person=wanted.two_person, reasons=wanted.reasons):
        return _granted(draft, approval, row)
    over = await scene.ask_over() if row is not None else scene.may_ask()
    if over is not None:
        await _close(draft.desk, scene, proposal, "recheck_refused", refuse(over), approval=approval)
        return None
    if row is None:
        scene.journal.note(changes=(VoidApproval(approval.id),))
        await approve(draft, wanted)
        return None
    stricter = row_for(draft, wanted, row.id)
    try:
        await ask_again(draft, stricter, moved(row, "recheck_stricter", approval=stricter.id), VoidApproval(approval.id))
    except Conflict as conflict:
        if conflict.code != "operation.moved":  # else it was withdrawn meanwhile, and the call has that answer
            raise
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
        outcome = refuse("arguments.invalid", "An approver had changed them.", fields=desk.redaction.fields(arguments))
        await _close(desk, scene, proposal, "recheck_refused", outcome, approval=approval)
        return None
    draft.arguments, draft.author = arguments, approval.decided_by
    draft.shown = shown_of(desk, draft.resolved, draft.valid)
    if row is not None and row.closed is None and not await _supersede(draft.desk, scene, "edited", approval):
        return None
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
        return draft.resolved.check(Arguments(edited).plain_text())
    except InputError as error:
        return [FieldError("", error.message)]


async def _anew(desk: Desk, proposal: Proposal, approval: Approval, scene: Scene) -> Plan | None:
    """The tool is not what it was: what a person was asked is void, and the call passes every step again."""
    if not await _supersede(desk, scene, "contract_changed", approval, VoidApproval(approval.id)):
        return None
    return await consider(desk, replace(proposal, again=True), scene)


async def _supersede(desk: Desk, scene: Scene, on: Move, approval: Approval, *changes: Change) -> bool:
    """Close the operation in favour of a new one; False if it was withdrawn meanwhile, and the call has that answer."""
    row = await _operation(desk, approval, scene)
    if row is None or row.closed == "superseded":
        scene.journal.note(changes=changes)
        return True
    if row.state != "awaiting_approval":
        return False
    step = moved(row, on)
    scene.journal.note(step.event, changes=(step.change, *changes))
    return True


def _code(outcome: Outcome) -> str:
    return "repeat" if isinstance(outcome, Succeeded) else outcome.code
