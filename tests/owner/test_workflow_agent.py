"""Model steps of a workflow: an agent's run below the workflow's own."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from pathlib import Path

from remit import (
    TRUSTED,
    Agent,
    Budget,
    Cancelled,
    Escalated,
    Finished,
    MemoryLedger,
    Paused,
    Remit,
    ScriptedModel,
    Stopped,
    call,
)
from remit.types.event import RunStarted
from remit.workflow import Flow, Workflow, undo, workflow
from workflow.stage import (
    ALICE,
    BOB,
    EVERY,
    World,
    blind_pay,
    book,
    pay,
    play,
    read_mail,
    scoped_pay,
    signed_pay,
    unbook,
    until,
)


@dataclass
class Advice:
    """What a reviewer says."""

    refund: bool
    why: str


def reviewer(*turns: object, **options: object) -> Agent:
    return Agent("reviewer", model=ScriptedModel(turns), **options)  # type: ignore[arg-type]


def asking(agent: Agent, **options: object) -> Workflow:
    """Books, asks, and pays if the agent's answer says so."""

    async def trip(flow: Flow[World], name: str) -> object:
        await flow.call(book, name=name, undo=undo(unbook, name=name))
        advice = await flow.ask(agent, f"May {name} be paid?", step="review")
        if isinstance(advice, dict) and advice.get("refund"):
            await flow.call(pay, name=name)
        return advice

    return workflow(tools=EVERY, agents=[agent], **options)(trip)  # type: ignore[arg-type]


def test_an_agent_is_asked_once_and_its_answer_has_its_type() -> None:
    async def story() -> None:
        world, store = World(), MemoryLedger()
        agent = reviewer('{"refund": true, "why": "it was twice"}', answer=Advice)
        async with Remit(store, workflows=[asking(agent)], deps=world) as remit:
            finished = await remit.run("trip", {"name": "x"}, principal=ALICE)
            assert isinstance(finished, Finished)
            assert finished.answer == {"refund": True, "why": "it was twice"}
            (child,) = [row for row in await remit.runs() if row.parent is not None]
            assert (child.agent, child.parent, child.root) == ("reviewer", finished.id, finished.id)
            assert await remit.verify() == []
        assert world.done == ["book x", "pay x"]

    play(story)


def test_an_agent_that_waits_for_a_person_holds_the_workflow_which_goes_on_with_its_answer(tmp_path: Path) -> None:
    async def story() -> None:
        world, path = World(), tmp_path / "r.db"
        agent = reviewer(call("signed_pay", name="x"), "It is paid.", tools=[signed_pay])
        async with Remit(path, workflows=[asking(agent)], deps=world) as remit:
            paused = await remit.run("trip", {"name": "x"}, principal=ALICE, request_id="r1")
            assert isinstance(paused, Paused)
            assert [one.tool for one in paused.approvals] == ["signed_pay"]
        async with Remit(path, workflows=[asking(agent)], deps=world) as remit:
            await remit.decide(paused.approvals[0], True, by=BOB)
            finished = await remit.run("trip", {"name": "x"}, principal=ALICE, request_id="r1")
            assert isinstance(finished, Finished)
            assert finished.answer == "It is paid."
            assert await remit.verify() == []
        assert world.done == ["book x", "signed_pay x"]

    play(story, seeded=False)


def test_an_agent_that_comes_to_no_answer_fails_the_step_and_the_rest_is_taken_back() -> None:
    async def story() -> None:
        world = World()
        agent = reviewer("not the type", "nor this", answer=Advice)
        async with Remit(MemoryLedger(), workflows=[asking(agent)], deps=world) as remit:
            ended = await remit.run("trip", {"name": "x"}, principal=ALICE)
            assert isinstance(ended, Escalated)
            assert ended.reason == "agent.failed"
            assert ended.explanation is not None
            assert "taken back: book#1" in ended.explanation
        assert world.done == ["book x", "unbook x"]

    play(story)


def test_what_an_agent_did_and_nothing_takes_back_is_named_when_the_workflow_fails() -> None:
    async def trip(flow: Flow[World], name: str) -> object:
        await flow.ask(agent, "pay", step="paying")
        raise ValueError("no")

    agent = reviewer(call("pay", name="x"), "Paid.", tools=[pay])

    async def story() -> None:
        async with Remit(MemoryLedger(), workflows=[workflow(agents=[agent])(trip)], deps=World()) as remit:
            ended = await remit.run("trip", {"name": "x"}, principal=ALICE)
            assert isinstance(ended, Escalated)
            assert ended.explanation is not None
            assert "'paying': done, and nothing takes it back" in ended.explanation

    play(story)


def test_what_an_agent_did_in_part_or_perhaps_is_named_and_not_taken_back_as_if_it_were_done() -> None:
    agents = {
        "in part": reviewer(call("book", name="hotel"), tools=(book,), budget=Budget(turns=1)),
        "perhaps": reviewer(call("blind_pay", name="hotel"), "It is paid.", tools=(blind_pay,)),
    }

    async def story(agent: Agent) -> tuple[str, list[str]]:
        async def trip(flow: Flow[World], name: str) -> object:
            await flow.ask(agent, "Do it.", step="review", undo=undo(unbook, name=name))
            raise ValueError("no")

        trips = workflow(tools=EVERY, agents=[agent])(trip)
        world = World(hang={"blind_pay"})
        async with Remit(MemoryLedger(), workflows=[trips], deps=world) as remit:
            ended = await remit.run("trip", {"name": "x"}, principal=ALICE)
            assert isinstance(ended, Escalated)
            return str(ended.explanation), world.done

    for how, agent in agents.items():
        said, done = play(lambda agent=agent: story(agent))  # type: ignore[misc]
        assert "not taken back: step 'review'" in said, how
        assert len(done) == 1, how


