"""What people say about runs: decisions, answers, settlements, withdrawals, cancellations."""

from __future__ import annotations

import asyncio
import threading

import pytest

from behaviour.shop import ALICE, APPROVED_ABOVE_50, BOB, Shop, play, refund_tool, support, until
from remit import (
    CANNOT_TELL,
    DID_NOT,
    TRUSTED,
    Agent,
    Approval,
    Cancelled,
    Conflict,
    Denied,
    Finished,
    Happened,
    InputError,
    MemoryLedger,
    NotFound,
    Paused,
    Principal,
    Remit,
    ScriptedModel,
    Tool,
    ambient,
    ask_user,
    call,
    manual,
    never,
    reconcile,
    tool,
    when,
    write,
)
from remit.types.event import ApprovalDecided, OperationMoved
from remit.types.operation import Operation

BIG = call("issue_refund", charge_id="ch_1", amount_cents=9_900)
MALLORY = Principal("mallory", tenant="other", scopes=BOB.scopes)
TOOL = refund_tool(approve=APPROVED_ABOVE_50)


def opened(model: ScriptedModel, shop: Shop, *tools: Tool, **changes: object) -> Remit:
    return Remit(ledger=MemoryLedger(), agents=[support(model, *(tools or (TOOL,)))], deps=shop, **changes)  # type: ignore[arg-type]


async def paused(remit: Remit) -> Paused:
    run = await remit.run("support", "refund", principal=ALICE)
    assert isinstance(run, Paused)
    return run


def test_a_yes_runs_exactly_what_was_shown() -> None:
    shop = Shop()

    async def story() -> None:
        async with opened(ScriptedModel([BIG, "Done."]), shop) as remit:
            run = await paused(remit)
            (pending,) = await remit.approvals()
            assert pending == run.approvals[0]
            decided = await remit.decide(pending.id, allow=True, by=BOB, reason="seen")
            assert (decided.state, decided.decided_by) == ("approved", "bob")
            assert isinstance(await remit.run_to_end(run.id), Finished)
            assert await remit.approvals() == []

    play(story)
    assert shop.refunds == [("ch_1", 9_900)]


def test_who_may_not_decide_is_denied_and_nothing_changes() -> None:
    shop = Shop()

    async def story() -> None:
        async with opened(ScriptedModel([BIG, "Done."]), shop) as remit:
            run = await paused(remit)
            approval = run.approvals[0].id
            for allow in (True, False):
                with pytest.raises(Denied):
                    await remit.decide(approval, allow=allow, by=ALICE, reason="please")
            with pytest.raises(NotFound):
                await remit.decide(approval, allow=True, by=MALLORY)
            with pytest.raises(NotFound):
                await remit.decide("apr_nowhere", allow=True, by=BOB)
            with pytest.raises(InputError, match="Principal"):
                await remit.decide(approval, allow=True, by="bob")  # type: ignore[arg-type]
            with pytest.raises(InputError, match="answer"):
                await remit.answer(approval, "yes", by=BOB)
            assert (await remit.approvals())[0].state == "pending"

    play(story)
    assert shop.refunds == []


def test_where_two_people_are_needed_the_requester_is_not_the_second() -> None:
    shop = Shop()
    both = Principal("alice", tenant="acme", scopes=ALICE.scopes | BOB.scopes)
    strict = refund_tool(approve=when(lambda a: True, scope="billing:approve", two_person=True))

    async def story() -> None:
        async with opened(ScriptedModel([BIG, "Done."]), shop, strict) as remit:
            run = await paused(remit)
            with pytest.raises(Denied):
                await remit.decide(run.approvals[0].id, allow=True, by=both)
            await remit.decide(run.approvals[0].id, allow=True, by=BOB)
            assert isinstance(await remit.run_to_end(run.id), Finished)

    play(story)
    assert shop.refunds == [("ch_1", 9_900)]


def test_an_approver_may_write_other_arguments_which_are_checked_at_once() -> None:
    shop = Shop()

    async def story() -> None:
        async with opened(ScriptedModel([BIG, "Done."]), shop) as remit:
            run = await paused(remit)
            approval = run.approvals[0].id
            for wrong in ({"charge_id": "ch_1"}, {"charge_id": "ch_1", "amount_cents": "many"}, {"x": 1}):
                with pytest.raises(InputError, match="issue_refund"):
                    await remit.decide(approval, allow=True, by=BOB, arguments=wrong)  # type: ignore[arg-type]
            with pytest.raises(InputError, match="deny"):
                await remit.decide(approval, allow=False, by=BOB, arguments={"charge_id": "ch_1", "amount_cents": 1})
            await remit.decide(approval, allow=True, by=BOB, arguments={"charge_id": "ch_1", "amount_cents": 100})
            assert isinstance(await remit.run_to_end(run.id), Finished)

    play(story)
    assert shop.refunds == [("ch_1", 100)]


