"""After a process died: who takes a run up, as whom, and with what."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from behaviour.shop import ALICE, APPROVED_ABOVE_50, BOB, Shop, play, refund_tool, support, until
from remit import (
    Denied,
    Finished,
    InputError,
    LedgerError,
    MemoryLedger,
    NotFound,
    Paused,
    Principal,
    Remit,
    RunOwned,
    ScriptedModel,
    call,
)
from remit.types.event import Resumed
from remit.types.ledger import Append, Committed

REFUND = call("issue_refund", charge_id="ch_1", amount_cents=4_900)
BIG = call("issue_refund", charge_id="ch_1", amount_cents=9_900)


async def left_behind(remit: Remit, shop: Shop, **changes: object) -> str:
    """A run whose process dies while its refund is under way."""
    run = await remit.submit("support", "refund", principal=ALICE, **changes)  # type: ignore[arg-type]
    await until(lambda: bool(shop.refunds))
    await remit.abandon()
    shop.hang = False
    return run.id


async def resumed(remit: Remit, run: str) -> Resumed:
    (event,) = [one.event for one in await remit.events(run) if isinstance(one.event, Resumed)]
    return event


def test_the_next_owner_of_the_file_goes_on_by_itself(tmp_path: Path) -> None:
    shop = Shop(hang=True)
    agent = support(ScriptedModel([REFUND, "Refunded."]), refund_tool(timeout_s=30))

    async def story() -> None:
        path = tmp_path / "r.db"
        async with Remit(ledger=path, agents=[agent], deps=shop) as first:
            run = await left_behind(first, shop)
        async with Remit(ledger=path, agents=[agent], deps=shop) as second:
            assert isinstance(await second.run_to_end(run), Finished)
            assert (await resumed(second, run)).scopes_from == "recorded"
            assert await second.verify() == []

    play(story, seeded=False)
    assert shop.refunds == [("ch_1", 4_900)]


def test_an_owner_that_is_open_already_notices_the_death(tmp_path: Path) -> None:
    shop = Shop(hang=True)
    agent = support(ScriptedModel([REFUND, "Refunded."]), refund_tool(timeout_s=30))

    async def story() -> None:
        path = tmp_path / "r.db"
        async with (
            Remit(ledger=path, agents=[agent], deps=shop) as first,
            Remit(ledger=path, agents=[agent], deps=shop) as second,
        ):
            run = await left_behind(first, shop, conversation="t", request_id="r1")
            ended = await second.run("support", "refund", principal=ALICE, conversation="t", request_id="r1")
            assert isinstance(ended, Finished)
            assert ended.id == run

    play(story, seeded=False)
    assert shop.refunds == [("ch_1", 4_900)]


def test_an_owner_without_the_agent_leaves_the_run_alone(tmp_path: Path) -> None:
    shop = Shop(hang=True)
    agent = support(ScriptedModel([REFUND, "Refunded."]), refund_tool(timeout_s=30))

    async def story() -> None:
        path = tmp_path / "r.db"
        async with Remit(ledger=path, agents=[agent], deps=shop) as first:
            run = await left_behind(first, shop)
        async with Remit(ledger=path) as reader:
            before = await reader.events(run)
            with pytest.raises(InputError):
                await first.runs()
            await reader.ledger.changed(await reader.ledger.changed(-1, timeout_s=0), timeout_s=0.05)
            assert await reader.events(run) == before

    play(story, seeded=False)


def test_a_live_run_is_owned_and_cannot_be_resumed_elsewhere(tmp_path: Path) -> None:
    shop = Shop(hang=True)
    agent = support(ScriptedModel([REFUND, "Refunded."]), refund_tool(timeout_s=30))

    async def story() -> None:
        path = tmp_path / "r.db"
        async with (
            Remit(ledger=path, agents=[agent], deps=shop, drain_s=0) as first,
            Remit(ledger=path, agents=[agent], deps=shop, drain_s=0) as second,
        ):
            run = await first.submit("support", "refund", principal=ALICE)
            await until(lambda: bool(shop.refunds))
            with pytest.raises(RunOwned) as error:
                await second.resume(run.id)
            assert error.value.code == "run.owned"

    play(story, seeded=False)


def test_scopes_of_now_come_from_the_caller_or_from_the_application() -> None:
    async def story() -> None:
        poorer = Principal("alice", tenant="acme")
        agent = support(ScriptedModel([BIG, BIG, "Done."]), refund_tool(approve=APPROVED_ABOVE_50))

        async def principals(tenant: str, subject: str) -> Principal | None:
            assert (tenant, subject) == ("acme", "alice")
            return poorer

        store, shop = MemoryLedger(), Shop()
        async with Remit(ledger=store, agents=[agent], deps=shop) as remit:
            first = await remit.run("support", "refund", principal=ALICE)
            second = await remit.run("support", "refund", principal=ALICE)
            assert isinstance(first, Paused)
            assert isinstance(second, Paused)
        async with Remit(ledger=store) as clerk:
            await clerk.decide(first.approvals[0].id, allow=True, by=BOB)
        async with Remit(ledger=store, agents=[agent], deps=shop, principals=principals) as remit:
            await remit.run_to_end(first.id)
            assert (await resumed(remit, first.id)).scopes_from == "principals"
            assert (await resumed(remit, first.id)).scopes == ()
        assert shop.refunds == []
        async with Remit(ledger=store) as clerk:
            await clerk.cancel(second.id, by="bob")
            with pytest.raises(NotFound):
                await clerk.resume(second.id, principal=BOB)

    play(story)


def test_a_principal_that_the_application_denies_is_not_acted_for() -> None:
    async def nobody(tenant: str, subject: str) -> Principal | None:
        return None

    async def story() -> None:
        agent = support(ScriptedModel([BIG, "Done."]), refund_tool(approve=APPROVED_ABOVE_50))
        store, shop = MemoryLedger(), Shop()
        async with Remit(ledger=store, agents=[agent], deps=shop) as remit:
            run = await remit.run("support", "refund", principal=ALICE)
            assert isinstance(run, Paused)
        async with Remit(ledger=store, agents=[agent], deps=shop, principals=nobody) as remit:
            await remit.decide(run.approvals[0].id, allow=True, by=BOB)
            with pytest.raises(Denied) as error:
                await remit.resume(run.id)
            assert error.value.code == "principal.denied"
            assert isinstance(await remit.resume(run.id, principal=ALICE), Finished)
            assert (await resumed(remit, run.id)).scopes_from == "caller"
        assert shop.refunds == [("ch_1", 9_900)]

    play(story)


def test_an_application_that_cannot_say_who_somebody_is_keeps_no_other_run_waiting() -> None:
    async def principals(tenant: str, subject: str) -> Principal | None:
        if subject == "carol":
            raise OSError("the directory is down")
        return ALICE

    async def story() -> None:
        carol = Principal("carol", tenant="acme", scopes=ALICE.scopes)
        model = ScriptedModel([BIG, call("issue_refund", charge_id="ch_2", amount_cents=9_900), "Done."])
        agent = support(model, refund_tool(approve=APPROVED_ABOVE_50))
        store, shop = MemoryLedger(), Shop()
        async with Remit(ledger=store, agents=[agent], deps=shop) as remit:
            runs = [await remit.run("support", "refund", principal=one) for one in (carol, ALICE)]
        async with Remit(ledger=store) as clerk:
            for run in runs:
                assert isinstance(run, Paused)
                await clerk.decide(run.approvals[0].id, allow=True, by=BOB)
        async with Remit(ledger=store, agents=[agent], deps=shop, principals=principals) as remit:
            assert isinstance(await remit.run_to_end(runs[1].id), Finished)
            with pytest.raises(Denied) as error:
                await remit.run_to_end(runs[0].id)
            assert error.value.code == "principal.failed"
        assert shop.refunds == [("ch_2", 9_900)]

    play(story)


def test_a_run_whose_driving_broke_is_taken_up_again_by_the_same_owner() -> None:
    class Broken(MemoryLedger):
        broken = False

        async def commit(self, append: Append) -> Committed:
            if self.broken:
                Broken.broken = False
                raise LedgerError("the disk is full")
            return await super().commit(append)

    async def story() -> None:
        shop = Shop()

        def breaks(body: dict[str, object]) -> object:
            Broken.broken = True
            return REFUND

        model = ScriptedModel([breaks, REFUND, "Refunded."])
        async with Remit(ledger=Broken(), agents=[support(model)], deps=shop) as remit:
            run = await remit.submit("support", "refund", principal=ALICE)
            with pytest.raises(LedgerError):
                await remit.run_to_end(run.id)
            assert isinstance(await remit.run_to_end(run.id), Finished)
        assert shop.refunds == [("ch_1", 4_900)]

    play(story, seeded=False)


def test_a_resume_with_nothing_decided_says_what_it_waits_for_and_records_nothing() -> None:
    async def story() -> None:
        agent = support(ScriptedModel([BIG, "Done."]), refund_tool(approve=APPROVED_ABOVE_50))
        async with Remit(ledger=MemoryLedger(), agents=[agent], deps=Shop()) as remit:
            run = await remit.run("support", "refund", principal=ALICE, request_id="r1")
            before = await remit.events(run.id)
            assert await remit.resume(run.id) == run
            assert await remit.run("support", "refund", principal=ALICE, request_id="r1") == run
            assert await remit.events(run.id) == before

    play(story)


def test_recover_asks_the_books_about_what_nobody_drives() -> None:
    async def story() -> None:
        shop, store = Shop(hang=True, blind=True), MemoryLedger()
        agent = support(ScriptedModel([REFUND, "It is not known."]))
        async with Remit(ledger=store, agents=[agent], deps=shop) as remit:
            run = await remit.run("support", "refund", principal=ALICE)
            assert isinstance(run, Finished)
            assert run.open_operations
            (still,) = await remit.recover()
            assert still.id == run.open_operations[0]
            shop.blind = False
            assert await remit.recover() == []
            (operation,) = await remit.operations(run=run.id)
            assert (operation.state, operation.settled_by) == ("succeeded", "reconciler")
            assert await remit.verify() == []

    play(story, seeded=False)


def test_recover_takes_up_the_runs_of_the_dead() -> None:
    async def story() -> None:
        shop, store = Shop(hang=True), MemoryLedger()
        agent = support(ScriptedModel([REFUND, "Refunded."]), refund_tool(timeout_s=30))
        async with Remit(ledger=store, agents=[agent], deps=shop) as remit:
            run = await left_behind(remit, shop)
        async with Remit(ledger=MemoryLedger(store=store), agents=[agent], deps=shop) as remit:
            assert await remit.recover() == []
            assert isinstance(await remit.run_to_end(run), Finished)

    play(story, seeded=False)


def test_a_run_whose_request_broke_off_is_asked_again() -> None:
    async def story() -> None:
        store = MemoryLedger()
        asked = 0

        async def hang(body: dict[str, object]) -> str:
            nonlocal asked
            asked += 1
            await asyncio.Event().wait()
            return ""

        async with Remit(ledger=store, agents=[support(ScriptedModel(hang))], deps=Shop()) as remit:
            run = await remit.submit("support", "hi", principal=ALICE)
            await until(lambda: asked == 1)
            await remit.abandon()
            await remit.abandon()
        async with Remit(ledger=store, agents=[support(ScriptedModel(["Hello."]))], deps=Shop()) as remit:
            assert isinstance(await remit.run_to_end(run.id), Finished)

    play(story, seeded=False)


def test_recover_goes_on_past_a_run_whose_principal_is_not_known_any_more() -> None:
    async def lookup(tenant: str, subject: str) -> Principal | None:
        raise ConnectionError

    async def story() -> None:
        shop, store = Shop(hang=True), MemoryLedger()
        agent = support(ScriptedModel(lambda _: REFUND), refund_tool(timeout_s=30))
        async with Remit(ledger=store, agents=[agent], deps=shop) as remit:
            run = await left_behind(remit, shop)
        async with Remit(ledger=MemoryLedger(store=store), agents=[agent], deps=shop, principals=lookup) as remit:
            assert [one.run for one in await remit.recover()] == [run]

    play(story, seeded=False)
