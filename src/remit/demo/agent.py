"""The same capabilities as tools of an agent, and a process that runs it.

`python -m remit.demo.agent MODEL BILLING LEDGER REQUEST_ID` answers the demo's request once and leaves.
Killed and started again with the same arguments it goes on where the ledger says it stands.
"""

from __future__ import annotations

import asyncio
import sys

from remit import (
    CANNOT_TELL,
    DID_NOT,
    READ,
    TRUSTED,
    Agent,
    Allow,
    Arguments,
    Context,
    Happened,
    Principal,
    Remit,
    Request,
    reconcile,
    tool,
    write,
)
from remit.demo.model import REQUEST
from remit.demo.shop import TIMEOUT_S, Order, Proposal, Refund, Shop
from remit.model import OpenAIChat
from remit.tool import Told
from remit.types.model import Model
from remit.types.run import Standing

__all__ = ["ALICE", "support"]

ALICE = Principal("alice", scopes=frozenset({"orders:read", "billing:refund"}))


@tool(effect=READ, scopes={"orders:read"}, label=TRUSTED)
def lookup_order(order_id: str, ctx: Context[Shop]) -> Order:
    """Read one order with its charges.

    Args:
        order_id: public id, for example A-12345
    """
    return ctx.deps.lookup_order(order_id)


@tool(effect=READ, scopes={"orders:read"}, label=TRUSTED)
def propose_refund(order_id: str, ctx: Context[Shop]) -> Proposal:
    """Compute which charge of an order is a duplicate. Changes nothing.

    Args:
        order_id: public id, for example A-12345
    """
    return ctx.deps.propose_refund(order_id)


def find_refund(arguments: Arguments, ctx: Context[Shop]) -> Told:
    """Ask the service's books whether this very operation refunded the charge."""
    try:
        booked = ctx.deps.refunds(str(arguments["charge_id"]))
    except OSError:
        return CANNOT_TELL
    own = [refund for refund in booked if refund["reference"] == ctx.operation_id]
    return Happened(own[0]) if own else DID_NOT


@tool(
    effect=write(once_per="charge_id", recovery=reconcile(find_refund)),
    scopes={"billing:refund"},
    timeout_s=2 * TIMEOUT_S,
    label=TRUSTED,
)
def issue_refund(charge_id: str, amount_cents: int, ctx: Context[Shop]) -> Refund:
    """Refund one charge.

    Args:
        charge_id: the charge, as propose_refund names it
        amount_cents: what to give back, in cents
    """
    return ctx.deps.issue_refund(charge_id, amount_cents, reference=ctx.operation_id)


def small_refunds(request: Request) -> Allow | None:
    """Refunds up to 50 dollars need nobody's approval."""
    amount = request.arguments.get("amount_cents")
    if request.tool == "issue_refund" and isinstance(amount, int) and amount <= 5_000:
        return Allow("small refund")
    return None


def support(model: Model) -> Agent:
    """The billing assistant, with whichever model."""
    return Agent(
        "support",
        model=model,
        instructions="You are a billing assistant. Refund what was charged twice, and nothing else.",
        tools=[lookup_order, propose_refund, issue_refund],
        policy=[small_refunds],
    )


async def answer(model: str, billing: str, ledger: str, request_id: str) -> Standing:
    """Answer the demo's request through Remit."""
    agent = support(OpenAIChat("scripted", base_url=model, api_key="none"))
    async with Remit(ledger=ledger, agents=[agent], deps=Shop(billing)) as remit:
        return await remit.run("support", REQUEST, principal=ALICE, request_id=request_id)


if __name__ == "__main__":
    print(asyncio.run(answer(*sys.argv[1:5])))  # noqa: T201