def test_the_second_of_two_decisions_gets_the_first_ones_answer() -> None:
    shop = Shop()

    async def story() -> None:
        async with opened(ScriptedModel([BIG, "Done."]), shop) as remit:
            run = await paused(remit)
            await remit.decide(run.approvals[0].id, allow=False, by=BOB, reason="no")
            await remit.run_to_end(run.id)
            late = await remit.decide(run.approvals[0].id, allow=True, by=BOB, reason="yes")
            assert late.state == "denied"

    play(story)
    assert shop.refunds == []


def test_an_approval_that_expires_wakes_its_run_without_anybody() -> None:
    shop = Shop()
    clock = ambient.Seeded()
    quick = refund_tool(approve=when(lambda a: True, scope="billing:approve", expires_s=60))

    async def story() -> None:
        async with opened(ScriptedModel([BIG, "It was not decided in time."]), shop, quick) as remit:
            run = await paused(remit)
            clock.advance(61)
            assert isinstance(await remit.run_to_end(run.id), Finished)
            (decided,) = [one.event for one in await remit.events(run.id) if isinstance(one.event, ApprovalDecided)]
            assert decided.verdict == "expired"

    with ambient.use(clock):
        asyncio.run(story())
    assert shop.refunds == []


def test_a_question_is_answered_with_a_value() -> None:
    async def story() -> None:
        model = ScriptedModel([call("ask_user", question="Which one?"), "Thanks."])
        async with opened(model, Shop(), ask_user) as remit:
            run = await paused(remit)
            (question,) = run.questions
            with pytest.raises(InputError, match="decide"):
                await remit.decide(question.id, allow=True, by=ALICE)
            await remit.answer(question.id, {"which": "the-second"}, by=ALICE)
            assert isinstance(await remit.run_to_end(run.id), Finished)
            assert b"the-second" in model.requests[1]

    play(story)


def in_doubt(done: list[str]) -> Tool:
    @tool(effect=write(once_per="name", recovery=manual), timeout_s=0.05, approve=never, label=TRUSTED)
    async def put(name: str) -> str:
        """Put.

        Args:
            name: which
        """
        done.append(name)
        await asyncio.Event().wait()
        return "put"

    return put


@pytest.mark.parametrize("happened", [True, False])
def test_a_person_settles_what_is_unknown_also_after_the_end(happened: bool) -> None:
    async def story() -> None:
        model = ScriptedModel([call("put", name="x"), "It is not known."])
        async with opened(model, Shop(), in_doubt([])) as remit:
            run = await remit.run("support", "put", principal=ALICE)
            assert isinstance(run, Finished)
            assert not run.verified
            (operation,) = run.open_operations
            with pytest.raises(InputError, match="reason"):
                await remit.settle(operation, happened, by=BOB, reason="")
            with pytest.raises(NotFound):
                await remit.settle(operation, happened, by=MALLORY, reason="seen")
            row = await remit.settle(operation, happened, by=BOB, reason="seen in the books", result="put")
            assert row.state == ("succeeded" if happened else "failed")
            assert row.settled_by == "by:bob"
            with pytest.raises(Conflict):
                await remit.settle(operation, happened, by="bob", reason="again")
            after = await remit.standing(run.id)
            assert isinstance(after, Finished)
            assert after.open_operations == ()
            assert await remit.verify() == []

    play(story, seeded=False)


def test_a_no_about_a_row_that_was_sent_again_since_is_refused_and_a_yes_is_not() -> None:
    done: list[str] = []
    seen: list[Operation] = []

    async def story(happened: bool) -> None:
        async def books(arguments: object, ctx: object) -> object:
            seen.extend(await remit.operations(state=("unknown",)))
            return DID_NOT if len(done) < 2 else CANNOT_TELL

        @tool(
            effect=write(once_per="name", recovery=reconcile(books, settle_s=0.01)),
            timeout_s=0.05,
            approve=never,
            label=TRUSTED,
        )
        async def put(name: str) -> str:
            """Put.

            Args:
                name: which
            """
            done.append(name)
            raise ConnectionError

        done.clear()
        seen.clear()
        async with opened(ScriptedModel([call("put", name="x"), "It is not known."]), Shop(), put) as remit:
            run = await remit.run("support", "put", principal=ALICE)
            assert isinstance(run, Finished)
            [now] = await remit.operations(state=("unknown",))
            assert (seen[0].attempt, now.attempt) == (1, 2)
            if not happened:
                with pytest.raises(Conflict) as refused:
                    await remit.settle(seen[0], False, by=BOB, reason="not in the books")
                assert refused.value.code == "operation.sent_again"
                assert await remit.operations(state=("unknown",)) == [now]
            settled = await remit.settle(seen[0] if happened else now, happened, by=BOB, reason="looked")
            assert settled.state == ("succeeded" if happened else "failed")
            assert await remit.verify() == []

    for happened in (False, True):
        play(lambda happened=happened: story(happened))  # type: ignore[misc]


