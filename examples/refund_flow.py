"""A refund whose path is known: propose, verify, approve, execute, check the final state.

Runs offline with a scripted model: `python examples/refund_flow.py`. The model only proposes an amount. The function reads
the books itself, a person approves one sentence, the refund is made once, and what the books say at the end decides.
Should they not say what they must, the refund is taken back.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

from remit import (
    DID_NOT,
    READ,
    TRUSTED,
    Agent,
    Arguments,
    Budget,
    Context,
    Escalated,
    Finished,
    Flow,
    Happened,
    MemoryLedger,
    NoEffect,
    Paused,
    Principal,
    Remit,
    ScriptedModel,
    never,
    reconcile,
    tool,
    undo,
    workflow,
    write,
)


@dataclass
class PaymentService:
    """The outside service: charges by order, and what was paid back."""

    charges: dict[str, list[int]] = field(default_factory=lambda: {"A-12345": [2_500, 2_500]})
    refunds: dict[str, int] = field(default_factory=dict)
    loses_refunds: bool = False


@dataclass
class Proposal:
    """What the model proposes."""

    amount_cents: int
    reason: str


@tool(effect=READ, label=TRUSTED)
async def list_charges(order_id: str, ctx: Context[PaymentService]) -> list[int]:
    """List what an order was charged, in cents.

    Args:
        order_id: for example A-12345
    """
    if order_id not in ctx.deps.charges:
        raise NoEffect("there is no such order")
    return ctx.deps.charges[order_id]


async def find_refund(arguments: Arguments, ctx: Context[PaymentService]) -> object:
    """Ask the service whether a refund happened whose outcome is in doubt."""
    refunded = ctx.deps.refunds.get(str(arguments["order_id"]))
    return DID_NOT if refunded is None else Happened({"refunded": refunded})


@tool(
    effect=write(once_per="order_id", recovery=reconcile(find_refund)), scopes={"billing:refund"}, approve=never, label=TRUSTED
)
async def issue_refund(order_id: str, amount_cents: int, ctx: Context[PaymentService]) -> dict[str, int]:
    """Pay an amount back.

    Args:
        order_id: for example A-12345
        amount_cents: how much
    """
    ctx.deps.refunds[order_id] = 0 if ctx.deps.loses_refunds else amount_cents
    return {"refunded": amount_cents}


async def find_reopened(arguments: Arguments, ctx: Context[PaymentService]) -> object:
    """Ask the service whether a refund was taken back."""
    return Happened("taken back") if arguments["order_id"] not in ctx.deps.refunds else DID_NOT


@tool(effect=write(once_per="order_id", recovery=reconcile(find_reopened)), approve=never, label=TRUSTED)
async def take_back(order_id: str, ctx: Context[PaymentService]) -> str:
    """Take a refund back.

    Args:
        order_id: for example A-12345
    """
    ctx.deps.refunds.pop(order_id, None)
    return "taken back"


assistant = Agent(
    "assistant",
    model=ScriptedModel(lambda _: '{"amount_cents": 2500, "reason": "the same amount was charged twice"}'),
    instructions="Read the customer's complaint and propose what to refund, in cents.",
    answer=Proposal,
)


@workflow(tools=[list_charges, issue_refund, take_back], agents=[assistant], budget=Budget(calls=10, seconds=60))
async def refund(flow: Flow[PaymentService], order_id: str, complaint: str) -> dict[str, object]:
    """Refund a duplicate charge."""
    charges = await flow.call(list_charges, order_id=order_id)
    task = f"Order {order_id} was charged {charges} cents. Complaint: {complaint}"
    proposal = await flow.ask(assistant, task, step="propose")
    amount = proposal["amount_cents"]
    await flow.check("duplicate", lambda ctx: charges.count(amount) > 1 or f"{amount} cents were not charged twice")
    await flow.approve(f"Refund {amount} cents of order {order_id}?", scope="billing:approve", step="approve")
    await flow.call(issue_refund, order_id=order_id, amount_cents=amount, undo=undo(take_back, order_id=order_id))
    await flow.check("booked", lambda ctx: ctx.deps.refunds.get(order_id) == amount or "the books do not show the refund")
    return {"refunded": amount, "reason": proposal["reason"]}


async def main(service: PaymentService) -> Finished | Escalated:
    """Run it once, with a person who says yes, and print how it went from the run's own journal."""
    alice, bob = Principal("alice", scopes={"billing:refund"}), Principal("bob", scopes={"billing:approve"})
    given = {"order_id": "A-12345", "complaint": "I paid twice."}
    async with Remit(ledger=MemoryLedger(), workflows=[refund], deps=service) as remit:
        run = await remit.run(refund, given, principal=alice, request_id="ticket-1")
        assert isinstance(run, Paused)
        print(f"bob is asked: {run.approvals[0].preview}")
        await remit.decide(run.approvals[0], True, by=bob, reason="the statement shows it twice")
        ended = await remit.run(refund, given, principal=alice, request_id="ticket-1")
        for recorded in await remit.events(ended.id):
            event = recorded.event
            if event.kind == "call.ended":
                print(f"{event.call:<22}{event.outcome.kind}")
    assert isinstance(ended, (Finished, Escalated))
    print(ended.answer if isinstance(ended, Finished) else ended.explanation)
    return ended


if __name__ == "__main__":
    asyncio.run(main(PaymentService()))
