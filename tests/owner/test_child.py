"""Runs that answer calls of other runs: one for each call, through deaths at any point, and whoever takes them up."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from behaviour.family import (
    ALICE,
    ASK,
    BIG,
    BOB,
    CAREFUL,
    SMALL,
    all_approved,
    billing,
    by_turn,
    events_of,
    family,
)
from behaviour.shop import Shop, play, refund_tool, send_mail, until
from owner.dying import Dying, check, lived
from remit import (
    Agent,
    Approval,
    Awaiting,
    Budget,
    Cancelled,
    DefinitionError,
    Finished,
    InputError,
    LedgerError,
    MemoryLedger,
    Paused,
    Recorded,
    Remit,
    RunOwned,
    ScriptedModel,
    Succeeded,
    call,
)
from remit.types.event import ChildStarted
from remit.types.ledger import Append, Committed

OTHER = call("billing", task="Refund charge ch_2 as well.")


async def live(agent: Agent, ledger: Dying, shop: Shop, *, cancels: bool) -> bool:
    """Ask, and decide what waits, until the run has ended or the process is dead; whether it has ended."""
    remit = Remit(ledger=ledger, agents=[agent], deps=shop, drain_s=0)

    async def work() -> None:
        async with remit:
            run = await remit.run("support", "refund", principal=ALICE, request_id="r1")
            if cancels and isinstance(run, Paused):
                await remit.cancel(run.id, by="bob")
                run = await remit.run_to_end(run.id)
            await all_approved(remit, run)

    return await lived(remit, ledger, work())


STORIES = {
    "plain": (family(billing(SMALL, "Refunded.")), [("ch_1", 4_900)]),
    "two at once": (
        family(
            billing(call("issue_refund", charge_id="ch_1", amount_cents=4_900), "Refunded."),
            [ASK, OTHER, call("send_mail", to="bob", text="x")],
            "Done.",
            tools=[send_mail],
        ),
        [("ch_1", 4_900)],
    ),
    "approved": (family(billing(BIG, "Refunded.", tools=[CAREFUL])), [("ch_1", 9_900)]),
    "under a bound": (
        family(billing(BIG, "Refunded.", tools=[CAREFUL]), budget=Budget(calls=2, turns=4, approvals=1)),
        [("ch_1", 9_900)],
    ),
    "with receipts": (
        family(billing(BIG, "Refunded.", tools=[CAREFUL]), ASK, "It is with a colleague.", on_wait="answer"),
        [("ch_1", 9_900)],
    ),
    "deep": (
        family(
            Agent(
                "desk",
                model=ScriptedModel(by_turn(ASK, "The desk has refunded it.")),  # type: ignore[arg-type]
                tools=[billing(BIG, "Refunded.", tools=[CAREFUL]).as_tool(description="Refunds.")],
            ),
            call("desk", task="See to it."),
            "Done.",
        ),
        [("ch_1", 9_900)],
    ),
}


@pytest.mark.parametrize("cancels", [False, True], ids=["finished", "cancelled"])
@pytest.mark.parametrize("again", [False, True], ids=["once", "twice"])
@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("story", STORIES)
def test_killed_at_any_commit_each_call_has_one_child_and_each_effect_happens_once(
    story: str, after: bool, again: bool, cancels: bool
) -> None:
    agent, refunds = STORIES[story]

    async def killed(at: int) -> bool:
        shop = Shop()
        first = Dying(at=at, after=after)
        if await live(agent, first, shop, cancels=cancels):
            return False
        second = Dying(at=1 + at % 3 if again else -1, after=after, store=first)
        if not await live(agent, second, shop, cancels=cancels):
            assert await live(agent, Dying(store=first), shop, cancels=cancels)
        await check(MemoryLedger(store=first), agent, shop)
        assert again or cancels or shop.refunds == refunds
        return True

    at = 1
    while play(partial(killed, at)):
        at += 1
    assert at > 8


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
def test_a_host_that_makes_its_call_again_after_a_death_at_any_commit_gets_the_answer_of_the_same_child(after: bool) -> None:
    agent = family(billing(BIG, "Refunded.", tools=[CAREFUL]), budget=Budget(calls=2, approvals=1))

    async def host(ledger: Dying, shop: Shop) -> bool:
        remit = Remit(ledger=ledger, agents=[agent], deps=shop, drain_s=0)

        async def work() -> None:
            async with remit:
                gate = remit.gate("support")
                while True:
                    told = await gate.call("billing", {"task": "Refund ch_1."}, principal=ALICE, run="host", call="a")
                    if not isinstance(told, Awaiting):
                        break
                    await remit.decide(told.approval, allow=True, by=BOB)
                assert isinstance(told, Succeeded)
                assert told.value == "Refunded."
                await gate.close("host")

        return await lived(remit, ledger, work())

    async def killed(at: int) -> bool:
        shop = Shop()
        first = Dying(at=at, after=after)
        if await host(first, shop):
            return False
        assert await host(Dying(store=first), shop) or at == 0
        async with Remit(ledger=MemoryLedger(store=first)) as remit:
            assert await remit.verify() == []
            assert [(row.status, row.parent) for row in await remit.runs()] == [("ended", "host"), ("ended", None)]
        assert shop.refunds == [("ch_1", 9_900)]
        return True

    at = 1
    while play(partial(killed, at)):
        at += 1
    assert at > 8


def test_the_next_owner_of_the_file_takes_up_the_child_and_its_parent(tmp_path: Path) -> None:
    shop = Shop(hang=True)
    agent = family(billing(SMALL, "Refunded.", tools=[refund_tool(timeout_s=30)]))

    async def story() -> None:
        path = tmp_path / "r.db"
        async with Remit(ledger=path, agents=[agent], deps=shop) as first:
            run = await first.submit("support", "refund", principal=ALICE)
            await until(lambda: bool(shop.refunds))
            await first.abandon()
        shop.hang = False
        async with Remit(ledger=path, agents=[agent], deps=shop) as second:
            assert isinstance(await second.run_to_end(run.id), Finished)
            assert len(await second.runs()) == 2
            assert await second.verify() == []

    play(story, seeded=False)
    assert shop.refunds == [("ch_1", 4_900)]


def test_two_owners_that_take_up_the_parent_and_the_child_at_once_share_the_one_child(tmp_path: Path) -> None:
    shop = Shop()
    agent = family(billing(BIG, "Refunded.", tools=[CAREFUL]))

    async def story() -> None:
        path = tmp_path / "r.db"
        async with Remit(ledger=path, agents=[agent], deps=shop) as first:
            run = await first.run("support", "refund", principal=ALICE)
            assert isinstance(run, Paused)
        async with (
            Remit(ledger=path, agents=[agent], deps=shop) as one,
            Remit(ledger=path, agents=[agent], deps=shop) as other,
        ):
            await one.decide(run.approvals[0], allow=True, by=BOB)
            ends = await asyncio.gather(one.run_to_end(run.id), other.run_to_end(run.id))
            assert all(isinstance(end, Finished) for end in ends)
            assert len(await one.runs()) == 2
            assert await one.verify() == []

    play(story, seeded=False)
    assert shop.refunds == [("ch_1", 9_900)]


def test_an_agent_is_listed_by_the_one_that_has_it_as_a_tool() -> None:
    async def story() -> None:
        child = billing(SMALL, "Refunded.")
        agent = family(child)
        async with Remit(ledger=MemoryLedger(), agents=[agent, child], deps=Shop()) as remit:
            assert isinstance(await remit.run(child, "refund", principal=ALICE), Finished)
            assert isinstance(await remit.run(agent, "refund", principal=ALICE), Finished)
        with pytest.raises(DefinitionError) as error:
            Remit(ledger=MemoryLedger(), agents=[agent, billing("Hello.")])
        assert error.value.code == "owner.agents"

    play(story)


def test_a_run_that_drains_has_its_child_begin_and_end() -> None:
    shop = Shop()

    async def story() -> None:
        started, go_on = asyncio.Event(), asyncio.Event()

        async def slow(body: dict[str, object]) -> object:
            started.set()
            await go_on.wait()
            return by_turn(ASK, "Done.")(body)

        store = MemoryLedger()
        agent = replace(family(billing(SMALL, "Refunded.")), model=ScriptedModel(slow))  # type: ignore[arg-type]
        async with Remit(ledger=store, agents=[agent], deps=shop) as remit:
            run = await remit.submit("support", "refund", principal=ALICE)
            await started.wait()
            asyncio.get_running_loop().call_soon(go_on.set)
        async with Remit(ledger=MemoryLedger(store=store)) as reader:
            assert isinstance(await reader.standing(run.id), Finished)

    play(story, seeded=False)
    assert shop.refunds == [("ch_1", 4_900)]


def test_scopes_that_are_no_scopes_are_refused_when_the_tool_is_made() -> None:
    with pytest.raises(DefinitionError) as error:
        billing("Hello.").as_tool(description="Refunds.", scopes="billing:refund")
    assert error.value.code == "definition.scopes"
    with pytest.raises(DefinitionError):
        billing("Hello.").as_tool(description=" ")
    with pytest.raises(DefinitionError):
        billing("Hello.").as_tool(description="Refunds.", name="no spaces")


def test_a_child_whose_driving_broke_is_taken_up_again_and_so_is_its_parent() -> None:
    class Broken(MemoryLedger):
        broken = False

        async def commit(self, append: Append) -> Committed:
            if self.broken:
                self.broken = False
                raise LedgerError("the disk is full")
            return await super().commit(append)

    async def story() -> None:
        shop, store = Shop(), Broken()

        def breaks(body: dict[str, object]) -> object:
            replies = by_turn(SMALL, "Refunded.")
            store.broken = not shop.notes
            shop.notes.append("broken")
            return replies(body)

        child = Agent("billing", model=ScriptedModel(breaks), tools=[refund_tool()])  # type: ignore[arg-type]
        async with Remit(ledger=store, agents=[family(child)], deps=shop) as remit:
            run = await remit.submit("support", "refund", principal=ALICE)
            with pytest.raises(LedgerError):
                await remit.run_to_end(run.id)
            assert isinstance(await remit.run_to_end(run.id), Finished)
            assert len(await remit.runs()) == 2
            assert await remit.verify() == []
        assert shop.refunds == [("ch_1", 4_900)]

    play(story, seeded=False)


def test_whoever_streams_the_parent_hears_which_run_answers_and_ends_where_people_are_waited_for() -> None:
    async def story() -> None:
        agent = family(billing(BIG, "Refunded.", tools=[CAREFUL]))
        async with Remit(ledger=MemoryLedger(), agents=[agent], deps=Shop()) as remit:
            steps = [step async for step in remit.stream("support", "refund", principal=ALICE)]
            paused = steps[-1]
            assert isinstance(paused, Paused)
            (begun,) = [one.event for one in steps if isinstance(one, Recorded) and isinstance(one.event, ChildStarted)]
            assert [one.run for one in paused.approvals] == [begun.child]
            await all_approved(remit, paused)
            followed = [one.event.kind async for one in remit.follow(begun.child)]
            assert followed[-1] == "run.ended"
            assert [one.sequence async for one in remit.follow(paused.id)] == list(
                range(1, len(await remit.events(paused.id)) + 1)
            )

    play(story, seeded=False)


def test_a_child_that_is_decided_and_ends_before_its_parent_knows_that_it_waits_is_not_waited_for() -> None:
    class Slow(MemoryLedger):
        """Answers what a child waits for only when it has been decided, and the child has ended."""

        remit: Remit
        told = False

        async def approvals(self, **wanted: object) -> list[Approval]:  # type: ignore[override]
            rows = await super().approvals(**wanted)  # type: ignore[arg-type]
            run = await self.run(rows[0].run) if rows else None
            if wanted.get("limit", 1) is None and run is not None and run.status == "paused" and not self.told:
                self.told = True
                await self.remit.decide(rows[0], allow=True, by=BOB)
                assert isinstance(await self.remit.run_to_end(run.id), Finished)
                for _ in range(200):
                    await asyncio.sleep(0)  # the parent hears of the end, and does not wait for it yet
            return rows

    async def story() -> None:
        shop, ledger = Shop(), Slow()
        agent = family(billing(BIG, "Refunded.", tools=[CAREFUL]))
        async with Remit(ledger=ledger, agents=[agent], deps=shop) as remit:
            ledger.remit = remit
            run = await remit.run("support", "refund", principal=ALICE)
            assert ledger.told
            assert isinstance(run, Finished)
        assert shop.refunds == [("ch_1", 9_900)]

    play(story)


def test_what_keeps_a_child_from_being_taken_up_is_told_to_who_waits_for_the_run_at_the_top() -> None:
    async def story() -> None:
        store = MemoryLedger()
        child = billing(BIG, "Refunded.", tools=[CAREFUL])
        async with Remit(ledger=store, agents=[family(child)], deps=Shop()) as remit:
            run = await remit.run("support", "refund", principal=ALICE)
            assert isinstance(run, Paused)
        other = replace(child, model=ScriptedModel(["Refunded."], protocol="openai-chat"))
        async with Remit(ledger=MemoryLedger(store=store), agents=[family(other)], deps=Shop()) as remit:
            await remit.decide(run.approvals[0], allow=True, by=BOB)
            with pytest.raises(InputError) as error:
                await remit.run_to_end(run.id)
            assert error.value.code == "model.protocol"
            assert run.approvals[0].run in error.value.message
            await remit.cancel(run.id, by="bob")
            assert isinstance(await remit.run_to_end(run.id), Cancelled)
            assert {row.status for row in await remit.runs()} == {"ended"}

    play(story)


def test_a_host_that_asks_again_and_at_once_waits_for_what_was_decided_two_runs_below() -> None:
    shop = Shop()

    async def story() -> None:
        desk = Agent(
            "desk",
            model=ScriptedModel(by_turn(ASK, "The desk has refunded it.")),  # type: ignore[arg-type]
            tools=[billing(BIG, "Refunded.", tools=[CAREFUL]).as_tool(description="Refunds.")],
        )
        store = MemoryLedger()
        async with Remit(ledger=store, agents=[family(desk)], deps=shop) as remit:
            gate = remit.gate("support")

            async def ask() -> object:
                return await gate.call("desk", {"task": "See to it."}, principal=ALICE, run="host", call="a")

            waits, *others = await asyncio.gather(*(ask() for _ in range(3)))
            assert isinstance(waits, Awaiting)
            assert others == [waits, waits]
            assert [one.kind for one in await events_of(remit, "host")].count("child.waiting") == 1
            await remit.decide(waits.approval, allow=True, by=BOB)
            told = await asyncio.gather(*(ask() for _ in range(3)))
            assert [one.value for one in told if isinstance(one, Succeeded)] == ["The desk has refunded it."] * 3
            assert [one.kind for one in await events_of(remit, "host")].count("child.waiting") == 1
            await gate.close("host")
            assert await remit.verify() == []
        assert shop.refunds == [("ch_1", 9_900)]

    play(story, seeded=False)


def test_a_host_is_told_that_nobody_here_has_the_agent_that_goes_on_with_its_call() -> None:
    async def story() -> None:
        store = MemoryLedger()
        async with Remit(ledger=store, agents=[family(billing(BIG, "R.", tools=[CAREFUL]))], deps=Shop()) as remit:
            ask = {"principal": ALICE, "run": "host", "call": "a"}
            waits = await remit.gate("support").call("billing", {"task": "Refund ch_1."}, **ask)  # type: ignore[arg-type]
            assert isinstance(waits, Awaiting)
        renamed = replace(billing(BIG, "R.", tools=[CAREFUL]), name="payments")
        async with Remit(ledger=MemoryLedger(store=store), agents=[family(renamed, lent={"name": "billing"})]) as remit:
            await remit.decide(waits.approval, allow=True, by=BOB)
            said: set[int] = set()
            for _ in range(3):
                with pytest.raises(RunOwned) as error:
                    await remit.gate("support").call("billing", {"task": "Refund ch_1."}, **ask)  # type: ignore[arg-type]
                assert error.value.code == "call.child"
                said.add(len(await remit.events("host")))
            assert len(said) == 1

    play(story)