def test_a_handler_that_still_runs_for_one_agent_is_not_denied_by_the_books_for_another() -> None:
    done: list[str] = []
    begun: list[str] = []
    going_on = threading.Event()

    def books(arguments: object, ctx: object) -> object:
        return Happened("put") if done else DID_NOT

    @tool(effect=write(once_per="name", recovery=reconcile(books, settle_s=0.02)), timeout_s=0.05, approve=never, label=TRUSTED)
    def put(name: str) -> str:
        """Put.

        Args:
            name: which
        """
        begun.append(name)
        if len(begun) == 1:
            going_on.wait(10)
        done.append(name)
        return "put"

    async def story() -> None:
        agents = [
            Agent(name, model=ScriptedModel([call("put", name="x"), "I see."]), instructions="Put.", tools=[put])
            for name in ("one", "two")
        ]
        async with Remit(ledger=MemoryLedger(), agents=agents) as remit:
            try:
                for name in ("one", "two"):
                    assert isinstance(await remit.run(name, "put", principal=ALICE), Finished)
                    [row] = await remit.operations()
                    assert (row.state, row.attempt, begun) == ("unknown", 1, ["x"])
            finally:
                going_on.set()
            while (await remit.operations())[0].state == "unknown":  # noqa: ASYNC110
                await asyncio.sleep(0.01)
            [row] = await remit.operations()
            assert (row.state, row.attempt, done) == ("succeeded", 1, ["x"])
            assert await remit.verify() == []

    play(story, seeded=False)


def test_a_settlement_needs_no_agent() -> None:
    async def story() -> None:
        store = MemoryLedger()
        agent = support(ScriptedModel([call("put", name="x"), "It is not known."]), in_doubt([]))
        async with Remit(ledger=store, agents=[agent]) as remit:
            run = await remit.run("support", "put", principal=ALICE)
        async with Remit(ledger=MemoryLedger(store=store)) as clerk:
            row = await clerk.settle(run.open_operations[0], True, by="bob", reason="seen")
            assert row.state == "succeeded"
            moved = [one.event for one in await clerk.events(run.id) if isinstance(one.event, OperationMoved)]
            assert moved[-1].on == "settled_yes"
            assert await clerk.verify() == []

    play(story, seeded=False)


def test_withdrawing_keeps_an_awaiting_effect_from_ever_starting() -> None:
    shop = Shop()

    async def story() -> None:
        async with opened(ScriptedModel([BIG, "Withdrawn."]), shop) as remit:
            run = await paused(remit)
            operation = run.approvals[0].operation
            assert operation is not None
            await remit.withdraw(operation, by=ALICE, reason="never mind")
            assert isinstance(await remit.run_to_end(run.id), Finished)
            await remit.withdraw(operation, by=ALICE)
            late: Approval = await remit.decide(run.approvals[0].id, allow=True, by=BOB)
            assert late.state == "void"

    play(story)
    assert shop.refunds == []


def test_a_paused_run_is_cancelled_also_without_its_agent() -> None:
    shop = Shop()

    async def story() -> None:
        store = MemoryLedger()
        agent = support(ScriptedModel([BIG, "Done."]), TOOL)
        async with Remit(ledger=store, agents=[agent], deps=shop) as remit:
            first, second = await paused(remit), await remit.run("support", "x", principal=ALICE, conversation="t")
            await remit.cancel(first.id, by=ALICE, reason="changed my mind")
            assert isinstance(await remit.run_to_end(first.id), Cancelled)
            await remit.cancel(first.id, by=ALICE)
            assert isinstance(second, Finished)
        model = ScriptedModel([BIG])
        async with Remit(ledger=store, agents=[support(model, TOOL)], deps=shop) as remit:
            third = await paused(remit)
        async with Remit(ledger=store) as clerk:
            with pytest.raises(NotFound):
                await clerk.cancel(third.id, by=MALLORY)
            await clerk.cancel(third.id, by="alice", reason="by hand")
            assert isinstance(await clerk.standing(third.id), Cancelled)
            (operation,) = await clerk.operations(run=third.id)
            assert operation.state == "closed"
            assert await clerk.verify() == []

    play(story)
    assert shop.refunds == []


