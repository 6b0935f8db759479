"""Effects: once, not at all, or unknown and named so."""

from __future__ import annotations

import asyncio
import threading

import pytest

from behaviour.shop import ALICE, Shop, find_refund, lookup_order, play, refund_tool, send_mail, support, until
from remit import (
    CALL,
    READ,
    TRUSTED,
    Context,
    Finished,
    MemoryLedger,
    Paused,
    Remit,
    ScriptedModel,
    Succeeded,
    Unknown,
    ask_user,
    call,
    manual,
    never,
    reconcile,
    tool,
    write,
)
from remit.errors import ModelError, RunOwned

pytestmark = pytest.mark.usefixtures("both_ways")
REFUND = call("issue_refund", charge_id="ch_1", amount_cents=4_900)


async def outcomes(remit: Remit, run: str) -> list[object]:
    return [one.event.outcome for one in await remit.events(run) if one.event.kind == "call.ended"]


def test_a_model_request_that_fails_after_the_effect_is_asked_again_with_the_stored_result() -> None:
    shop = Shop()
    model = ScriptedModel([REFUND, ModelError("down", code="model.unavailable", retryable=True), "Refunded."])

    async def story() -> None:
        async with Remit(ledger=MemoryLedger(), agents=[support(model)], deps=shop) as remit:
            run = await remit.run("support", "refund ch_1", principal=ALICE)
            assert isinstance(run, Finished)
            assert run.answer == "Refunded."

    play(story)
    assert shop.refunds == [("ch_1", 4_900)]


def test_a_write_beside_a_question_runs_once_when_the_person_has_answered() -> None:
    shop = Shop()
    model = ScriptedModel([[call("ask_user", question="Send it?"), call("send_mail", to="a@b", text="hi")], "Sent."])

    async def story() -> None:
        async with Remit(ledger=MemoryLedger(), agents=[support(model, ask_user, send_mail)], deps=shop) as remit:
            run = await remit.run("support", "mail a@b", principal=ALICE)
            assert isinstance(run, Paused)
            assert shop.mails == []
            await remit.answer(run.questions[0].id, "yes", by=ALICE)
            ended = await remit.resume(run.id, principal=ALICE)
            assert isinstance(ended, Finished)
            again = await remit.resume(run.id, principal=ALICE)
            assert again == ended

    play(story)
    assert shop.mails == ["a@b"]


def test_killed_between_the_effect_and_its_record_the_books_are_asked_and_nothing_runs_twice() -> None:
    shop = Shop(hang=True)
    store = MemoryLedger()
    model = ScriptedModel([REFUND, "Refunded."])

    async def dies() -> str:
        async with Remit(ledger=store, agents=[support(model, refund_tool(timeout_s=30))], deps=shop, drain_s=0) as remit:
            run = await remit.submit("support", "refund ch_1", principal=ALICE)
            await until(lambda: bool(shop.refunds))
        return run.id

    async def comes_back(run: str) -> None:
        shop.hang = False
        async with Remit(
            ledger=MemoryLedger(store=store), agents=[support(model, refund_tool(timeout_s=30))], deps=shop
        ) as remit:
            ended = await remit.run_to_end(run)
            assert isinstance(ended, Finished)
            (outcome,) = await outcomes(remit, run)
            assert isinstance(outcome, Succeeded)
            assert outcome.value == {"refunded": 4_900}

    run = play(dies, seeded=False)
    play(lambda: comes_back(run))
    assert shop.refunds == [("ch_1", 4_900)]
    assert shop.asked_books >= 1


def test_a_timeout_after_the_effect_is_settled_by_the_books_and_a_new_call_id_repeats_it() -> None:
    shop = Shop(hang=True)
    model = ScriptedModel([REFUND, REFUND, "Done."])

    async def story() -> None:
        async with Remit(ledger=MemoryLedger(), agents=[support(model)], deps=shop) as remit:
            run = await remit.run("support", "refund ch_1", principal=ALICE)
            assert isinstance(run, Finished)
            first, second = await outcomes(remit, run.id)
            assert isinstance(first, Succeeded)
            assert isinstance(second, Succeeded)
            assert second.repeat

    play(story, seeded=False)
    assert shop.refunds == [("ch_1", 4_900)]


def test_a_timeout_of_a_tool_without_a_business_key_is_unknown_and_its_next_call_waits_for_a_person() -> None:
    sent: list[str] = []

    @tool(effect=write(once_per=CALL, recovery=manual), timeout_s=0.05, approve=never, label=TRUSTED)
    async def post(text: str, ctx: Context[object]) -> str:
        """Post.

        Args:
            text: what
        """
        sent.append(text)
        await asyncio.Event().wait()
        return "posted"

    model = ScriptedModel([call("post", text="hi"), call("post", text="hi"), "Done."])

    async def story() -> None:
        async with Remit(ledger=MemoryLedger(), agents=[support(model, post)]) as remit:
            run = await remit.run("support", "post hi", principal=ALICE)
            assert isinstance(run, Paused)
            (outcome,) = await outcomes(remit, run.id)
            assert isinstance(outcome, Unknown)
            assert any("unknown" in reason for reason in run.approvals[0].reasons)
            assert run.open_operations

    play(story, seeded=False)
    assert sent == ["hi"]


