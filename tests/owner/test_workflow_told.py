"""What others tell a workflow's run: settlements, withdrawals, answers; and what its ledger or its code does to it."""

from __future__ import annotations

import asyncio
from contextlib import suppress

import pytest

from owner.test_workflow import flow_of, run
from remit import (
    TRUSTED,
    Approval,
    Conflict,
    Escalated,
    Finished,
    LedgerError,
    MemoryLedger,
    Paused,
    Remit,
    Standing,
    Succeeded,
    ask_user,
    never,
    tool,
)
from remit.types.delivery import LateReport
from remit.types.ledger import Append, Committed
from remit.workflow import Flow, StepFailed, undo, workflow
from workflow.stage import (
    ALICE,
    BOB,
    World,
    blind_pay,
    book,
    mail,
    pay,
    play,
    signed_pay,
    signed_unbook,
    unbook,
    until,
    writes,
)


def test_what_is_unknown_when_it_ends_is_settled_later_and_its_end_stays() -> None:
    async def body(flow: Flow[World], name: str) -> object:
        await flow.call(blind_pay, name=name)

    async def story() -> None:
        async with Remit(MemoryLedger(), workflows=[flow_of(body)], deps=World(hang={"blind_pay"})) as remit:
            ended = await run(remit)
            assert isinstance(ended, Escalated)
            (operation,) = await remit.operations(run=ended.id)
            settled = await remit.settle(operation, True, by=BOB, reason="the statement shows it")
            assert settled.state == "succeeded"
            after = await remit.run_to_end(ended.id)
            assert isinstance(after, Escalated)
            assert after.open_operations == ()
            assert await remit.verify() == []

    play(story)


def test_recover_asks_the_books_about_what_an_ended_workflow_left_unknown() -> None:
    async def body(flow: Flow[World], name: str) -> object:
        await flow.call(pay, name=name)

    async def story() -> None:
        world = World(hang={"pay"}, blind={"pay"})
        async with Remit(MemoryLedger(), workflows=[flow_of(body)], deps=world) as remit:
            ended = await run(remit)
            assert isinstance(ended, Escalated)
            assert len(await remit.recover()) == 1
            world.blind = set()
            assert await remit.recover() == []
            (operation,) = await remit.operations(run=ended.id)
            assert (operation.state, operation.settled_by) == ("succeeded", "reconciler")

    play(story, seeded=False)


@pytest.mark.parametrize("here", [True, False])
def test_a_step_that_is_withdrawn_fails_wherever_that_was_said(here: bool) -> None:
    async def body(flow: Flow[World], name: str) -> object:
        await flow.call(signed_pay, name=name)

    async def story() -> None:
        world, store = World(), MemoryLedger()
        async with Remit(store, workflows=[flow_of(body)], deps=world) as remit:
            paused = await run(remit)
            assert isinstance(paused, Paused)
            operation = paused.approvals[0].operation
            assert operation is not None
            if here:
                await remit.withdraw(operation, by=ALICE)
                ended = await remit.run_to_end(paused.id)
        if not here:
            async with Remit(MemoryLedger(store=store)) as clerk:
                await clerk.withdraw(operation, by=ALICE)
            async with Remit(MemoryLedger(store=store), workflows=[flow_of(body)], deps=world) as remit:
                ended = await remit.run_to_end(paused.id)
        assert isinstance(ended, Escalated)
        assert ended.reason == "withdrawn"
        assert world.done == []

    play(story)


def test_a_workflow_asks_a_question_and_everybody_who_waits_is_told() -> None:
    told: list[str] = []

    async def trip(flow: Flow[World], name: str) -> object:
        return await flow.call(ask_user, question="Which colour?")

    async def story() -> None:
        def waits(approval: Approval) -> None:
            told.append(approval.preview)

        made = workflow(tools=[ask_user])(trip)
        async with Remit(MemoryLedger(), workflows=[made], deps=World(), on_waiting=waits) as remit:
            paused = await run(remit)
            assert isinstance(paused, Paused)
            await until(lambda: told == ["Which colour?"])
            await remit.answer(paused.questions[0], "blue", by=ALICE)
            finished = await remit.run_to_end(paused.id)
            assert isinstance(finished, Finished)
            assert finished.answer == "blue"

    play(story, seeded=False)


