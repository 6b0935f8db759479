"""What others tell the run: decisions and cancels are the loop's, all else is the gate's.

Knows deliveries. Invariant: a delivery is journaled once, with its id, by the owner only; one that
no longer concerns anything is taken all the same.
"""

from __future__ import annotations

from remit.errors import Conflict
from remit.loop.live import Live
from remit.tool import Arguments
from remit.types.change import VoidApproval
from remit.types.delivery import CancelRun, ChildEnded, Decision, Delivered
from remit.types.event import ApprovalDecided, CancelRequested, ChildReturned
from remit.types.ident import ApprovalId, CallId, RunId

__all__ = ["expire", "returned", "settle_later", "take", "take_held"]


async def take(live: Live) -> None:
    """Journal what has come since the last time, if the run is still this process's."""
    async with live.inbox:
        if live.state.ended is None and not live.state.paused:
            await take_held(live)


async def take_held(live: Live) -> None:
    """As `take`, for whoever holds the inbox already."""
    came = False
    for delivered in await live.ledger.inbox(live.run):
        if delivered.id > live.seen:
            live.seen = delivered.id
            came = True
            await _take_one(live, delivered)
    if came:
        live.scene.woken.ring()


async def _take_one(live: Live, delivered: Delivered) -> None:
    delivery = delivered.delivery
    match delivery:
        case Decision():
            await live.journal.idle()  # the request may be durable, and so decided, before it is folded here
            if _closing(live, delivery):
                return  # what closes it records what the row says; should that be lost, the decision is still here
            decided = _decided(live, delivery)
            live.journal.note(*(() if decided is None else (decided,)), taken=(delivered.id,))
        case CancelRun():
            fresh = live.state.cancelled is None and live.state.ended is None
            event = CancelRequested(by=delivery.by, reason=live.gate.redact(delivery.reason))
            await live.journal.commit(*((event,) if fresh else ()), taken=(delivered.id,))
        case ChildEnded(call=call, child=child):
            await live.journal.idle()  # its call waits as soon as that is folded
            live.journal.note(*returned(live, call, child), taken=(delivered.id,))
        case _:
            await live.gate.deliver(delivered, live.scene)


def returned(live: Live, name: CallId, child: RunId) -> tuple[ChildReturned, ...]:
    """The event that a child has ended, if its call still waits for it."""
    call = live.state.call(name)
    waits = call is not None and call.status == "awaiting" and call.child == child
    return (ChildReturned(call=name, child=child),) if waits else ()


def _closing(live: Live, decision: Decision) -> bool:
    """Whether the call is being closed without its decision, and has no answer yet."""
    return any(call.approval == decision.approval and call.status == "denying" for call in live.state.unanswered)


def _decided(live: Live, decision: Decision) -> ApprovalDecided | None:
    """The decision as an event, if a call still waits for it."""
    for call in live.state.unanswered:
        if call.approval == decision.approval and call.status == "awaiting":
            return ApprovalDecided(
                approval=decision.approval,
                call=call.id,
                verdict=decision.verdict,
                by=decision.by,
                reason=live.gate.redact(decision.reason),
                edited=None if decision.edited is None else Arguments(decision.edited).digest,
                answer=decision.answer,
                trusted=decision.by == live.started.subject,
            )
    return None


async def expire(live: Live) -> bool:
    """Take up that time has decided; whether it has. What a person said in time stands, and is in the inbox."""
    now = live.journal.now_ms()
    waiting = [one for one in live.state.unanswered if one.status == "awaiting" and one.child is None]
    over = [one for one in waiting if (one.expires_ms or now + 1) <= now]
    return any([await _expired(live, call.id, call.approval or ApprovalId("")) for call in over])


async def _expired(live: Live, call: CallId, approval: ApprovalId) -> bool:
    event = ApprovalDecided(approval=approval, call=call, verdict="expired", by="time")
    try:
        await live.journal.commit(event, changes=(VoidApproval(approval, "expired", was="pending"),))
    except Conflict as conflict:
        if conflict.code != "approval.moved":
            raise
        return False
    return True


async def settle_later(live: Live) -> None:
    """An ended run still takes settlements: claim it, journal its inbox, let go. Its end stays."""
    await live.journal.commit(claim=True)
    async with live.inbox:
        await take_held(live)
    await live.journal.commit(release=True)