def test_what_an_agent_read_of_strangers_makes_the_next_write_need_a_person() -> None:
    async def trip(flow: Flow[World], name: str) -> object:
        said = await flow.ask(agent, "What does the mail say?")
        return await flow.call(pay, name=str(said))

    agent = reviewer(call("read_mail", name="m"), "x", tools=[read_mail])

    async def story() -> None:
        world = World()
        async with Remit(MemoryLedger(), workflows=[workflow(tools=[pay], agents=[agent])(trip)], deps=world) as remit:
            paused = await remit.run("trip", {"name": "x"}, principal=ALICE)
            assert isinstance(paused, Paused)
            assert [one.tool for one in paused.approvals] == ["pay"]
        assert world.done == []

    play(story)


def test_an_agent_has_no_scope_that_the_workflow_does_not_lend_and_takes_from_its_budget() -> None:
    lent = reviewer(call("scoped_pay", name="x"), "I could not.", tools=[scoped_pay])

    async def trip(flow: Flow[World], name: str) -> object:
        return await flow.ask(lent, "pay")

    tool = lent.as_tool(description="Pays.", scopes=())
    made = workflow(tools=[tool])(trip)

    async def story() -> None:
        world = World()
        async with Remit(MemoryLedger(), workflows=[made], deps=world) as remit:
            finished = await remit.run("trip", {"name": "x"}, principal=ALICE)
            assert isinstance(finished, Finished)
            (child,) = [row for row in await remit.runs() if row.parent is not None]
            first = (await remit.events(child.id))[0].event
            assert isinstance(first, RunStarted)
            assert (first.scopes, first.label) == ((), TRUSTED)
        assert world.done == []
        agent = reviewer("yes", "yes")
        async with Remit(MemoryLedger(), workflows=[asking(agent, budget=Budget(turns=0))], deps=world) as remit:
            ended = await remit.run("trip", {"name": "x"}, principal=ALICE)
            assert isinstance(ended, (Escalated, Stopped))
            assert agent.model.requests == []  # type: ignore[union-attr]

    play(story)


def test_a_cancel_of_the_workflow_cancels_the_agents_run() -> None:
    async def story() -> None:
        world = World()
        asked = 0

        async def hang(body: dict[str, object]) -> str:
            nonlocal asked
            asked += 1
            await asyncio.Event().wait()
            return ""

        agent = Agent("reviewer", model=ScriptedModel(hang))
        async with Remit(MemoryLedger(), workflows=[asking(agent)], deps=world) as remit:
            submitted = await remit.submit("trip", {"name": "x"}, principal=ALICE)
            await until(lambda: asked == 1)
            await remit.cancel(submitted.id, by="bob")
            assert isinstance(await remit.run_to_end(submitted.id), Cancelled)
            assert {row.status for row in await remit.runs()} == {"ended"}
            assert await remit.verify() == []

    play(story, seeded=False)


def test_a_cancel_while_an_agent_waits_for_a_person_ends_both_and_voids_what_was_asked() -> None:
    async def story() -> None:
        world = World()
        agent = reviewer(call("signed_pay", name="x"), "It is paid.", tools=[signed_pay])
        async with Remit(MemoryLedger(), workflows=[asking(agent)], deps=world) as remit:
            paused = await remit.run("trip", {"name": "x"}, principal=ALICE)
            assert isinstance(paused, Paused)
            await remit.cancel(paused.id, by="bob")
            ended = await remit.run_to_end(paused.id)
            assert isinstance(ended, Cancelled)
            assert "'book#1'" in str(ended.explanation)
            assert {row.status for row in await remit.runs()} == {"ended"}
            assert await remit.approvals() == []
            assert await remit.verify() == []
        assert world.done == ["book x"]

    play(story)


def test_after_a_crash_while_an_agent_is_asked_its_run_is_joined_and_not_begun_again() -> None:
    async def story() -> None:
        world, store = World(), MemoryLedger()
        asked: list[bool] = []

        async def once(body: dict[str, object]) -> object:
            asked.append(True)
            if len(asked) == 1:
                await asyncio.Event().wait()
            return '{"refund": true, "why": "ok"}'

        agent = Agent("reviewer", model=ScriptedModel(once), answer=Advice)
        async with Remit(store, workflows=[asking(agent)], deps=world) as remit:
            submitted = await remit.submit("trip", {"name": "x"}, principal=ALICE)
            await until(lambda: bool(asked))
            await remit.abandon()
        async with Remit(MemoryLedger(store=store), workflows=[asking(agent)], deps=world) as remit:
            assert isinstance(await remit.run_to_end(submitted.id), Finished)
            assert len([row for row in await remit.runs() if row.parent is not None]) == 1
            assert await remit.verify() == []
        assert world.done == ["book x", "pay x"]

    play(story, seeded=False)