def test_what_a_person_settles_while_it_waits_is_what_its_end_says() -> None:
    async def body(flow: Flow[World], name: str) -> object:
        with suppress(StepFailed):
            await flow.call(blind_pay, name=name, step="b")
        await flow.call(book, name=name, undo=undo(signed_unbook, name=name))
        raise ValueError("no")

    async def story(happened: bool) -> str:
        world = World(hang={"blind_pay"})
        async with Remit(MemoryLedger(), workflows=[flow_of(body)], deps=world) as remit:
            paused = await run(remit)
            assert isinstance(paused, Paused)
            await remit.settle(paused.open_operations[0], happened, by=BOB, reason="looked")
            await remit.decide(paused.approvals[0], True, by=BOB)
            ended = await remit.run_to_end(paused.id)
            assert isinstance(ended, Escalated)
            return str(ended.explanation)

    assert "'b'" not in play(lambda: story(False))
    assert "nothing takes it back" in play(lambda: story(True)).partition("'b'")[2]


def test_what_is_heard_later_of_a_step_that_failed_is_named() -> None:
    hangs = writes("hangs")

    @tool(name="hangs", effect=hangs.effect, timeout_s=0.1, approve=never, label=TRUSTED)
    async def enter(name: str) -> str:
        """Hang.

        Args:
            name: at what
        """
        await asyncio.Event().wait()
        return name

    async def trip(flow: Flow[World], name: str) -> object:
        with suppress(StepFailed):
            await flow.call(enter, name=name, step="h")
        await flow.approve("Go on?")
        raise ValueError("no")

    async def story() -> None:
        ledger = MemoryLedger()
        async with Remit(ledger, workflows=[workflow(tools=[enter])(trip)], deps=World()) as remit:
            paused = await run(remit)
            assert isinstance(paused, Paused)
            (row,) = await remit.operations(run=paused.id)
            assert row.state == "failed"
            await ledger.post(paused.id, LateReport(operation=row.id, attempt=row.attempt, outcome=Succeeded(value="late")))
            await remit.decide(paused.approvals[0], True, by=BOB)
            ended = await remit.run_to_end(paused.id)
            assert isinstance(ended, Escalated)
            assert f"step 'h' ({row.id}): done, and nothing takes it back" in str(ended.explanation)

    play(story, seeded=False)


def test_who_waits_is_not_told_that_another_was_faster() -> None:
    class Late(MemoryLedger):
        lost = False

        async def commit(self, append: Append) -> Committed:
            if not Late.lost and append.claim:
                Late.lost = True
                await joined.wait()
                raise Conflict("the run stands at event 9, not 3", code="journal.sequence")
            return await super().commit(append)

    joined = asyncio.Event()

    async def body(flow: Flow[World], name: str) -> object:
        return await flow.call(signed_pay, name=name)

    async def story() -> None:
        world = World()
        async with Remit(Late(), workflows=[flow_of(body)], deps=world) as remit:
            paused = await run(remit)
            assert isinstance(paused, Paused)
            deciding = asyncio.ensure_future(remit.decide(paused.approvals[0], True, by=BOB))
            await until(lambda: Late.lost)
            waiting = asyncio.ensure_future(remit.run_to_end(paused.id))
            for _ in range(50):
                await asyncio.sleep(0)
            joined.set()
            await deciding
            assert isinstance(await waiting, Finished)
        assert world.done == ["signed_pay x"]

    play(story)


