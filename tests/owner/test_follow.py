"""Following a run's committed events, from any process."""

from __future__ import annotations

import asyncio

import pytest

from behaviour.shop import ALICE, APPROVED_ABOVE_50, BOB, Shop, play, refund_tool, support, until
from remit import Finished, MemoryLedger, NotFound, Paused, Remit, ScriptedModel, call
from remit.types.event import Recorded, RunEnded, Waiting

BIG = call("issue_refund", charge_id="ch_1", amount_cents=9_900)


def test_every_event_comes_once_in_order_and_then_it_ends() -> None:
    async def story() -> None:
        async with Remit(ledger=MemoryLedger(), agents=[support(ScriptedModel(["Hello."]))]) as remit:
            run = await remit.submit("support", "hi", principal=ALICE)
            seen = [one async for one in remit.follow(run.id, principal=ALICE)]
            assert seen == await remit.events(run.id)
            assert [one.sequence for one in seen] == list(range(1, len(seen) + 1))
            assert isinstance(seen[-1].event, RunEnded)
            later = [one async for one in remit.follow(run.id, after=2)]
            assert later == seen[2:]
            assert [one async for one in remit.follow(run.id, after=10_000)] == []

    play(story)


def test_it_waits_while_people_are_waited_for_and_is_seen_in_another_process() -> None:
    async def story() -> None:
        store = MemoryLedger()
        agent = support(ScriptedModel([BIG, "Refunded."]), refund_tool(approve=APPROVED_ABOVE_50))
        async with (
            Remit(ledger=store, agents=[agent], deps=Shop()) as remit,
            Remit(ledger=MemoryLedger(store=store)) as reader,
        ):
            run = await remit.run("support", "refund", principal=ALICE)
            assert isinstance(run, Paused)
            seen: list[Recorded] = []

            async def watch() -> None:
                async for one in reader.follow(run.id, principal=ALICE):
                    seen.append(one)

            watching = asyncio.ensure_future(watch())
            await until(lambda: bool(seen) and isinstance(seen[-1].event, Waiting))
            assert not watching.done()
            await reader.decide(run.approvals[0].id, allow=True, by=BOB)
            await watching
            assert seen == await remit.events(run.id)
            assert isinstance(await remit.run_to_end(run.id), Finished)

    play(story)


def test_who_may_not_see_it_finds_nothing() -> None:
    async def story() -> None:
        async with Remit(ledger=MemoryLedger(), agents=[support(ScriptedModel(["Hello."]))]) as remit:
            run = await remit.run("support", "hi", principal=ALICE)
            for name, principal in ((run.id, BOB), ("run_nowhere", ALICE)):
                with pytest.raises(NotFound):
                    [one async for one in remit.follow(name, principal=principal)]

    play(story)
