"""What people say about a run: decisions, answers, withdrawals, settlements, cancellations.

Knows the rows that they speak about and who may speak. It moves no operation: everything goes to the
run's inbox, for whoever owns the run. Invariant: what a person said is durable before this returns.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Literal

from remit.approval import may_decide
from remit.canonical import encode
from remit.errors import Conflict, InputError, NotFound
from remit.owner.follow import row_of
from remit.owner.state import State
from remit.tool import Arguments
from remit.types.approval import Approval, ApprovalKind
from remit.types.delivery import CancelRun, Decision, Settlement, Withdrawal
from remit.types.given import given_bool, given_id, given_text
from remit.types.ident import ApprovalId, Json, OperationId, RunId
from remit.types.operation import Operation
from remit.types.principal import Principal
from remit.types.retention import Erased

__all__ = ["By", "answer", "cancel", "decide", "operation_of", "settle", "still_about", "withdraw"]

By = Principal | str
"""Who says it: a principal, or the subject of an operator that the application trusts."""


async def decide(
    state: State,
    approval: str | Approval,
    allow: bool,
    *,
    by: Principal,
    reason: str = "",
    arguments: Mapping[str, Json] | None = None,
) -> Approval:
    """Say yes or no to an approval; a second decision gives back the first one's row."""
    row = await _approval(state, approval, "approval", by)
    may_decide(row, by)
    verdict: Literal["approved", "denied"] = "approved" if given_bool(allow, "allow= of decide") else "denied"
    if arguments is not None and not allow:
        raise InputError("arguments= goes with a yes only; leave it out to deny", code="decision.arguments")
    edited = None if arguments is None else _edited(state, row, arguments)
    reason = given_text(reason, "reason= of decide")
    decision = Decision(approval=row.id, verdict=verdict, by=by.subject, reason=reason, edited=edited)
    return await _post(state, decision)


async def answer(state: State, question: str | Approval, value: Json, *, by: Principal, reason: str = "") -> Approval:
    """Answer a question of `ask_user`; a second answer gives back the first one's row."""
    row = await _approval(state, question, "question", by)
    may_decide(row, by)
    reason = given_text(reason, "reason= of answer")
    decision = Decision(approval=row.id, verdict="answered", by=by.subject, reason=reason, answer=encode(value))
    return await _post(state, decision)


async def withdraw(state: State, operation: OperationId, *, by: By, reason: str = "") -> RunId:
    """Do not start the operation; nothing if it has started. Gives the run that is told."""
    row = await operation_of(state, operation, by)
    if row.state == "awaiting_approval":
        await state.ledger.post(row.run, Withdrawal(operation=operation, by=_subject(by), reason=reason))
        state.nudge()
    return row.run


async def settle(
    state: State, said: str | Operation, happened: bool, *, by: By, reason: str, result: Json = None
) -> Settlement:
    """Say what became of an operation in doubt, as the row that is given or, of a mere id, the row of now has it."""
    operation = OperationId(said.id if isinstance(said, Operation) else said)
    row = await operation_of(state, operation, by)
    seen = said if isinstance(said, Operation) else row
    if not given_text(reason, "reason= of settle"):
        raise InputError("reason= of settle: say how you know", code="settlement.reason")
    given_bool(happened, "happened= of settle")
    if row.state == "dispatched" and row.owner is not None and await state.ledger.alive(row.owner):
        raise Conflict("the operation is still running; wait for its end", code="operation.running", operation=operation)
    if row.state not in ("dispatched", "unknown"):
        raise Conflict(
            f"the operation is {row.state}, not unknown; there is nothing to settle",
            code="operation.not_unknown",
            operation=operation,
            state=row.state,
        )
    text = encode(result) if happened and result is not None else None
    settlement = Settlement(
        operation=operation, attempt=seen.attempt, happened=happened, by=_subject(by), reason=reason, result=text
    )
    still_about(row, settlement)
    await state.ledger.post(row.run, settlement)
    return settlement


