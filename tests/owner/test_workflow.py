"""Workflows as runs of an owner: steps made once, people, failures and what is taken back."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from remit import (
    Allow,
    Budget,
    Cancelled,
    Conflict,
    Context,
    DefinitionError,
    Deny,
    Escalated,
    Finished,
    InputError,
    MemoryLedger,
    NotFound,
    Paused,
    Principal,
    Remit,
    Request,
    RunOwned,
    Standing,
    Stopped,
    ambient,
)
from remit.types.delivery import CancelRun, Delivery
from remit.types.event import Resumed, UndoBegun
from remit.types.ident import RunId
from remit.workflow import Flow, StepFailed, Undoing, Workflow, undo, workflow
from workflow.stage import (
    ALICE,
    BOB,
    EVERY,
    World,
    blind_pay,
    book,
    look,
    mail,
    pay,
    play,
    read_mail,
    scoped_pay,
    signed_pay,
    signed_unbook,
    unbook,
    unpay,
    until,
)

Body = Callable[[Flow[World], str], Awaitable[object]]


def flow_of(body: Body, **options: object) -> Workflow:
    """A workflow named `trip` that does this."""

    async def trip(flow: Flow[World], name: str) -> object:
        return await body(flow, name)

    return workflow(tools=EVERY, name="trip", **options)(trip)  # type: ignore[arg-type]


async def run(remit: Remit, name: str = "x", **more: object) -> Standing:
    return await remit.run("trip", {"name": name}, principal=ALICE, **more)  # type: ignore[arg-type]


def said(body: Body, world: World | None = None, **options: object) -> Standing:
    """How one run of it stands."""

    async def story() -> Standing:
        async with Remit(MemoryLedger(), workflows=[flow_of(body, **options)], deps=world or World()) as remit:
            standing = await run(remit)
            assert await remit.verify() == []
            return standing

    return play(story)


# forward


def test_a_workflow_ends_with_what_its_function_returns() -> None:
    world = World()

    async def body(flow: Flow[World], name: str) -> object:
        found = await flow.call(look, name=name)
        await flow.call(book, name=found["name"])  # type: ignore[index,call-overload]
        await flow.check("booked", lambda ctx: "book x" in ctx.deps.done)
        return {"for": flow.principal.subject, "booked": name, "world": flow.deps is world}

    standing = said(body, world)
    assert isinstance(standing, Finished)
    assert standing.answer == {"for": "alice", "booked": "x", "world": True}
    assert standing.verified
    assert world.done == ["book x"]


def test_it_waits_for_a_person_and_what_was_done_before_is_not_done_again() -> None:
    async def body(flow: Flow[World], name: str) -> object:
        await flow.call(look, name=name)
        await flow.call(book, name=name)
        await flow.approve(f"Pay for {name}?", scope="billing:approve")
        return await flow.call(pay, name=name)

    async def story() -> None:
        world = World()
        async with Remit(MemoryLedger(), workflows=[flow_of(body)], deps=world) as remit:
            paused = await run(remit, request_id="r1")
            assert isinstance(paused, Paused)
            (asked,) = paused.approvals
            assert (asked.preview, asked.scope) == ("Pay for x?", "billing:approve")
            assert await remit.resume(paused.id) == paused
            await remit.decide(asked, True, by=BOB)
            finished = await run(remit, request_id="r1")
            assert isinstance(finished, Finished)
            assert (finished.id, finished.answer) == (paused.id, "pay x")
            assert await run(remit, request_id="r1") == finished
            assert await remit.verify() == []
        assert (world.done, world.reads) == (["book x", "pay x"], 1)

    play(story)


def test_a_step_whose_tool_asks_waits_as_well_and_goes_on_in_another_process(tmp_path: Path) -> None:
    async def body(flow: Flow[World], name: str) -> object:
        return await flow.call(signed_pay, name=name)

    async def story() -> None:
        world, path = World(), tmp_path / "r.db"
        async with Remit(path, workflows=[flow_of(body)], deps=world) as first:
            paused = await run(first)
            assert isinstance(paused, Paused)
        async with Remit(path) as clerk:
            await clerk.decide(paused.approvals[0], True, by=BOB)
        assert world.done == []
        async with Remit(path, workflows=[flow_of(body)], deps=world) as second:
            assert isinstance(await second.run_to_end(paused.id), Finished)
            assert await second.verify() == []
        assert world.done == ["signed_pay x"]

    play(story, seeded=False)


def test_a_no_fails_the_step_and_the_function_may_go_another_way() -> None:
    async def body(flow: Flow[World], name: str) -> object:
        try:
            await flow.approve("Pay?")
        except StepFailed as failed:
            await flow.call(mail, name=name)
            return [failed.code, failed.step, failed.tool, failed.outcome.kind]
        return await flow.call(pay, name=name)

    async def story() -> None:
        world = World()
        async with Remit(MemoryLedger(), workflows=[flow_of(body)], deps=world) as remit:
            paused = await run(remit)
            assert isinstance(paused, Paused)
            await remit.decide(paused.approvals[0], False, by=BOB)
            finished = await remit.run_to_end(paused.id)
            assert isinstance(finished, Finished)
            assert finished.answer == ["denied", "approve#1", "approve", "refused"]
        assert world.done == ["mail x"]

    play(story)


def test_an_approval_that_nobody_decides_expires_and_the_run_goes_on_by_itself() -> None:
    async def body(flow: Flow[World], name: str) -> object:
        await flow.approve("Pay?", expires_s=60)

    async def story() -> None:
        with ambient.use(ambient.Seeded()) as clock:
            assert isinstance(clock, ambient.Seeded)
            async with Remit(MemoryLedger(), workflows=[flow_of(body)], deps=World()) as remit:
                paused = await run(remit)
                assert isinstance(paused, Paused)
                clock.advance(61)
                ended = await remit.resume(paused.id)
                assert isinstance(ended, Escalated)
                assert ended.reason == "expired"

    play(story, seeded=False)


def test_an_approver_who_changes_the_sentence_has_not_said_yes_to_it() -> None:
    async def body(flow: Flow[World], name: str) -> object:
        await flow.approve("Pay 500?", scope="billing:approve")
        return await flow.call(pay, name=name)

    async def story() -> None:
        world = World()
        async with Remit(MemoryLedger(), workflows=[flow_of(body)], deps=world) as remit:
            paused = await run(remit)
            assert isinstance(paused, Paused)
            other = {"sentence": "Pay 5?", "scope": "billing:approve", "two_person": False, "expires_s": 60}
            await remit.decide(paused.approvals[0], True, by=BOB, arguments=other)
            ended = await remit.run_to_end(paused.id)
            assert isinstance(ended, Escalated)
            assert ended.reason == "approval.edited"
        assert world.done == []

    play(story)


def test_a_function_that_swallows_everything_cannot_go_past_a_step_that_waits() -> None:
    async def body(flow: Flow[World], name: str) -> object:
        with suppress(BaseException):
            await flow.call(signed_pay, name=name)
        with suppress(BaseException):
            await flow.call(mail, name=name)
        return "done"

    world = World()
    standing = said(body, world)
    assert isinstance(standing, Paused)
    assert world.done == []


def test_a_step_that_waits_is_no_failure_that_the_function_could_catch() -> None:
    async def body(flow: Flow[World], name: str) -> object:
        try:
            await flow.call(signed_pay, name=name)
        except Exception:
            flow.deps.done.append("another way")

    world = World()
    assert isinstance(said(body, world), Paused)
    assert world.done == []


def test_a_function_that_waits_for_what_a_paused_step_would_have_given_is_left_and_the_run_is_paused() -> None:
    async def body(flow: Flow[World], name: str) -> object:
        said: asyncio.Queue[object] = asyncio.Queue()

        async def asks() -> None:
            said.put_nowait(await flow.call(signed_pay, name=name))

        async with asyncio.timeout(None):
            asking = asyncio.ensure_future(asks())
            try:
                return await said.get()
            finally:
                await asyncio.gather(asking, return_exceptions=True)

    async def story() -> None:
        world = World()
        async with Remit(MemoryLedger(), workflows=[flow_of(body)], deps=world) as remit:
            paused = await run(remit)
            assert isinstance(paused, Paused)
            await remit.decide(paused.approvals[0], True, by=BOB)
            finished = await remit.run_to_end(paused.id)
            assert isinstance(finished, Finished)
            assert finished.answer == "signed_pay x"
        assert world.done == ["signed_pay x"]

    play(story)


def test_a_function_that_cancels_itself_has_failed() -> None:
    async def body(flow: Flow[World], name: str) -> object:
        await flow.call(book, name=name, undo=undo(unbook, name=name))
        task = asyncio.current_task()
        assert task is not None
        task.cancel()
        return await flow.call(pay, name=name)

    world = World()
    ended = said(body, world)
    assert isinstance(ended, Escalated)
    assert ended.reason == "workflow.error"
    assert world.done in (["book x", "unbook x"], ["book x", "pay x", "unbook x"])


def test_what_a_person_approved_is_not_asked_again_for_what_was_read_beside_it() -> None:
    async def body(flow: Flow[World], name: str) -> object:
        await asyncio.gather(flow.call(signed_pay, name=name, step="a"), flow.call(read_mail, name=name, step="b"))

    async def story() -> None:
        world = World()
        async with Remit(MemoryLedger(), workflows=[flow_of(body)], deps=world) as remit:
            paused = await run(remit)
            assert isinstance(paused, Paused)
            await remit.decide(paused.approvals[0], True, by=BOB)
            assert isinstance(await remit.run_to_end(paused.id), Finished)
        assert world.done == ["signed_pay x"]

    play(story)


def test_steps_side_by_side_may_all_wait_and_each_is_made_once() -> None:
    async def body(flow: Flow[World], name: str) -> object:
        return await asyncio.gather(
            flow.call(signed_pay, name="a", step="first"),
            flow.call(signed_pay, name="b", step="second"),
            flow.call(book, name="c", step="third"),
        )

    async def story() -> None:
        world = World()
        async with Remit(MemoryLedger(), workflows=[flow_of(body)], deps=world) as remit:
            paused = await run(remit)
            assert isinstance(paused, Paused)
            assert len(paused.approvals) == 2
            await remit.decide(paused.approvals[1], True, by=BOB)
            paused = await remit.run_to_end(paused.id)
            assert isinstance(paused, Paused)
            await remit.decide(paused.approvals[0], True, by=BOB)
            finished = await remit.run_to_end(paused.id)
            assert isinstance(finished, Finished)
            assert finished.answer == ["signed_pay a", "signed_pay b", "book c"]
        assert world.done == ["book c", "signed_pay b", "signed_pay a"]

    play(story)


def test_in_a_task_group_a_step_that_waits_pauses_the_run_as_well() -> None:
    async def body(flow: Flow[World], name: str) -> object:
        async with asyncio.TaskGroup() as group:
            group.create_task(flow.call(signed_pay, name="a", step="first"))
            group.create_task(flow.call(book, name="b", step="second"))
        return "done"

    world = World()
    assert isinstance(said(body, world), Paused)
    assert world.done == ["book b"]


def test_a_step_that_is_not_allowed_is_refused_and_rules_of_the_workflow_count() -> None:
    def rule(request: Request) -> Allow | Deny | None:
        return Deny("not here") if request.tool == "pay" else None

    async def body(flow: Flow[World], name: str) -> object:
        await flow.call(scoped_pay, name=name)
        await flow.call(pay, name=name)

    async def story() -> None:
        world = World()
        async with Remit(MemoryLedger(), workflows=[flow_of(body, policy=rule)], deps=world) as remit:
            denied = await run(remit)
            assert isinstance(denied, Escalated)
            assert denied.reason == "policy.denied"
            poor = await remit.run("trip", {"name": "y"}, principal=Principal("carol", tenant="acme"))
            assert isinstance(poor, Escalated)
            assert poor.reason == "scope.missing"
        assert world.done == ["scoped_pay x"]

    play(story)


def test_what_untrusted_text_may_have_chosen_needs_a_person() -> None:
    async def body(flow: Flow[World], name: str) -> object:
        text = await flow.call(read_mail, name=name)
        if "pay" in str(text):
            await flow.call(pay, name=name)

    standing = said(body)
    assert isinstance(standing, Paused)
    assert "read_mail" in standing.approvals[0].reasons[0]


def test_a_long_result_reaches_the_function_whole() -> None:
    async def body(flow: Flow[World], name: str) -> object:
        found = await flow.call(look, name="n" * 50_000)
        return len(found["name"])  # type: ignore[index,call-overload,arg-type]

    standing = said(body)
    assert isinstance(standing, Finished)
    assert standing.answer == 50_000


# failing


async def trip_that_fails(flow: Flow[World], name: str) -> object:
    """Books and pays, then cannot send the mail."""
    await flow.call(book, name=name, undo=lambda done: undo(unbook, name=str(done).split()[1]))
    await flow.call(pay, name=name, undo=undo(unpay, name=name))
    await flow.call(mail, name=name)
    return "done"


def test_when_a_step_fails_what_was_done_is_taken_back_the_last_first() -> None:
    world = World(decline={"mail"})
    standing = said(trip_that_fails, world)
    assert isinstance(standing, Escalated)
    assert (standing.reason, standing.open_operations) == ("no_effect", ())
    assert standing.explanation is not None
    assert "mail was declined" in standing.explanation
    assert "taken back: pay#1, book#1" in standing.explanation
    assert "not taken back" not in standing.explanation
    assert world.done == ["book x", "pay x", "unpay x", "unbook x"]


def test_an_undo_that_cannot_be_made_is_named_and_the_others_are_made() -> None:
    world = World(decline={"mail", "unpay"})
    standing = said(trip_that_fails, world)
    assert isinstance(standing, Escalated)
    assert standing.explanation is not None
    assert "taken back: book#1" in standing.explanation
    assert "'pay#1' (op_" in standing.explanation
    assert "unpay was declined" in standing.explanation
    assert world.done == ["book x", "pay x", "unbook x"]


def test_what_nothing_takes_back_is_named() -> None:
    async def body(flow: Flow[World], name: str) -> object:
        await flow.call(book, name=name)
        await flow.check("right", lambda ctx: "the books are wrong")

    standing = said(body)
    assert isinstance(standing, Escalated)
    assert standing.reason == "check.not"
    assert standing.explanation is not None
    assert "the books are wrong" in standing.explanation
    assert "'book#1'" in standing.explanation
    assert "nothing takes it back" in standing.explanation


def test_a_step_that_may_have_happened_is_named_and_what_was_done_before_is_taken_back() -> None:
    async def body(flow: Flow[World], name: str) -> object:
        await flow.call(book, name=name, undo=undo(unbook, name=name))
        await flow.call(blind_pay, name=name, undo=undo(unpay, name=name))

    world = World(hang={"blind_pay"})
    standing = said(body, world)
    assert isinstance(standing, Escalated)
    assert standing.reason == "unknown"
    assert len(standing.open_operations) == 1
    assert standing.explanation is not None
    assert f"'blind_pay#1' ({standing.open_operations[0]}): may have happened" in standing.explanation
    assert world.done == ["book x", "blind_pay x", "unbook x"]


def test_an_undo_may_need_a_person_and_the_run_goes_on_with_it() -> None:
    async def body(flow: Flow[World], name: str) -> object:
        await flow.call(pay, name=name, undo=undo(unpay, name=name))
        await flow.call(book, name=name, undo=undo(signed_unbook, name=name))
        raise ValueError("no")

    async def story() -> None:
        world, store = World(), MemoryLedger()
        async with Remit(store, workflows=[flow_of(body)], deps=world) as remit:
            paused = await run(remit)
            assert isinstance(paused, Paused)
            assert world.done == ["pay x", "book x"]
        async with Remit(MemoryLedger(store=store), workflows=[flow_of(body)], deps=world) as remit:
            await remit.decide(paused.approvals[0], True, by=BOB)
            ended = await remit.run_to_end(paused.id)
            assert isinstance(ended, Escalated)
            assert ended.reason == "workflow.error"
            assert ended.explanation is not None
            assert "ValueError" in ended.explanation
            assert "taken back: book#1, pay#1" in ended.explanation
        assert world.done == ["pay x", "book x", "signed_unbook x", "unpay x"]

    play(story)


def edited(body: Body, world: World) -> Standing:
    """How a run stands once its approver has said yes to something else."""

    async def story() -> Standing:
        async with Remit(MemoryLedger(), workflows=[flow_of(body)], deps=world) as remit:
            paused = await run(remit)
            assert isinstance(paused, Paused)
            await remit.decide(paused.approvals[0], True, by=BOB, arguments={"name": "another"})
            return await remit.run_to_end(paused.id)

    return play(story)


def test_a_step_of_which_an_approver_changed_the_arguments_is_named_and_what_was_not_done_is_not_taken_back() -> None:
    async def body(flow: Flow[World], name: str) -> object:
        await flow.call(book, name=name, undo=undo(unbook, name=name))
        await flow.call(signed_pay, name=name, undo=undo(unpay, name=name))
        raise ValueError("no")

    world = World()
    ended = edited(body, world)
    assert isinstance(ended, Escalated)
    assert "taken back: book#1. not taken back: step 'signed_pay#1'" in str(ended.explanation)
    assert "an approver's arguments" in str(ended.explanation)
    assert world.done == ["book x", "signed_pay another", "unbook x"]


def test_an_undo_of_which_an_approver_changed_the_arguments_has_not_taken_its_step_back() -> None:
    async def body(flow: Flow[World], name: str) -> object:
        await flow.call(book, name=name, undo=undo(signed_unbook, name=name))
        raise ValueError("no")

    world = World()
    ended = edited(body, world)
    assert isinstance(ended, Escalated)
    assert "not taken back: step 'book#1'" in str(ended.explanation)
    assert world.done == ["book x", "signed_unbook another"]


def test_an_approver_who_writes_the_same_arguments_has_changed_nothing() -> None:
    async def body(flow: Flow[World], name: str) -> object:
        await flow.call(signed_pay, name=name, undo=undo(unpay, name=name))
        raise ValueError("no")

    async def story() -> None:
        world = World()
        async with Remit(MemoryLedger(), workflows=[flow_of(body)], deps=world) as remit:
            paused = await run(remit)
            assert isinstance(paused, Paused)
            await remit.decide(paused.approvals[0], True, by=BOB, arguments={"name": "x"})
            ended = await remit.run_to_end(paused.id)
            assert isinstance(ended, Escalated)
            assert "taken back: signed_pay#1" in str(ended.explanation)
        assert world.done == ["signed_pay x", "unpay x"]

    play(story)


def test_an_undo_that_had_been_made_before_its_step_has_not_taken_it_back() -> None:
    async def body(flow: Flow[World], name: str) -> object:
        await flow.call(book, name="first" if not flow.deps.done else "second", undo=undo(unbook, name=name))
        raise ValueError("no")

    async def story() -> None:
        world = World()
        async with Remit(MemoryLedger(), workflows=[flow_of(body)], deps=world) as remit:
            first, second = await run(remit), await run(remit)
            assert isinstance(first, Escalated)
            assert "taken back: book#1" in str(first.explanation)
            assert "not taken back" not in str(first.explanation)
            assert isinstance(second, Escalated)
            assert "not taken back: step 'book#1'" in str(second.explanation)
            assert "made before" in str(second.explanation)
        assert world.done == ["book first", "unbook x", "book second"]

    play(story)


def test_a_write_whose_end_the_function_did_not_wait_for_is_taken_back() -> None:
    async def body(flow: Flow[World], name: str) -> object:
        with suppress(TimeoutError):
            async with asyncio.timeout(0):
                await flow.call(book, name=name, undo=undo(unbook, name=name), step="b")
        return "not booked"

    world = World()
    ended = said(body, world)
    assert isinstance(ended, Escalated)
    assert ended.reason == "workflow.unheard"
    assert ended.explanation == "the function did not wait for the end of step 'b'. taken back: b"
    assert world.done == ["book x", "unbook x"]


def test_an_effect_that_another_run_had_made_is_not_taken_back() -> None:
    world = World()

    def back(done: object) -> Undoing:
        world.reads += 1
        return undo(unbook, name="shared")

    async def body(flow: Flow[World], name: str) -> object:
        await flow.call(book, name="shared", undo=back)
        if name == "y":
            raise ValueError("no")

    async def story() -> None:
        async with Remit(MemoryLedger(), workflows=[flow_of(body)], deps=world) as remit:
            assert isinstance(await run(remit), Finished)
            ended = await run(remit, "y")
            assert isinstance(ended, Escalated)
            assert ended.explanation == "the function raised ValueError"
        assert (world.done, world.reads) == (["book shared"], 1)

    play(story)


def test_a_failure_beside_a_step_that_waits_voids_what_was_asked() -> None:
    async def body(flow: Flow[World], name: str) -> object:
        await flow.call(book, name=name, undo=undo(signed_unbook, name=name))
        await asyncio.gather(
            flow.call(look, name=name, step="a"), flow.call(signed_pay, name=name, step="b"), return_exceptions=True
        )
        raise AssertionError("it waits")

    async def story() -> None:
        world = World()
        async with Remit(MemoryLedger(), workflows=[flow_of(body)], deps=world) as remit:
            paused = await run(remit)
            assert isinstance(paused, Paused)
            await remit.decide(paused.approvals[0], False, by=BOB)
            paused = await remit.run_to_end(paused.id)
            assert isinstance(paused, Paused)
            assert [one.tool for one in paused.approvals] == ["signed_unbook"]
        assert world.done == ["book x"]

    play(story)


def test_what_an_undo_is_to_do_is_looked_at_before_its_step_where_it_can_be() -> None:
    async def body(flow: Flow[World], name: str) -> object:
        await flow.call(book, name=name, undo=undo(unbook, wrong=name))

    world = World()
    standing = said(body, world)
    assert isinstance(standing, Escalated)
    assert standing.reason == "workflow.undo"
    assert world.done == []


def test_the_answer_is_json() -> None:
    async def body(flow: Flow[World], name: str) -> object:
        return b"\x89PNG\r\n\x1a\n..."

    standing = said(body)
    assert isinstance(standing, Escalated)
    assert standing.reason == "workflow.answer"


# changed code


def test_a_step_made_otherwise_after_a_change_of_the_code_ends_the_run_and_nothing_runs() -> None:
    async def was(flow: Flow[World], name: str) -> object:
        await flow.call(book, name=name, undo=undo(unbook, name=name))
        await flow.approve("Go on?")
        return await flow.call(mail, name=name)

    async def is_now(flow: Flow[World], name: str) -> object:
        await flow.call(book, name="another", undo=undo(unbook, name=name))
        await flow.approve("Go on?")
        return await flow.call(mail, name=name)

    ended, world = changed(was, is_now)
    assert ended.reason == "workflow.changed"
    assert ended.explanation is not None
    assert "'book#1'" in ended.explanation
    assert world.done == ["book x"]


def test_a_step_that_the_code_of_now_makes_a_check_ends_the_run() -> None:
    async def was(flow: Flow[World], name: str) -> object:
        await flow.call(book, name=name, step="s")
        return await flow.approve("Go on?")

    async def is_now(flow: Flow[World], name: str) -> object:
        await flow.check("s", lambda ctx: True)
        return await flow.approve("Go on?")

    ended, world = changed(was, is_now)
    assert ended.reason == "workflow.changed"
    assert "'s'" in str(ended.explanation)
    assert world.done == ["book x"]


def test_a_step_that_the_code_of_now_does_not_make_any_more_ends_the_run() -> None:
    async def was(flow: Flow[World], name: str) -> object:
        await flow.call(book, name=name)
        await flow.approve("Go on?")

    async def is_now(flow: Flow[World], name: str) -> object:
        await flow.approve("Go on?")
        return "done"

    ended, _ = changed(was, is_now)
    assert ended.reason == "workflow.changed"
    assert ended.explanation is not None
    assert "'book#1'" in ended.explanation


def changed(was: Body, is_now: Body) -> tuple[Escalated, World]:
    """How a run ends that waited while its code was changed."""

    async def story() -> tuple[Escalated, World]:
        world, store = World(), MemoryLedger()
        async with Remit(store, workflows=[flow_of(was)], deps=world) as remit:
            paused = await run(remit)
            assert isinstance(paused, Paused)
            await remit.decide(paused.approvals[0], True, by=BOB)
            await remit.abandon()
        async with Remit(MemoryLedger(store=store), workflows=[flow_of(is_now)], deps=world) as remit:
            ended = await remit.run_to_end(paused.id)
            assert isinstance(ended, Escalated)
            return ended, world

    return play(story)


def test_what_people_are_still_asked_is_void_when_the_code_has_changed() -> None:
    async def was(flow: Flow[World], name: str) -> object:
        await asyncio.gather(flow.approve("Go on?", step="a"), flow.approve("Really?", step="b"))

    async def is_now(flow: Flow[World], name: str) -> object:
        await flow.approve("Something else?", step="a")

    async def story() -> None:
        store = MemoryLedger()
        async with Remit(store, workflows=[flow_of(was)], deps=World()) as remit:
            paused = await run(remit)
            assert isinstance(paused, Paused)
            await remit.decide(next(one for one in paused.approvals if one.call == "step:a"), True, by=BOB)
            await remit.abandon()
        async with Remit(MemoryLedger(store=store), workflows=[flow_of(is_now)], deps=World()) as remit:
            ended = await remit.run_to_end(paused.id)
            assert isinstance(ended, Escalated)
            assert ended.reason == "workflow.changed"
            assert await remit.approvals() == []

    play(story)


# requests


def test_the_same_request_while_it_runs_joins_it_and_another_input_under_its_id_is_a_conflict() -> None:
    async def body(flow: Flow[World], name: str) -> object:
        return await flow.call(book, name=name)

    async def story() -> None:
        world = World()
        async with Remit(MemoryLedger(), workflows=[flow_of(body)], deps=world) as remit:
            both = await asyncio.gather(run(remit, request_id="r1"), run(remit, request_id="r1"))
            assert both[0] == both[1]
            with pytest.raises(Conflict) as error:
                await run(remit, "y", request_id="r1")
            assert error.value.code == "request.conflict"
        assert world.done == ["book x"]

    play(story)


def test_two_owners_at_once_are_one_run_and_one_effect(tmp_path: Path) -> None:
    async def body(flow: Flow[World], name: str) -> object:
        await flow.call(look, name=name)
        return await flow.call(book, name=name)

    async def story() -> None:
        world, path = World(), tmp_path / "r.db"
        async with (
            Remit(path, workflows=[flow_of(body)], deps=world) as first,
            Remit(path, workflows=[flow_of(body)], deps=world) as second,
        ):
            both = await asyncio.gather(*(run(one, request_id="r1") for one in (first, second)))
            assert both[0].id == both[1].id
            assert all(isinstance(one, Finished) for one in both)
            assert await first.verify() == []
        assert world.done == ["book x"]

    play(story, seeded=False)


def test_a_live_run_is_owned_and_a_request_elsewhere_takes_it_over_from_the_dead(tmp_path: Path) -> None:
    async def body(flow: Flow[World], name: str) -> object:
        return await flow.call(pay, name=name)

    async def story() -> None:
        world, path = World(hang={"pay"}), tmp_path / "r.db"
        trip = flow_of(body)
        async with Remit(path, workflows=[trip], deps=world) as first, Remit(path, workflows=[trip], deps=world) as second:
            submitted = await first.submit("trip", {"name": "x"}, principal=ALICE, request_id="r1")
            await until(lambda: bool(world.done))
            with pytest.raises(RunOwned):
                await second.resume(submitted.id)
            world.hang = set()
            await first.abandon()
            finished = await run(second, request_id="r1")
            assert isinstance(finished, Finished)
            assert (finished.id, finished.answer) == (submitted.id, "pay x")
        assert world.done == ["pay x"]

    play(story, seeded=False)


@pytest.mark.parametrize(
    ("given", "code"), [({}, "workflow.input"), ({"name": 3}, "workflow.input"), ("text", "workflow.input")]
)
def test_an_input_that_does_not_fit_starts_nothing(given: object, code: str) -> None:
    async def body(flow: Flow[World], name: str) -> object:
        return None

    async def story() -> None:
        async with Remit(MemoryLedger(), workflows=[flow_of(body)], deps=World()) as remit:
            with pytest.raises(InputError) as error:
                await remit.run("trip", given, principal=ALICE)  # type: ignore[arg-type]
            assert error.value.code == code
            with pytest.raises(InputError):
                await remit.run("trip", {"name": "x"}, principal=ALICE, conversation="c")
            with pytest.raises(NotFound):
                await remit.run(flow_of(body), {"name": "x"}, principal=ALICE)
            assert await remit.runs() == []

    play(story)


def test_its_steps_are_followed_and_streamed_as_any_runs() -> None:
    async def body(flow: Flow[World], name: str) -> object:
        return await flow.call(book, name=name)

    async def story() -> None:
        trip = flow_of(body)
        async with Remit(MemoryLedger(), workflows=[trip], deps=World()) as remit:
            *steps, last = [one async for one in remit.stream(trip, {"name": "x"}, principal=ALICE)]
            assert isinstance(last, Finished)
            followed = [one async for one in remit.follow(last.id)]
            assert [one.event.kind for one in followed] == [one.event.kind for one in steps]  # type: ignore[union-attr]
            assert followed[-1].event.kind == "run.ended"

    play(story)


def test_a_workflow_and_an_agent_of_one_name_are_refused() -> None:
    async def body(flow: Flow[World], name: str) -> object:
        return None

    with pytest.raises(DefinitionError) as error:
        Remit(MemoryLedger(), workflows=[flow_of(body), flow_of(body)])
    assert error.value.code == "owner.workflows"


# cancel, budgets, scopes


def test_a_cancel_while_a_write_runs_waits_for_it_starts_nothing_and_takes_nothing_back() -> None:
    async def body(flow: Flow[World], name: str) -> object:
        await flow.call(book, name=name, undo=undo(unbook, name=name))
        await flow.call(pay, name=name, undo=undo(unpay, name=name))
        await flow.call(mail, name=name)

    async def story() -> None:
        world = World(hang={"pay"})
        async with Remit(MemoryLedger(), workflows=[flow_of(body)], deps=world) as remit:
            submitted = await remit.submit("trip", {"name": "x"}, principal=ALICE)
            await until(lambda: len(world.done) == 2)
            await remit.cancel(submitted.id, by="bob")
            ended = await remit.run_to_end(submitted.id)
            assert isinstance(ended, Cancelled)
            assert ended.explanation is not None
            assert "'book#1'" in ended.explanation
            assert "'pay#1'" in ended.explanation
            assert await remit.verify() == []
        assert world.done == ["book x", "pay x"]

    play(story, seeded=False)


def test_a_cancel_reaches_a_function_that_only_waits_and_a_run_that_is_paused() -> None:
    async def body(flow: Flow[World], name: str) -> object:
        if name == "sleeps":
            flow.deps.reads += 1
            await asyncio.Event().wait()
        await flow.approve("Go on?")

    async def story() -> None:
        world = World()
        async with Remit(MemoryLedger(), workflows=[flow_of(body)], deps=world) as remit:
            submitted = await remit.submit("trip", {"name": "sleeps"}, principal=ALICE)
            await until(lambda: world.reads == 1)
            await remit.cancel(submitted.id, by="bob")
            assert isinstance(await remit.run_to_end(submitted.id), Cancelled)
            paused = await run(remit)
            assert isinstance(paused, Paused)
            await remit.cancel(paused.id, by="bob")
            assert isinstance(await remit.run_to_end(paused.id), Cancelled)
            assert await remit.approvals() == []

    play(story, seeded=False)


def test_a_cancel_that_comes_when_it_has_just_ended_changes_nothing() -> None:
    class Slow(MemoryLedger):
        async def post(self, run: RunId, delivery: Delivery) -> int:
            if isinstance(delivery, CancelRun):
                going.set()
                while (row := await self.run(run)) is not None and row.status != "ended":  # noqa: ASYNC110
                    await asyncio.sleep(0)
            return await super().post(run, delivery)

    async def body(flow: Flow[World], name: str) -> object:
        done = await flow.call(book, name=name)
        await going.wait()
        return done

    going = asyncio.Event()

    async def story() -> None:
        async with Remit(Slow(), workflows=[flow_of(body)], deps=World()) as remit:
            submitted = await remit.submit("trip", {"name": "x"}, principal=ALICE)
            await remit.cancel(submitted.id, by="carol")
            assert isinstance(await remit.run_to_end(submitted.id), Finished)
            assert [one.event.kind for one in await remit.events(submitted.id)].count("run.ended") == 1
            assert await remit.verify() == []

    play(story)


def test_a_paused_run_is_cancelled_where_its_workflow_is_not() -> None:
    async def body(flow: Flow[World], name: str) -> object:
        await flow.call(book, name=name, undo=undo(unbook, name=name))
        await flow.approve("Go on?")

    async def story() -> None:
        store = MemoryLedger()
        async with Remit(store, workflows=[flow_of(body)], deps=World()) as remit:
            paused = await run(remit)
        async with Remit(MemoryLedger(store=store)) as clerk:
            await clerk.cancel(paused.id, by="bob")
            ended = await clerk.standing(paused.id)
            assert isinstance(ended, Cancelled)
            assert "'book#1'" in str(ended.explanation)
            assert await clerk.approvals() == []
            assert await clerk.verify() == []

    play(story)


def test_a_cancel_while_it_is_taken_back_starts_no_further_undo() -> None:
    async def body(flow: Flow[World], name: str) -> object:
        await flow.call(pay, name=name, undo=undo(unpay, name=name))
        await flow.call(book, name=name, undo=undo(signed_unbook, name=name))
        raise ValueError("no")

    async def story() -> None:
        world = World()
        async with Remit(MemoryLedger(), workflows=[flow_of(body)], deps=world) as remit:
            paused = await run(remit)
            assert isinstance(paused, Paused)
            await remit.cancel(paused.id, by="bob")
            ended = await remit.run_to_end(paused.id)
            assert isinstance(ended, Cancelled)
            assert ended.explanation is not None
            assert "'book#1'" in ended.explanation
            assert "'pay#1'" in ended.explanation
        assert world.done == ["pay x", "book x"]

    play(story)


def test_a_cancel_while_an_undo_runs_awaits_it_and_starts_no_other() -> None:
    async def body(flow: Flow[World], name: str) -> object:
        await flow.call(pay, name=name, undo=undo(unpay, name=name))
        await flow.call(book, name=name, undo=undo(unbook, name=name))
        raise ValueError("no")

    async def story() -> None:
        world = World(hang={"unbook"})
        async with Remit(MemoryLedger(), workflows=[flow_of(body)], deps=world) as remit:
            submitted = await remit.submit("trip", {"name": "x"}, principal=ALICE)
            await until(lambda: "unbook x" in world.done)
            await remit.cancel(submitted.id, by="bob")
            ended = await remit.run_to_end(submitted.id)
            assert isinstance(ended, Cancelled)
            assert "'pay#1'" in str(ended.explanation)
            assert "'book#1'" not in str(ended.explanation)
        assert world.done == ["pay x", "book x", "unbook x"]

    play(story)


def test_a_cancel_that_is_only_found_when_the_run_is_let_go_ends_it() -> None:
    class Deaf(MemoryLedger):
        async def wait_inbox(self, run: RunId, *, after: int = 0, timeout_s: float) -> bool:
            await asyncio.Event().wait()
            return False

    async def body(flow: Flow[World], name: str) -> object:
        try:
            await flow.approve("Go on?")
        finally:
            await ledger.post(flow.run, CancelRun(by="carol", reason=""))

    ledger = Deaf()

    async def story() -> None:
        async with Remit(ledger, workflows=[flow_of(body)], deps=World()) as remit:
            assert isinstance(await run(remit), Cancelled)
            assert await remit.approvals() == []

    play(story)


def test_a_limit_that_is_reached_where_something_remains_needs_a_person() -> None:
    async def body(flow: Flow[World], name: str) -> object:
        await flow.call(book, name=name)
        await flow.call(pay, name=name)

    standing = said(body, budget=Budget(calls=1))
    assert isinstance(standing, Escalated)
    assert standing.reason == "budget.calls"
    assert "'book#1'" in str(standing.explanation)


def test_a_limit_of_steps_stops_the_run_and_what_was_done_is_taken_back_beyond_it() -> None:
    async def body(flow: Flow[World], name: str) -> object:
        await flow.call(book, name=name, undo=undo(unbook, name=name))
        await flow.call(pay, name=name)

    world = World()
    standing = said(body, world, budget=Budget(calls=1))
    assert isinstance(standing, Stopped)
    assert standing.reason == "budget.calls"
    assert world.done == ["book x", "unbook x"]


def test_a_deadline_that_has_passed_lets_no_step_begin() -> None:
    async def body(flow: Flow[World], name: str) -> object:
        await flow.call(book, name=name)

    world = World()
    standing = said(body, world, budget=Budget(deadline=datetime(2025, 1, 1, tzinfo=UTC)))
    assert isinstance(standing, Stopped)
    assert standing.reason == "budget.deadline"
    assert world.done == []
    assert isinstance(said(body, world, budget=Budget(deadline=datetime.now(UTC) + timedelta(days=9_000))), Finished)


def test_what_was_done_before_a_deadline_is_known_after_it_and_is_taken_back() -> None:
    async def body(flow: Flow[World], name: str) -> object:
        await flow.call(book, name=name, undo=undo(unbook, name=name))
        await flow.approve("Pay?")
        await flow.call(pay, name=name)

    async def story() -> None:
        with ambient.use(ambient.Seeded()) as clock:
            assert isinstance(clock, ambient.Seeded)
            deadline = datetime.fromtimestamp(clock.now_ms() / 1000 + 3_600, UTC)
            world = World()
            trip = flow_of(body, budget=Budget(deadline=deadline))
            async with Remit(MemoryLedger(), workflows=[trip], deps=world) as remit:
                paused = await run(remit)
                assert isinstance(paused, Paused)
                clock.advance(7_200)
                await remit.decide(paused.approvals[0], True, by=BOB)
                stopped = await remit.run_to_end(paused.id)
                assert isinstance(stopped, Stopped)
                assert stopped.reason == "budget.deadline"
            assert world.done == ["book x", "unbook x"]

    play(story, seeded=False)


def test_after_a_wait_the_scopes_of_now_count() -> None:
    async def body(flow: Flow[World], name: str) -> object:
        await flow.approve("Pay?")
        await flow.call(scoped_pay, name=name)

    async def principals(tenant: str, subject: str) -> Principal | None:
        return Principal(subject, tenant=tenant)

    async def story() -> None:
        world, store = World(), MemoryLedger()
        async with Remit(store, workflows=[flow_of(body)], deps=world) as remit:
            paused = await run(remit)
            assert isinstance(paused, Paused)
        async with Remit(MemoryLedger(store=store), workflows=[flow_of(body)], deps=world, principals=principals) as remit:
            await remit.decide(paused.approvals[0], True, by=BOB)
            ended = await remit.run_to_end(paused.id)
            assert isinstance(ended, Escalated)
            assert ended.reason == "scope.missing"
            (resumed,) = [one.event for one in await remit.events(ended.id) if isinstance(one.event, Resumed)]
            assert (resumed.scopes, resumed.scopes_from) == ((), "principals")
        assert world.done == []

    play(story)


# crashes


def test_after_a_crash_in_the_midst_of_undos_the_function_is_not_called_again_and_each_undo_is_made_once() -> None:
    calls = 0

    async def body(flow: Flow[World], name: str) -> object:
        nonlocal calls
        calls += 1
        return await trip_that_fails(flow, name)

    async def story() -> None:
        world, store = World(decline={"mail"}, hang={"unpay"}), MemoryLedger()
        async with Remit(store, workflows=[flow_of(body)], deps=world) as remit:
            submitted = await remit.submit("trip", {"name": "x"}, principal=ALICE)
            await until(lambda: len(world.done) == 3)
            await remit.abandon()
        world.hang = set()
        async with Remit(MemoryLedger(store=store), workflows=[flow_of(body)], deps=world) as remit:
            ended = await remit.run_to_end(submitted.id)
            assert isinstance(ended, Escalated)
            assert ended.explanation is not None
            assert "taken back: pay#1, book#1" in ended.explanation
            begun = [one for one in await remit.events(ended.id) if isinstance(one.event, UndoBegun)]
            assert len(begun) == 1
            assert await remit.verify() == []
        assert calls == 1
        assert world.done == ["book x", "pay x", "unpay x", "unbook x"]

    play(story, seeded=False)


def test_a_check_that_was_made_is_not_made_again() -> None:
    asked = 0

    async def body(flow: Flow[World], name: str) -> object:
        async def free(ctx: Context[World]) -> bool:
            nonlocal asked
            asked += 1
            return f"book {name}" not in ctx.deps.done

        await flow.check("free", free)
        await flow.call(book, name=name)
        await flow.approve("Go on?")
        return "done"

    async def story() -> None:
        async with Remit(MemoryLedger(), workflows=[flow_of(body)], deps=World()) as remit:
            paused = await run(remit)
            assert isinstance(paused, Paused)
            await remit.decide(paused.approvals[0], True, by=BOB)
            assert isinstance(await remit.run_to_end(paused.id), Finished)
        assert asked == 1

    play(story)