def test_a_withdrawal_without_the_agent_lets_the_run_go_on_where_it_is() -> None:
    shop = Shop()

    async def story() -> None:
        store = MemoryLedger()
        agent = support(ScriptedModel([BIG, "Withdrawn."]), TOOL)
        async with Remit(ledger=store, agents=[agent], deps=shop) as remit:
            run = await paused(remit)
        async with Remit(ledger=store) as clerk:
            assert run.approvals[0].operation is not None
            await clerk.withdraw(run.approvals[0].operation, by="bob", reason="never mind")
            assert (await clerk.operations(run=run.id))[0].closed == "withdrawn"
        async with Remit(ledger=store, agents=[agent], deps=shop) as remit:
            assert isinstance(await remit.run_to_end(run.id), Finished)
            assert await remit.verify() == []

    play(story)
    assert shop.refunds == []


def test_a_queued_run_is_cancelled_at_once_and_leaves_no_words() -> None:
    async def story() -> None:
        model = ScriptedModel([BIG, "Not done.", "Hello."])
        async with opened(model, Shop()) as remit:
            first = await remit.run("support", "refund", principal=ALICE, conversation="t")
            assert isinstance(first, Paused)
            second = await remit.run("support", "second-words", principal=ALICE, conversation="t")
            await remit.cancel(second.id, by=ALICE)
            assert isinstance(await remit.standing(second.id), Cancelled)
            await remit.decide(first.approvals[0].id, allow=False, by=BOB)
            await remit.run_to_end(first.id)
            assert isinstance(await remit.run("support", "hi", principal=ALICE, conversation="t"), Finished)
            assert await remit.verify() == []
        assert b"second-words" not in model.requests[-1]

    play(story)


def test_a_late_result_settles_a_run_that_has_ended_in_the_background() -> None:
    async def story() -> None:
        release = threading.Event()

        @tool(effect=write(once_per="name", recovery=manual), timeout_s=0.05, approve=never, label=TRUSTED)
        def put(name: str) -> str:
            """Put.

            Args:
                name: which
            """
            release.wait(10)
            return "put"

        async with opened(ScriptedModel([call("put", name="x"), "It is not known."]), Shop(), put) as remit:
            run = await remit.run("support", "put", principal=ALICE)
            assert isinstance(run, Finished)
            assert run.open_operations
            seen = await remit.ledger.changed(-1, timeout_s=0)
            release.set()
            while (await remit.operations(run=run.id))[0].state == "unknown":
                seen = await remit.ledger.changed(seen, timeout_s=1)
            after = await remit.standing(run.id)
            assert isinstance(after, Finished)
            assert after.open_operations == ()

    play(story, seeded=False)


def test_a_live_run_is_cancelled_from_another_process() -> None:
    async def story() -> None:
        store = MemoryLedger()
        asked = 0

        async def hang(body: dict[str, object]) -> str:
            nonlocal asked
            asked += 1
            await asyncio.Event().wait()
            return ""

        async with (
            Remit(ledger=store, agents=[support(ScriptedModel(hang))], deps=Shop()) as remit,
            Remit(ledger=MemoryLedger(store=store)) as clerk,
        ):
            run = await remit.submit("support", "hi", principal=ALICE)
            await until(lambda: asked == 1)
            await clerk.cancel(run.id, by="bob")
            assert isinstance(await clerk.run_to_end(run.id), Cancelled)

    play(story, seeded=False)


def test_the_application_is_told_of_everything_that_waits_at_least_once() -> None:
    told: list[str] = []
    fail = True

    async def notify(approval: Approval) -> None:
        nonlocal fail
        if fail:
            fail = False
            raise OSError("the mail server is down")
        told.append(approval.preview)

    async def story() -> None:
        store = MemoryLedger()
        agent = support(ScriptedModel([[BIG, call("issue_refund", charge_id="ch_2", amount_cents=8_000)]]), TOOL)
        async with Remit(ledger=store, agents=[agent], deps=Shop(), on_waiting=notify) as remit:
            await paused(remit)
            await until(lambda: len(told) == 2)
        told.clear()
        async with Remit(ledger=store, agents=[agent], deps=Shop(), on_waiting=notify):
            await until(lambda: len(told) == 2)
        assert len(set(told)) == 2

    play(story)


def test_other_agents_waiting_runs_are_not_told() -> None:
    told: list[Approval] = []

    async def story() -> None:
        store = MemoryLedger()
        async with Remit(ledger=store, agents=[support(ScriptedModel([BIG]), TOOL)], deps=Shop()) as remit:
            await paused(remit)
            async with Remit(ledger=MemoryLedger(store=store), on_waiting=told.append):
                for _ in range(20):
                    await store.run("x")  # type: ignore[arg-type]
                    await asyncio.sleep(0)

    play(story)
    assert told == []