def test_where_the_ledger_fails_the_function_cannot_go_on_and_the_same_owner_takes_the_run_up_again() -> None:
    class Broken(MemoryLedger):
        broken = False

        async def commit(self, append: Append) -> Committed:
            if Broken.broken:
                Broken.broken = False
                raise LedgerError("the disk is full")
            return await super().commit(append)

    calls = 0

    async def body(flow: Flow[World], name: str) -> object:
        nonlocal calls
        calls += 1
        await flow.call(book, name=name)
        Broken.broken = calls == 1
        with suppress(Exception):
            await flow.call(pay, name=name)
        return await flow.call(mail, name=name)

    async def story() -> None:
        world = World()
        async with Remit(Broken(), workflows=[flow_of(body)], deps=world) as remit:
            submitted = await remit.submit("trip", {"name": "x"}, principal=ALICE)
            with pytest.raises(LedgerError):
                await remit.run_to_end(submitted.id)
            assert isinstance(await remit.run_to_end(submitted.id), Finished)
            assert await remit.verify() == []
        assert world.done == ["book x", "pay x", "mail x"]

    play(story, seeded=False)


def test_an_input_that_the_code_of_now_does_not_take_ends_the_run() -> None:
    async def body(flow: Flow[World], name: str) -> object:
        await flow.approve("Go on?")

    async def trip(flow: Flow[World], number: int) -> object:
        return number

    async def story() -> Standing:
        store = MemoryLedger()
        async with Remit(store, workflows=[flow_of(body)], deps=World()) as remit:
            paused = await run(remit)
            assert isinstance(paused, Paused)
        async with Remit(MemoryLedger(store=store), workflows=[workflow()(trip)], deps=World()) as remit:
            await remit.decide(paused.approvals[0], True, by=BOB)
            return await remit.run_to_end(paused.id)

    ended = play(story)
    assert isinstance(ended, Escalated)
    assert ended.reason == "workflow.changed"


def test_what_a_tool_says_of_a_secret_reaches_neither_function_nor_end() -> None:
    async def body(flow: Flow[World], name: str) -> object:
        said = str(await flow.call(book, name="hunter2-x"))
        await flow.check("right", lambda ctx: "hunter2-x is wrong")
        return said

    async def story() -> None:
        async with Remit(MemoryLedger(), workflows=[flow_of(body, secrets=["hunter2-x"])], deps=World()) as remit:
            ended = await run(remit)
            assert isinstance(ended, Escalated)
            assert "hunter2" not in str(ended.explanation)
            assert "is wrong" in str(ended.explanation)

    play(story)


def test_a_dry_run_changes_nothing_and_says_where_it_would_have() -> None:
    shown_book = writes("book", preview=lambda a: f"Book {a.name}.", approve=never)

    async def trip(flow: Flow[World], name: str) -> object:
        await flow.call(shown_book, name=name, undo=undo(unbook, name=name))

    async def story() -> None:
        world = World()
        async with Remit(workflows=[workflow(tools=[shown_book, unbook])(trip)], deps=world, dry_run=True) as remit:
            ended = await run(remit)
            assert isinstance(ended, Escalated)
            assert ended.reason == "dry_run"
            assert "Book x" in str(ended.explanation)
        assert world.done == []

    play(story)


def test_two_steps_of_one_effect_that_wait_share_the_answer_and_are_taken_back_once() -> None:
    async def body(flow: Flow[World], name: str) -> object:
        back = undo(unbook, name=name)
        await asyncio.gather(
            flow.call(signed_pay, name=name, step="a", undo=back), flow.call(signed_pay, name=name, step="b", undo=back)
        )
        raise ValueError("no")

    async def story() -> None:
        world = World()
        async with Remit(MemoryLedger(), workflows=[flow_of(body)], deps=world) as remit:
            paused = await run(remit)
            assert isinstance(paused, Paused)
            assert len(paused.approvals) == 1
            await remit.decide(paused.approvals[0], True, by=BOB)
            ended = await remit.run_to_end(paused.id)
            assert isinstance(ended, Escalated)
        assert world.done == ["signed_pay x", "unbook x"]

    play(story)