def still_about(row: Operation, said: Settlement) -> Operation:
    """The row, if what a person said of it can still settle it: a no says nothing about an attempt that came later."""
    if said.happened or said.attempt >= row.attempt or row.state not in ("dispatched", "unknown"):
        return row
    raise Conflict(
        "the operation was sent again since you looked, and that attempt may have happened; look again",
        code="operation.sent_again",
        operation=row.id,
        attempt=row.attempt,
    )


async def cancel(state: State, run: RunId, *, by: By, reason: str = "") -> bool:
    """Stop a run: what was dispatched is awaited, nothing else starts. False if it has ended."""
    row = await row_of(state.ledger, run)
    _same_tenant(by, row.tenant, "run", run)
    if row.status == "ended":
        return False
    await state.ledger.post(run, CancelRun(by=_subject(by), reason=reason))
    state.nudge()
    return True


async def forget(state: State, run: RunId, *, by: By, reason: str, conversation: bool = False, dry_run: bool = False) -> Erased:
    """Delete all that was said in a run; see `Ledger.forget`. Whoever says so is of its tenant."""
    row = await row_of(state.ledger, run)
    _same_tenant(by, row.tenant, "run", run)
    return await state.ledger.forget(run, by=_subject(by), reason=reason, conversation=conversation, dry_run=dry_run)


async def _post(state: State, decision: Decision) -> Approval:
    decided = await state.ledger.decide(decision)
    state.nudge()
    return decided


async def _approval(state: State, said: str | Approval, kind: ApprovalKind, by: Principal) -> Approval:
    if not isinstance(by, Principal):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise InputError("by= must be the Principal who decides, with the scopes that it holds", code="decision.by")
    name = said.id if isinstance(said, Approval) else said
    approval = ApprovalId(given_id(name, f"the {kind}", "give its row or its id, as approvals() has it"))
    row = await state.ledger.approval(approval)
    if row is None:
        raise NotFound(f"no approval {approval!r}; take an id from approvals", code="approval.not_found", approval=approval)
    _same_tenant(by, row.tenant, "approval", approval)
    if row.kind != kind:
        mend = "decide() is for approvals" if kind == "approval" else "answer() is for questions"
        raise InputError(f"{approval!r} is of the other kind: {mend}", code="approval.kind")
    return row


async def operation_of(state: State, operation: OperationId, by: By) -> Operation:
    """The operation's row, for whoever speaks about it."""
    given_id(operation, "the operation's id", "take one from operations()")
    row = await state.ledger.operation(operation)
    if row is None:
        message = f"no operation {operation!r}; take an id from operations"
        raise NotFound(message, code="operation.not_found", operation=operation)
    _same_tenant(by, row.tenant, "operation", operation)
    return row


def _same_tenant(by: By, tenant: str, what: str, name: str) -> None:
    if isinstance(by, Principal) and by.tenant != tenant:
        raise NotFound(f"no {what} {name!r} for this principal", code=f"{what}.not_found")


def _subject(by: By) -> str:
    subject = by.subject if isinstance(by, Principal) else by
    return given_id(subject, "by=", "give the Principal who says this, or the name of an operator")


def _edited(state: State, row: Approval, arguments: Mapping[str, Json]) -> str:
    """The approver's own arguments as canonical text, checked at once where the tool is known here."""
    tool = state.tool(row.tool, row.contract)
    if tool is None:
        return encode(dict(arguments))
    text = json.dumps(dict(arguments))
    checked = tool.check(text)
    if isinstance(checked, Arguments) and not tool.forbidden(text):
        return checked.text
    places = tool.forbidden(text) if isinstance(checked, Arguments) else tuple(error.path or "/" for error in checked)
    message = f"the edited arguments do not fit {row.tool!r} at {', '.join(places)}; correct them"
    raise InputError(message, code="decision.arguments", fields=places)