def test_the_same_refund_twice_in_one_response_is_one_effect_and_two_answers() -> None:
    shop = Shop()
    model = ScriptedModel([[REFUND, REFUND], "Done."])

    async def story() -> None:
        async with Remit(ledger=MemoryLedger(), agents=[support(model)], deps=shop) as remit:
            run = await remit.run("support", "refund ch_1", principal=ALICE)
            first, second = await outcomes(remit, run.id)
            assert isinstance(first, Succeeded)
            assert not first.repeat
            assert isinstance(second, Succeeded)
            assert second.repeat

    play(story)
    assert shop.refunds == [("ch_1", 4_900)]


def test_the_same_call_on_purpose_in_two_turns_of_a_tool_that_is_once_per_call_is_two_effects() -> None:
    shop = Shop()
    mail = call("send_mail", to="a@b", text="hi")
    model = ScriptedModel([mail, mail, "Done."])

    async def story() -> None:
        async with Remit(ledger=MemoryLedger(), agents=[support(model, send_mail)], deps=shop) as remit:
            await remit.run("support", "mail twice", principal=ALICE)

    play(story)
    assert shop.mails == ["a@b", "a@b"]


def test_the_whole_request_again_after_success_is_the_same_run() -> None:
    shop = Shop()
    model = ScriptedModel([REFUND, "Refunded."])

    async def story() -> None:
        async with Remit(ledger=MemoryLedger(), agents=[support(model)], deps=shop) as remit:
            first = await remit.run("support", "refund ch_1", principal=ALICE, request_id="m1")
            second = await remit.run("support", "refund ch_1", principal=ALICE, request_id="m1")
            assert first == second

    play(story)
    assert shop.refunds == [("ch_1", 4_900)]


def test_the_whole_request_again_while_it_runs_joins_it() -> None:
    shop = Shop()
    model = ScriptedModel([REFUND, "Refunded."])

    async def story() -> None:
        async with Remit(ledger=MemoryLedger(), agents=[support(model)], deps=shop) as remit:
            both = await asyncio.gather(
                remit.run("support", "refund ch_1", principal=ALICE, request_id="m1"),
                remit.run("support", "refund ch_1", principal=ALICE, request_id="m1"),
            )
            assert both[0] == both[1]

    play(story)
    assert shop.refunds == [("ch_1", 4_900)]


def test_the_whole_request_again_after_a_crash_is_the_same_run_and_one_effect() -> None:
    shop = Shop(hang=True)
    store = MemoryLedger()
    model = ScriptedModel([REFUND, "Refunded."])

    async def dies() -> str:
        async with Remit(ledger=store, agents=[support(model, refund_tool(timeout_s=30))], deps=shop, drain_s=0) as remit:
            run = await remit.submit("support", "refund ch_1", principal=ALICE, request_id="m1")
            await until(lambda: bool(shop.refunds))
        return run.id

    async def again(run: str) -> None:
        shop.hang = False
        async with Remit(ledger=MemoryLedger(store=store), agents=[support(model)], deps=shop) as remit:
            ended = await remit.run("support", "refund ch_1", principal=ALICE, request_id="m1")
            assert isinstance(ended, Finished)
            assert ended.id == run

    run = play(dies, seeded=False)
    play(lambda: again(run))
    assert shop.refunds == [("ch_1", 4_900)]


def test_a_sync_tool_that_writes_after_its_timeout_is_unknown_first_and_its_late_result_is_attached() -> None:
    store = MemoryLedger()
    release = threading.Event()
    done = threading.Event()
    written: list[str] = []

    @tool(effect=write(once_per="name", recovery=manual), timeout_s=0.05, approve=never, label=TRUSTED)
    def put(name: str) -> str:
        """Put.

        Args:
            name: which
        """
        release.wait(10)
        written.append(name)
        done.set()
        return "put"

    model = ScriptedModel([call("put", name="x"), call("put", name="x"), "Done."])

    async def story() -> None:
        async with Remit(ledger=store, agents=[support(model, put)]) as remit:
            run = await remit.run("support", "put x", principal=ALICE)
            assert [type(one) for one in await outcomes(remit, run.id)] == [Unknown, Unknown]
            assert written == []
            (operation,) = await remit.operations(run=run.id)
            assert operation.state == "unknown"
            release.set()
            await asyncio.to_thread(done.wait, 10)
            seen = 0
            while (await remit.operations(run=run.id))[0].state == "unknown":
                seen = await store.changed(seen, timeout_s=1)
            (operation,) = await remit.operations(run=run.id)
            assert operation.state == "succeeded"

    play(story, seeded=False)
    assert written == ["x"]


