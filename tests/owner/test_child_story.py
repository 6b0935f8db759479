"""Trees of runs that a seed makes, with people who decide anyhow, cancels, and processes that die at any commit."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest

from behaviour.family import ALICE, BOB, CAREFUL, by_turn, events_of
from behaviour.shop import Shop, lookup_order, play
from owner.dying import Dying, check, lived
from remit import Agent, Budget, MemoryLedger, Paused, Remit, ScriptedModel, Tool, call
from remit.model.scripted import ScriptedCall
from remit.types.event import ApprovalRequested, CallConsidered, ModelRequested

BUDGETS = (Budget(), Budget(calls=6), Budget(approvals=3), Budget(turns=6))
CHILD_BUDGETS = (Budget(), Budget(turns=2), Budget(calls=2), Budget(approvals=1))


def refund(source: random.Random) -> ScriptedCall:
    return call("issue_refund", charge_id=f"ch_{source.randrange(4)}", amount_cents=source.choice([4_900, 9_900]))


def agent_of(source: random.Random, name: str, below: Agent | None, *, budget: Budget, on_wait: str = "hold") -> Agent:
    """An agent that refunds, looks, and hands tasks to the one below it, in whatever order."""
    turns: list[Sequence[ScriptedCall]] = []
    for _ in range(source.randrange(1, 3)):
        calls = [refund(source) for _ in range(source.randrange(1, 3))]
        calls += [call("lookup_order", order_id="A-1")] * source.randrange(2)
        if below is not None:
            calls += [call(below.name, task=f"task {number}") for number in range(source.randrange(1, 4))]
        source.shuffle(calls)
        turns.append(calls)
    tools: list[Tool] = [lookup_order, CAREFUL, *([] if below is None else [below.as_tool(description="Helps.")])]
    model = ScriptedModel(by_turn(*turns, "Done."))  # type: ignore[arg-type]
    return Agent(name, model=model, tools=tools, budget=budget, on_wait=on_wait)  # type: ignore[arg-type]


async def live(agent: Agent, ledger: Dying, shop: Shop, source: random.Random, *, cancels: bool) -> bool:
    remit = Remit(ledger=ledger, agents=[agent], deps=shop, drain_s=0)

    async def work() -> None:
        async with remit:
            run = await remit.run("support", "help", principal=ALICE, request_id="r1")
            while isinstance(run, Paused):
                assert run.approvals, "it waits for nobody"
                if cancels and source.random() < 0.3:
                    await remit.cancel(run.id, by="bob")
                else:
                    for one in source.sample(run.approvals, source.randrange(1, len(run.approvals) + 1)):
                        await remit.decide(one, source.random() < 0.8, by=BOB, reason="seen")
                run = await remit.run_to_end(run.id)

    return await lived(remit, ledger, work())


async def tell(seed: int) -> None:
    source = random.Random(seed)
    deep = agent_of(source, "billing", None, budget=source.choice(CHILD_BUDGETS)) if source.random() < 0.4 else None
    desk = agent_of(source, "desk", deep, budget=source.choice(CHILD_BUDGETS))
    budget, on_wait = source.choice(BUDGETS), source.choice(["hold", "hold", "answer"])
    agent = agent_of(source, "support", desk, budget=budget, on_wait=on_wait)
    shop, cancels, first = Shop(), source.random() < 0.3, MemoryLedger()
    await first.open()
    for _ in range(6):
        at = source.choice([-1, *(source.randrange(1, 40) for _ in range(3))])
        dying = Dying(at=at, after=source.random() < 0.5, store=first)
        if await live(agent, dying, shop, source, cancels=cancels):
            break
    else:
        assert await live(agent, Dying(store=first), shop, source, cancels=cancels)
    await check(MemoryLedger(store=first), agent, shop)
    await check_budget(MemoryLedger(store=first), budget)


async def check_budget(ledger: MemoryLedger, budget: Budget) -> None:
    """Nothing of the whole tree was more than the run at the top may take."""
    async with Remit(ledger=ledger) as remit:
        events = [(row.id, one) for row in await remit.runs(limit=None) for one in await events_of(remit, row.id)]
    calls = {(of, one.call) for of, one in events if isinstance(one, CallConsidered) and one.step not in ("budget", "stop")}
    turns = {(of, one.turn) for of, one in events if isinstance(one, ModelRequested)}
    asked = [one for _, one in events if isinstance(one, ApprovalRequested)]
    assert len(calls) <= (budget.calls or len(calls))
    assert len(turns) <= (budget.turns or len(turns))
    assert len(asked) <= (budget.approvals or len(asked))


@pytest.mark.parametrize("seed", range(60))
def test_whatever_a_seed_tells_of_agents_below_agents_the_law_holds(seed: int) -> None:
    play(lambda: tell(seed))
