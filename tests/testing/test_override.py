"""Overriding what an application passes to Remit, without touching the application."""

from __future__ import annotations

import asyncio

from behaviour.shop import ALICE, Shop, lookup_order, refund_tool
from remit import Agent, Finished, MemoryLedger, Remit, ScriptedModel, Succeeded, call
from remit.gate.attempt import Handlers
from remit.gate.desk import Desk
from remit.gate.runner import Ran
from remit.gate.scene import Plan, Scene
from remit.testing import override

AGENT = Agent("support", model="anthropic:claude-sonnet-5-5", tools=[lookup_order, refund_tool()])


async def application() -> object:
    """As somebody wrote it, knowing nothing of tests."""
    async with Remit(ledger="/nowhere/remit.db", agents=[AGENT], deps="the real shop") as remit:
        return await remit.run("support", "refund ch_1", principal=ALICE)


def test_model_deps_and_ledger_are_replaced_inside_the_block() -> None:
    shop, ledger = Shop(), MemoryLedger()
    model = ScriptedModel([call("issue_refund", charge_id="ch_1", amount_cents=4_900), "Refunded."])
    with override(model=model, deps=shop), override(ledger=ledger):
        run = asyncio.run(application())
    assert isinstance(run, Finished)
    assert shop.refunds == [("ch_1", 4_900)]


class Empty(Handlers):
    """Reads find nothing."""

    async def read(self, desk: Desk, plan: Plan, scene: Scene) -> Ran:
        return Ran(Succeeded(value="nothing"))


def test_a_runner_does_what_calls_ask_for_in_the_place_of_the_handlers() -> None:
    model = ScriptedModel([call("lookup_order", order_id="A-1"), "Nothing."])
    with override(model=model, ledger=MemoryLedger(), runner=Empty()):
        run = asyncio.run(application())
    assert isinstance(run, Finished)
    assert b"nothing" in model.requests[1]