def test_two_processes_that_resume_one_run_at_once_give_one_winner_and_one_effect() -> None:
    shop = Shop()
    store = MemoryLedger()

    @tool(effect=READ, scopes={"orders:read"}, label=TRUSTED)
    async def slow(ctx: Context[Shop]) -> str:
        """Slow."""
        await asyncio.sleep(0.2)
        return "ok"

    model = ScriptedModel([call("slow"), REFUND, "Refunded."])
    agent = support(model, slow, refund_tool())

    async def story() -> None:
        async with (
            Remit(ledger=store, agents=[agent], deps=shop) as one,
            Remit(ledger=MemoryLedger(store=store), agents=[agent], deps=shop) as two,
        ):
            run = await one.submit("support", "refund ch_1", principal=ALICE)
            with pytest.raises(RunOwned, match="owned"):
                await two.resume(run.id, principal=ALICE)
            assert isinstance(await one.run_to_end(run.id), Finished)

    play(story, seeded=False)
    assert shop.refunds == [("ch_1", 4_900)]


def test_a_crash_right_before_the_effect_waits_until_the_first_attempt_can_no_longer_land() -> None:
    shop = Shop()
    store = MemoryLedger()
    started: list[int] = []

    @tool(
        effect=write(once_per="charge_id", recovery=reconcile(find_refund, settle_s=0.1)),
        timeout_s=0.3,
        approve=never,
        label=TRUSTED,
    )
    async def issue_refund(charge_id: str, amount_cents: int, ctx: Context[Shop]) -> dict[str, int]:
        """Refund.

        Args:
            charge_id: which
            amount_cents: how much
        """
        started.append(ctx.attempt)
        if len(started) == 1:
            await asyncio.Event().wait()
        assert shop.asked_books >= 2, "a no from the books counted while the first attempt could still land"
        ctx.deps.refunds.append((charge_id, amount_cents))
        return {"refunded": amount_cents}

    model = ScriptedModel([REFUND, "Refunded."])
    agent = support(model, issue_refund)

    async def dies() -> str:
        async with Remit(ledger=store, agents=[agent], deps=shop, drain_s=0) as remit:
            run = await remit.submit("support", "refund ch_1", principal=ALICE)
            await until(lambda: bool(started))
        return run.id

    async def comes_back(run: str) -> None:
        async with Remit(ledger=MemoryLedger(store=store), agents=[agent], deps=shop) as remit:
            assert isinstance(await remit.run_to_end(run), Finished)

    run = play(dies, seeded=False)
    play(lambda: comes_back(run), seeded=False)
    assert shop.refunds == [("ch_1", 4_900)]
    assert started == [1, 2]


def test_after_a_worker_dies_within_a_turn_what_was_done_is_looked_up_and_only_the_rest_is_considered() -> None:
    store = MemoryLedger()
    done: list[str] = []
    hang = True

    async def look(arguments: object, ctx: Context[object]) -> object:
        from remit import DID_NOT, Happened

        return Happened("done") if arguments["name"] in done else DID_NOT  # type: ignore[index]

    @tool(effect=write(once_per="name", recovery=reconcile(look, settle_s=0.05)), timeout_s=0.2, approve=never, label=TRUSTED)
    async def put(name: str, ctx: Context[object]) -> str:
        """Put.

        Args:
            name: which
        """
        done.append(name)
        if name == "b" and hang:
            await asyncio.Event().wait()
        return "done"

    model = ScriptedModel([[call("put", name=one) for one in "abc"], "Done."])
    agent = support(model, put)

    async def dies() -> str:
        async with Remit(ledger=store, agents=[agent], drain_s=0) as remit:
            run = await remit.submit("support", "put", principal=ALICE)
            await until(lambda: "b" in done)
        return run.id

    async def comes_back(run: str) -> None:
        nonlocal hang
        hang = False
        async with Remit(ledger=MemoryLedger(store=store), agents=[agent]) as remit:
            assert isinstance(await remit.run_to_end(run), Finished)
            assert [type(one) for one in await outcomes(remit, run)] == [Succeeded] * 3

    run = play(dies, seeded=False)
    play(lambda: comes_back(run))
    assert done == ["a", "b", "c"]


def test_reads_are_simply_read_again() -> None:
    shop = Shop()
    model = ScriptedModel([call("lookup_order", order_id="A-1"), "ch_1"])

    async def story() -> None:
        async with Remit(ledger=MemoryLedger(), agents=[support(model, lookup_order)], deps=shop) as remit:
            run = await remit.run("support", "which charge?", principal=ALICE)
            assert isinstance(run, Finished)
            assert run.verified

    play(story)
