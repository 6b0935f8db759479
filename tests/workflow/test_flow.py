"""What a function may pass to its flow, and what it is told where it cannot be used."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from remit import Agent, Escalated, Finished, MemoryLedger, Remit, ScriptedModel, Standing
from remit.workflow import Flow, undo, workflow
from workflow.stage import ALICE, EVERY, World, book, look, play, unbook, writes

Body = Callable[[Flow[World]], Awaitable[object]]


def said(body: Body, world: World) -> Standing:
    async def trip(flow: Flow[World]) -> object:
        return await body(flow)

    async def story() -> Standing:
        async with Remit(MemoryLedger(), workflows=[workflow(tools=EVERY)(trip)], deps=world) as remit:
            return await remit.run("trip", {}, principal=ALICE)

    return play(story)


async def a_tool_that_is_not_listed(flow: Flow[World]) -> object:
    return await flow.call(writes("other"), name="x")


async def an_agent_that_is_not_listed(flow: Flow[World]) -> object:
    return await flow.ask(Agent("reviewer", model=ScriptedModel(["yes"])), "Is it?")


async def a_name_used_twice(flow: Flow[World]) -> object:
    await flow.call(look, name="x", step="one")
    return await flow.call(look, name="x", step="one")


async def a_name_like_those_that_are_given(flow: Flow[World]) -> object:
    return await flow.call(look, name="x", step="look#1")


async def a_name_that_cannot_be_stored(flow: Flow[World]) -> object:
    return await flow.call(look, name="x", step="\ud800")


async def a_step_in_a_thread(flow: Flow[World]) -> object:
    return await asyncio.to_thread(lambda: asyncio.run(flow.call(book, name="x")))  # type: ignore[arg-type]


async def an_undo_that_names_a_tool(flow: Flow[World]) -> object:
    return await flow.call(book, name="x", undo=undo("unbook", name="x"))  # type: ignore[arg-type]


async def a_name_that_is_no_text(flow: Flow[World]) -> object:
    return await flow.call(look, name="x", step=3)  # type: ignore[arg-type]


async def a_tool_that_is_none(flow: Flow[World]) -> object:
    return await flow.call("look", name="x")  # type: ignore[arg-type]


async def an_agent_that_is_none(flow: Flow[World]) -> object:
    return await flow.ask("reviewer", "Is it?")  # type: ignore[arg-type]


async def an_empty_name(flow: Flow[World]) -> object:
    return await flow.call(look, name="x", step="")


async def arguments_that_are_no_json(flow: Flow[World]) -> object:
    return await flow.call(look, name={1})  # type: ignore[dict-item,arg-type]


async def an_undo_of_a_read(flow: Flow[World]) -> object:
    return await flow.call(look, name="x", undo=undo(unbook, name="x"))


async def an_undo_that_is_a_read(flow: Flow[World]) -> object:
    return await flow.call(book, name="x", undo=undo(look, name="x"))


async def an_undo_that_is_none(flow: Flow[World]) -> object:
    return await flow.call(book, name="x", undo="unbook")  # type: ignore[arg-type]


async def an_approval_without_a_sentence(flow: Flow[World]) -> object:
    return await flow.approve(" ")


async def an_approval_without_time(flow: Flow[World]) -> object:
    return await flow.approve("Go on?", expires_s=0)


async def a_check_that_is_no_function(flow: Flow[World]) -> object:
    return await flow.check("right", True)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (a_tool_that_is_not_listed, "workflow.tool"),
        (an_agent_that_is_not_listed, "workflow.agent"),
        (a_name_used_twice, "workflow.step"),
        (a_name_like_those_that_are_given, "workflow.step"),
        (an_empty_name, "workflow.step"),
        (a_name_that_is_no_text, "workflow.step"),
        (a_name_that_cannot_be_stored, "workflow.step"),
        (a_step_in_a_thread, "workflow.step"),
        (an_undo_that_names_a_tool, "workflow.undo"),
        (a_tool_that_is_none, "workflow.tool"),
        (an_agent_that_is_none, "workflow.agent"),
        (arguments_that_are_no_json, "workflow.arguments"),
        (an_undo_of_a_read, "workflow.undo"),
        (an_undo_that_is_a_read, "workflow.undo"),
        (an_undo_that_is_none, "workflow.undo"),
        (an_approval_without_a_sentence, "workflow.approve"),
        (an_approval_without_time, "workflow.approve"),
        (a_check_that_is_no_function, "workflow.check"),
    ],
)
def test_what_cannot_be_used_ends_the_run_with_its_code_and_nothing_of_it_happens(body: Body, code: str) -> None:
    world = World()
    standing = said(body, world)
    assert isinstance(standing, Escalated)
    assert standing.reason == code
    assert world.done == []


def test_an_undo_that_cannot_be_used_is_found_when_its_step_is_done_and_the_step_is_named() -> None:
    async def raises(flow: Flow[World]) -> object:
        return await flow.call(book, name="x", undo=lambda done: undo(unbook, name=done["no"]))  # type: ignore[index,call-overload,arg-type]

    async def is_none(flow: Flow[World]) -> object:
        return await flow.call(book, name="x", undo=lambda done: None)  # type: ignore[arg-type,return-value]

    for body in (raises, is_none):
        world = World()
        standing = said(body, world)
        assert isinstance(standing, Escalated)
        assert standing.reason == "workflow.undo"
        assert standing.explanation is not None
        assert "'book#1'" in standing.explanation
        assert world.done == ["book x"]


def test_arguments_may_be_given_as_a_mapping_and_steps_are_numbered_by_their_tools() -> None:
    async def body(flow: Flow[World]) -> object:
        first = await flow.call(look, {"name": "a"})
        second = await flow.call(look, {"name": "a"}, name="b")
        await flow.call(book, name="c")
        return [first, second]

    async def trip(flow: Flow[World]) -> object:
        return await body(flow)

    async def story() -> None:
        async with Remit(MemoryLedger(), workflows=[workflow(tools=EVERY)(trip)], deps=World()) as remit:
            finished = await remit.run("trip", {}, principal=ALICE)
            assert isinstance(finished, Finished)
            assert finished.answer == [{"name": "a"}, {"name": "b"}]
            ended = [one.event.call for one in await remit.events(finished.id) if one.event.kind == "call.ended"]
            assert ended == ["step:look#1", "step:look#2", "step:book#1"]

    play(story)


def test_a_check_that_raises_fails_and_says_what_it_raised_to_the_operator_alone() -> None:
    async def body(flow: Flow[World]) -> object:
        def broken(ctx: object) -> bool:
            raise OSError("password is hunter2")

        await flow.check("right", broken)
        return None

    standing = said(body, World())
    assert isinstance(standing, Escalated)
    assert standing.reason == "check.error"
    assert "hunter2" not in str(standing.explanation)
