"""A model request that may itself change something, because the provider runs tools in it: a dispatched write.

Knows the table of effects, no provider. Invariant: such a request has an operation of its own, opened in the commit before
it is sent; unless it is known that nothing was done, it is not made again: only a person says what became of it.
"""

from __future__ import annotations

from dataclasses import replace

from remit import ambient
from remit.canonical import digest, encode
from remit.gate.code import unknown
from remit.gate.note import moved
from remit.loop.choice import IN_DOUBT
from remit.loop.live import Live
from remit.loop.state import Ending, RunState
from remit.types.change import Change, Notify, OpenOperation
from remit.types.event import Event, ModelRequested, OperationMoved, Replied, RequestFailed
from remit.types.ident import OperationId, call_of_request, is_of_request
from remit.types.operation import Move, Operation
from remit.types.outcome import Failed, Outcome, Succeeded

__all__ = ["LONGEST_S", "Entry", "begun", "doubted", "ended", "is_under_way", "lost", "named"]

LONGEST_S = 600.0
"""How long such a request may take; longer after it was sent it is taken to do nothing more."""

_UNKNOWN = Ending(
    "escalated",
    "operation.unknown",
    "It is not known what the provider-run tools of an earlier request have done, and the next request could do it again: "
    "settle operation {operation}.",
)
_MESSAGE = "it is not known what the tools that the provider runs have done; a person settles it"
_NOT_DONE = "The provider did not take the request; nothing was done."

Entry = tuple[tuple[Event, ...], tuple[Change, ...]]
"""Events, and the changes that are committed with them."""


def named(live: Live) -> OperationId | None:
    """The id of the next request's operation; None where requests change nothing."""
    return OperationId(ambient.new_id("op")) if live.started.server_writes else None


def is_under_way(state: RunState) -> bool:
    """Whether a request that may change something has no end yet; it is not interrupted."""
    return state.requested and state.operation is not None


async def doubted(live: Live) -> Ending | None:
    """How the run ends instead of such a request, while it is not known what an earlier one of its conversation has done."""
    started, conversation = live.started, live.scene.conversation
    if not started.server_writes:
        return None
    run = live.run if conversation is None else None
    rows = await live.ledger.operations(
        run=run, conversation=conversation, tenant=started.tenant, state=("unknown",), limit=None
    )
    found = next((row.id for row in rows if is_of_request(row.call)), None)
    return None if found is None else replace(_UNKNOWN, explanation=(_UNKNOWN.explanation or "").format(operation=found))


def begun(live: Live, request: ModelRequested) -> Entry:
    """What opens the operation of a request."""
    if request.operation is None:
        return (), ()
    row = _row(live, request, request.operation)
    event = OperationMoved(
        operation=row.id,
        call=row.call,
        on="allowed",
        state="dispatched",
        attempt=row.attempt,
        key=row.key,
        arguments_digest=row.arguments_digest,
        owner=row.owner,
        not_after_ms=row.not_after_ms,
    )
    return (event,), (OpenOperation(row),)


async def ended(live: Live, event: Replied | RequestFailed, *, declined: bool) -> tuple[Replied | RequestFailed, Entry]:
    """What the end of the request means for its operation, and the end as it is to be recorded.

    Args:
        declined: it failed, and it is known that the provider did nothing with it.
    """
    row = await _under_way(live)
    if row is None or row.state != "dispatched":
        return event, ((), ())
    if isinstance(event, Replied):
        said = Succeeded(value={"response": event.response_id}, operation=row.id)
        return event, _moved(row, "returned", said)
    if declined:
        return event, _moved(row, "no_effect", Failed(code=event.code, message=_NOT_DONE, operation=row.id))
    doubt = replace(event, code=IN_DOUBT, message=f"{event.message}: {_MESSAGE}", retryable=False, retry_after_s=None)
    return doubt, _in_doubt(row, by="handler", evidence=event.code)


async def lost(live: Live) -> Entry:
    """What a request left behind that was under way when its process died: it is in doubt, and not made again.

    Unless a person has said meanwhile that nothing was done.
    """
    row = await _under_way(live)
    if row is None or row.state == "failed":
        return (), ()
    state = live.state
    failed = RequestFailed(turn=state.turn, attempt=state.attempt, code=IN_DOUBT, message=_MESSAGE, retryable=False)
    if row.state != "dispatched":
        return (failed,), ()
    events, changes = _in_doubt(row, by="owner_gone", evidence="its owner is gone")
    return (*events, failed), changes


async def _under_way(live: Live) -> Operation | None:
    """The operation of the request that has no end yet."""
    state = live.state
    return await live.ledger.operation(state.operation) if state.requested and state.operation is not None else None


def _in_doubt(row: Operation, *, by: str, evidence: str) -> Entry:
    """Nobody knows what was done; the conversation's next request says so."""
    events, changes = _moved(row, "in_doubt", by=by, evidence=evidence)
    if row.conversation is None:
        return events, changes
    notify = Notify(
        conversation=row.conversation,
        run=row.run,
        call=row.call,
        tool=row.tool,
        operation=row.id,
        outcome=unknown("unknown", operation=row.id),
    )
    return events, (*changes, notify)


def _moved(
    row: Operation, on: Move, outcome: Outcome | None = None, *, by: str = "handler", evidence: str | None = None
) -> Entry:
    step = moved(row, on, outcome=outcome, by=by, evidence=evidence)
    return (step.event,), (step.change,)


def _row(live: Live, request: ModelRequested, operation: OperationId) -> Operation:
    started, now_ms = live.started, live.journal.now_ms()
    arguments = encode({"turn": request.turn, "attempt": request.attempt, "model": request.model})
    call = call_of_request(request.turn, request.attempt)
    return Operation(
        id=operation,
        tenant=started.tenant,
        subject=started.subject,
        run=live.run,
        root=started.root,
        call=call,
        conversation=live.scene.conversation,
        tool=f"provider:{'+'.join(started.server_writes)}",
        contract=digest("remit.server_write", "\n".join(started.server_writes)),
        once_per="call",
        key=digest("remit.server_write.key", f"{live.run}\n{call}"),
        recovery="manual",
        atomic=False,
        window_s=None,
        attempts=1,
        settle_s=0.0,
        timeout_s=LONGEST_S,
        arguments=arguments,
        arguments_digest=digest("remit.arguments", arguments),
        state="dispatched",
        attempt=1,
        owner=live.ledger.owner,
        first_dispatched_ms=now_ms,
        not_after_ms=now_ms + round(LONGEST_S * 1000),
        created_ms=now_ms,
        updated_ms=now_ms,
    )
