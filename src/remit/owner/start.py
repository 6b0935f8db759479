"""Starting runs: the first commit of a new one, and of one that waited behind its conversation.

Knows requests, conversations and first events. It does not know how a run goes on. Invariant: once
this returns, the run exists durably, exactly once per request id, and starts from its conversation's last words.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from remit import ambient
from remit.budget import price_bound
from remit.errors import Conflict, Denied, InputError
from remit.loop import Driver, Transcript
from remit.owner.drive import launch
from remit.owner.head import first_events
from remit.owner.principal import scopes_of_now
from remit.owner.request import Request
from remit.owner.state import Bound, State
from remit.types.change import Change, Create, HoldConversation
from remit.types.event import RunStarted
from remit.types.ident import RunId
from remit.types.label import TRUSTED
from remit.types.ledger import Append
from remit.types.principal import Principal
from remit.types.run import RunRow

__all__ = ["open_run", "start_queued"]

_NONE_YET = RunId("")
_WAIT = ("conversation.held", "conversation.moved")


@dataclass(frozen=True, slots=True)
class _Start:
    """What is about to begin. `create` makes the row; None claims one that was queued."""

    bound: Bound
    principal: Principal
    request: Request
    row: RunRow
    create: Create | None


async def open_run(
    state: State, bound: Bound, principal: Principal, request: Request, *, request_id: str | None, new: RunId | None = None
) -> RunId:
    """Make a new run and start it, or store it as queued behind the run that holds its conversation.

    Raises:
        Conflict: another run has this request id (`request.exists`).
        Denied: the conversation is another's (`conversation.foreign`).
        InputError: the agent cannot run this request.
    """
    _check_price(bound)
    row = _new_row(new or RunId(ambient.new_id("run")), bound, principal, request, request_id=request_id)
    start = _Start(bound, principal, request, row, Create(row, request.to_json()))
    if row.conversation is not None and await _must_wait(state, row):
        await _queue(state, start)
        return row.id
    try:
        await _begin(state, start)
    except Conflict as error:
        if error.code == "conversation.foreign":
            raise _foreign(row) from error
        if error.code not in _WAIT:
            raise
        await _queue(state, start)
    return row.id


async def start_queued(state: State, bound: Bound, row: RunRow) -> None:
    """Start a run that waited.

    Raises:
        Conflict: its conversation is held again.
        RunOwned: another process was faster.
        Denied: its principal may not run any more.
    """
    request = await Request.from_json(await state.ledger.request(row.id), state.ledger)
    principal, _ = await scopes_of_now(state, Principal(row.subject, row.tenant, request.scopes))
    _check_price(bound)
    await _begin(state, _Start(bound, principal, request, row, None))


def _new_row(run: RunId, bound: Bound, principal: Principal, request: Request, *, request_id: str | None) -> RunRow:
    now = ambient.now_ms()
    return RunRow(
        id=run,
        root=run,
        agent=bound.agent.name,
        tenant=principal.tenant,
        subject=principal.subject,
        conversation=request.conversation,
        request_id=request_id,
        request_digest=None if request_id is None else request.digest(),
        status="active",
        created_ms=now,
        updated_ms=now,
    )


async def _begin(state: State, start: _Start) -> None:
    """Make the first commit; in a conversation it refuses if that has moved since its history was read."""
    row, bound, principal, request = start.row, start.bound, start.principal, start.request
    changes: tuple[Change, ...] = request.blobs()
    history = Transcript()
    if row.conversation is None:
        events = first_events(bound, principal, request, row)
    else:
        conversation = await state.ledger.conversation(row.conversation, tenant=row.tenant)
        last = None if conversation is None else conversation.last
        before = None if last is None else await _started_of(state, last)
        _check_fit(start, before)
        label = TRUSTED if conversation is None else conversation.label
        history = await state.histories.of(state.ledger, row.tenant, row.conversation, last=last)
        events = first_events(bound, principal, request, row, context=label, before=before, after=last, waits=history.waits)
        hold = HoldConversation(row.conversation, row.tenant, row.subject, row.agent, last or _NONE_YET)
        changes = (hold, *changes)

    async def first(driver: Driver) -> None:
        await driver.begin(events, changes=changes, create=start.create)

    await launch(state, row.id, bound, principal, first=first, history=history.copied())
    if row.conversation is not None:
        state.histories.keep(row.tenant, row.conversation, row.id, history)


def _check_fit(start: _Start, before: RunStarted | None) -> None:
    """Refuse what cannot go on from the run before it."""
    if before is None:
        return
    if start.request.imported:
        raise InputError("a history is imported into a new conversation only; give it another id", code="conversation.messages")
    if before.protocol != start.bound.model.wire.protocol:
        raise InputError(
            f"the conversation is in the form of {before.protocol}; go on with a model of that protocol, or start anew",
            code="conversation.protocol",
        )


async def _queue(state: State, start: _Start) -> None:
    """Store the run to be started later; what is wrong with the request is said now."""
    assert start.create is not None
    first_events(start.bound, start.principal, start.request, start.row)
    queued = Create(replace(start.row, status="queued"), start.create.request)
    append = Append(run=start.row.id, create=queued, changes=start.request.blobs(), status="queued", release=True)
    await state.ledger.commit(append)
    state.nudge()


async def _must_wait(state: State, row: RunRow) -> bool:
    """Whether another run holds the conversation or waits for it."""
    assert row.conversation is not None
    conversation = await state.ledger.conversation(row.conversation, tenant=row.tenant)
    if conversation is None:
        return False
    if (conversation.subject, conversation.agent) != (row.subject, row.agent):
        raise _foreign(row)
    if conversation.holder is not None:
        return True
    return bool(await state.ledger.runs(tenant=row.tenant, conversation=row.conversation, status=("queued",), limit=1))


def _foreign(row: RunRow) -> Denied:
    message = f"conversation {row.conversation!r} belongs to another principal or agent; choose another id"
    return Denied(message, code="conversation.foreign")


async def _started_of(state: State, run: RunId) -> RunStarted | None:
    first = await state.ledger.read(run, limit=1)
    return first[0].event if first and isinstance(first[0].event, RunStarted) else None


def _check_price(bound: Bound) -> None:
    agent = bound.agent
    limits = [budget for budget in (agent.budget, agent.conversation_budget) if budget is not None]
    if all(budget.usd is None for budget in limits):
        return
    for model in bound.models:
        if price_bound(model.identity, 1, 1) is None:
            raise InputError(
                f"agent {agent.name!r} has a usd budget, and the price of {model.identity!r} is not known; "
                "limit tokens instead, or take a model with a known price",
                code="budget.price_unknown",
            )
