"""Provider-run tools that may change something: each request to the model is a write, and is never made twice."""

from __future__ import annotations

import asyncio

import pytest

from behaviour.shop import ALICE, Shop, lookup_order, play, support, until
from remit import (
    CALL,
    Agent,
    Budget,
    Cancelled,
    DefinitionError,
    Escalated,
    Finished,
    InputError,
    MemoryLedger,
    Remit,
    ScriptedModel,
    call,
    manual,
    server_tool,
    write,
)
from remit.errors import Conflict, ModelError
from remit.types.event import ModelRequested, Replied, RequestFailed, RunStarted
from remit.types.operation import Operation

RUNS_CODE = {"type": "code_execution_20250825", "name": "code_execution"}
SEARCH = {"type": "web_search_20250305", "name": "web_search"}
CODE = server_tool(RUNS_CODE, effect=write(once_per=CALL, recovery=manual))
LOOKUP = call("lookup_order", order_id="A-1")


def coder(*turns: object, **changes: object) -> Agent:
    model = ScriptedModel(list(turns))  # type: ignore[arg-type]
    return support(model, lookup_order, **{"server_tools": [SEARCH, CODE], **changes})


def failure(code: str = "model.unavailable", **details: object) -> ModelError:
    return ModelError("it failed", code=code, retryable=True, **details)


async def rows(remit: Remit, run: str) -> list[Operation]:
    return await remit.operations(run=run)


def test_each_request_is_an_operation_that_its_reply_ends() -> None:
    async def story() -> None:
        async with Remit(ledger=MemoryLedger(), agents=[coder(LOOKUP, "Done.")], deps=Shop()) as remit:
            run = await remit.run("support", "compute", principal=ALICE)
            assert isinstance(run, Finished)
            assert run.verified
            found = await rows(remit, run.id)
            assert [(one.state, one.tool, one.recovery) for one in found] == [
                ("succeeded", "provider:code_execution_20250825", "manual")
            ] * 2
            events = [one.event for one in await remit.events(run.id)]
            assert [one.operation for one in events if isinstance(one, ModelRequested)] == [one.id for one in found]
            assert isinstance(events[0], RunStarted)
            assert events[0].server_writes == ("code_execution_20250825",)
            assert await remit.verify() == []

    play(story)


def test_a_request_of_which_nobody_knows_is_not_made_again_and_a_person_settles_it() -> None:
    agent = coder(failure(), "Never said.")

    async def story() -> None:
        async with Remit(ledger=MemoryLedger(), agents=[agent], deps=Shop()) as remit:
            run = await remit.run("support", "compute", principal=ALICE)
            assert isinstance(run, Escalated)
            assert run.reason == "model.unknown"
            (row,) = await rows(remit, run.id)
            assert (row.state, run.open_operations) == ("unknown", (row.id,))
            (failed,) = [one.event for one in await remit.events(run.id) if isinstance(one.event, RequestFailed)]
            assert not failed.retryable
            assert [one.id for one in await remit.recover()] == [row.id]
            settled = await remit.settle(row.id, True, by="carol", reason="seen in the container's log")
            assert settled.state == "succeeded"
            with pytest.raises(Conflict):
                await remit.settle(row.id, False, by="carol", reason="again")
            after = await remit.standing(run.id)
            assert isinstance(after, Escalated)
            assert after.open_operations == ()
            assert await remit.verify() == []

    play(story)
    assert len(agent.model.requests) == 1  # type: ignore[union-attr]


@pytest.mark.parametrize("details", [{"sent": False}, *({"status": status} for status in (429, 413, 404, 403, 401, 400))])
def test_a_request_that_the_provider_did_not_take_has_failed_and_may_be_made_again(details: dict[str, object]) -> None:
    async def story() -> None:
        async with Remit(ledger=MemoryLedger(), agents=[coder(failure(**details), "Done.")], deps=Shop()) as remit:
            run = await remit.run("support", "compute", principal=ALICE)
            assert isinstance(run, Finished)
            assert [one.state for one in await rows(remit, run.id)] == ["failed", "succeeded"]
            assert len({one.key for one in await rows(remit, run.id)}) == 2
            assert await remit.verify() == []

    play(story)


@pytest.mark.parametrize(
    "end", [failure(status=500), failure(status=200), failure(phase="first_byte"), failure(sent=True), b"{}", OSError("gone")]
)
def test_anything_else_leaves_it_unknown_also_where_another_model_could_be_asked(end: object) -> None:
    other = ScriptedModel(["Never said."], name="other")

    async def story() -> None:
        async with Remit(ledger=MemoryLedger(), agents=[coder(end, fallback=[other])], deps=Shop()) as remit:
            run = await remit.run("support", "compute", principal=ALICE)
            assert isinstance(run, Escalated)
            assert [one.state for one in await rows(remit, run.id)] == ["unknown"]

    play(story)
    assert other.requests == []


def test_a_stream_that_is_cut_leaves_it_unknown() -> None:
    async def story() -> None:
        agent = coder(ScriptedModel.turn("Half of it", cut=3), "Never said.", stream=True)
        async with Remit(ledger=MemoryLedger(), agents=[agent], deps=Shop()) as remit:
            run = await remit.run("support", "compute", principal=ALICE)
            assert isinstance(run, Escalated)
            assert [one.state for one in await rows(remit, run.id)] == ["unknown"]

    play(story)


def test_a_process_that_dies_in_a_request_leaves_it_unknown_and_the_next_one_hands_it_over() -> None:
    store = MemoryLedger()
    asked: list[str] = []

    async def hang(body: dict[str, object]) -> str:
        asked.append("once")
        await asyncio.Event().wait()
        return ""

    async def dies() -> str:
        agent = support(ScriptedModel(hang), lookup_order, server_tools=[CODE])
        async with Remit(ledger=store, agents=[agent], deps=Shop(), drain_s=0) as remit:
            run = await remit.submit("support", "compute", principal=ALICE)
            await until(lambda: bool(asked))
            return run.id

    async def comes_back(run: str) -> None:
        agent = support(ScriptedModel(hang), lookup_order, server_tools=[CODE])
        async with Remit(ledger=MemoryLedger(store=store), agents=[agent], deps=Shop()) as remit:
            ended = await remit.run_to_end(run)
            assert isinstance(ended, Escalated)
            assert ended.reason == "model.unknown"
            (row,) = await rows(remit, run)
            assert (row.state, ended.open_operations) == ("unknown", (row.id,))
            settled = await remit.settle(row.id, False, by="carol", reason="the container never started")
            assert settled.state == "failed"
            assert await remit.verify() == []

    run = play(dies, seeded=False)
    play(lambda: comes_back(run))
    assert asked == ["once"]


@pytest.mark.parametrize("happened", [True, False])
def test_what_a_person_settled_before_anybody_came_back_decides_whether_it_is_made_again(happened: bool) -> None:
    store = MemoryLedger()
    asked: list[str] = []

    async def once(body: dict[str, object]) -> str:
        asked.append("again" if asked else "once")
        if len(asked) == 1:
            await asyncio.Event().wait()
        return "Done."

    agent = support(ScriptedModel(once), lookup_order, server_tools=[CODE])

    async def dies() -> str:
        async with Remit(ledger=store, agents=[agent], deps=Shop(), drain_s=0) as remit:
            run = await remit.submit("support", "compute", principal=ALICE)
            await until(lambda: bool(asked))
            return run.id

    async def comes_back(run: str) -> None:
        async with Remit(ledger=MemoryLedger(store=store)) as reader:
            (row,) = await rows(reader, run)
            settled = await reader.settle(row.id, happened, by="carol", reason="looked")
            assert settled.state == ("succeeded" if happened else "failed")
        async with Remit(ledger=MemoryLedger(store=store), agents=[agent], deps=Shop()) as remit:
            ended = await remit.run_to_end(run)
            assert isinstance(ended, Escalated if happened else Finished)
            assert ended.open_operations == ()
            assert await remit.verify() == []

    run = play(dies, seeded=False)
    play(lambda: comes_back(run))
    assert asked == (["once"] if happened else ["once", "again"])


def test_a_cancel_waits_for_the_request_that_may_change_something() -> None:
    asked, go = asyncio.Event(), asyncio.Event()

    async def slow(body: dict[str, object]) -> object:
        asked.set()
        await go.wait()
        return LOOKUP

    async def story() -> None:
        agent = support(ScriptedModel(slow), lookup_order, server_tools=[CODE])  # type: ignore[arg-type]
        async with Remit(ledger=MemoryLedger(), agents=[agent], deps=Shop()) as remit:
            run = await remit.submit("support", "compute", principal=ALICE)
            await asked.wait()
            await remit.cancel(run.id, by=ALICE)
            await until(lambda: True)
            assert [one.state for one in await rows(remit, run.id)] == ["dispatched"]
            go.set()
            ended = await remit.run_to_end(run.id)
            assert isinstance(ended, Cancelled)
            assert ended.open_operations == ()
            assert [one.state for one in await rows(remit, run.id)] == ["succeeded"]
            kinds = [one.event.kind for one in await remit.events(run.id)]
            assert "results.appended" in kinds
            assert await remit.verify() == []

    play(story, seeded=False)


def test_while_one_is_unknown_the_conversations_next_message_makes_no_other_and_is_told_what_became_known() -> None:
    model = ScriptedModel([failure(), "It was done."])

    async def story() -> None:
        agent = support(model, lookup_order, server_tools=[CODE])
        async with Remit(ledger=MemoryLedger(), agents=[agent], deps=Shop()) as remit:
            first = await remit.run("support", "compute", principal=ALICE, conversation="t")
            assert isinstance(first, Escalated)
            (doubted,) = first.open_operations
            again = await remit.run("support", "again", principal=ALICE, conversation="t")
            assert isinstance(again, Escalated)
            assert (again.reason, again.open_operations) == ("operation.unknown", ())
            assert doubted in (again.explanation or "")
            assert len(model.requests) == 1
            assert len(await remit.operations()) == 1
            await remit.settle(doubted, True, by="carol", reason="seen in the log")
            assert isinstance(await remit.run("support", "and?", principal=ALICE, conversation="t"), Finished)
            assert await remit.verify() == []

    play(story)
    asked = model.requests[1].decode()
    assert asked.count("- provider:code_execution_20250825") == 2
    assert "may have happened" in asked
    assert asked.index("again") < asked.index("may have happened")


def test_what_another_conversation_is_in_doubt_about_keeps_nobody_else_from_asking() -> None:
    model = ScriptedModel([failure(), "Hello.", "Hello."])

    async def story() -> None:
        agent = support(model, lookup_order, server_tools=[CODE])
        async with Remit(ledger=MemoryLedger(), agents=[agent], deps=Shop()) as remit:
            first = await remit.run("support", "compute", principal=ALICE, conversation="t")
            assert isinstance(first, Escalated)
            for other in ("u", None):
                assert isinstance(await remit.run("support", "hi", principal=ALICE, conversation=other), Finished)

    play(story)


@pytest.mark.parametrize("budget", [Budget(seconds=0.05), None])
def test_one_that_hangs_is_unknown_when_its_time_is_over(budget: Budget | None, monkeypatch: pytest.MonkeyPatch) -> None:
    if budget is None:
        monkeypatch.setattr("remit.loop.server_write.LONGEST_S", 0.05)

    async def hangs(body: dict[str, object]) -> str:
        await asyncio.Event().wait()
        return ""

    async def story() -> None:
        agent = support(ScriptedModel(hangs), lookup_order, server_tools=[CODE], budget=budget or Budget())
        async with Remit(ledger=MemoryLedger(), agents=[agent], deps=Shop(), drain_s=0) as remit:
            run = await remit.submit("support", "compute", principal=ALICE)
            if budget is None:
                await remit.cancel(run.id, by=ALICE)
            ended = await remit.run_to_end(run.id)
            assert isinstance(ended, Escalated if budget else Cancelled)
            assert [one.state for one in await rows(remit, run.id)] in (["unknown"], ["failed"])
            assert [one.id for one in await rows(remit, run.id) if one.state == "unknown"] == [*ended.open_operations]
            assert await remit.verify() == []

    play(story, seeded=False)


def test_a_request_that_a_cancel_overtakes_is_not_sent_and_has_failed() -> None:
    overtaken: list[int] = []

    async def cancelled_after(steps: int) -> None:
        sent: list[int] = []

        async def answer(body: dict[str, object]) -> object:
            sent.append(1)
            for _ in range(5):
                await asyncio.sleep(0)
            return "Done." if len(sent) > 1 else LOOKUP

        agent = support(ScriptedModel(answer), lookup_order, server_tools=[CODE])  # type: ignore[arg-type]
        async with Remit(ledger=MemoryLedger(), agents=[agent], deps=Shop()) as remit:
            run = await remit.submit("support", "compute", principal=ALICE, conversation="t")
            for _ in range(steps):
                await asyncio.sleep(0)
            await remit.cancel(run.id, by=ALICE)
            ended = await remit.run_to_end(run.id)
            assert ended.open_operations == ()
            found = await rows(remit, run.id)
            assert all(one.state in ("succeeded", "failed") for one in found)
            if len(found) > len(sent):
                overtaken.append(steps)
                assert found[-1].state == "failed"
                events = [one.event for one in await remit.events(run.id)]
                replied = [one for one in events if isinstance(one, Replied)]
                spent = await remit.ledger.spent("conversation:acme:t")
                assert spent.turns == len(replied)
                assert spent.tokens == sum(one.usage.input_tokens + one.usage.output_tokens for one in replied)
            assert await remit.verify() == []

    for steps in range(60):
        asyncio.run(cancelled_after(steps))
    assert overtaken


def test_it_is_named_with_its_effect_or_refused() -> None:
    hosted_mcp = {"type": "mcp_toolset", "mcp_server_name": "files"}
    for wrong in (RUNS_CODE, hosted_mcp, {"type": "code_interpreter", "container": {"type": "auto"}}, {"type": "shell"}):
        with pytest.raises(DefinitionError, match="server_tools="):
            support(ScriptedModel([]), server_tools=[wrong])
    for changes in (
        {"effect": write(once_per="x", recovery=manual)},
        {"effect": write(once_per=CALL, recovery=manual, atomic=True)},
        {"max_uses": 3},
    ):
        with pytest.raises(DefinitionError, match="server_tool"):
            server_tool(hosted_mcp, **changes)  # type: ignore[arg-type]
    asks = {"type": "mcp", "server_label": "files", "server_url": "https://files.example"}
    with pytest.raises(DefinitionError, match="require_approval"):
        server_tool(asks, effect=write(once_per=CALL, recovery=manual))
    assert server_tool({**asks, "require_approval": "never"}, effect=write(once_per=CALL, recovery=manual)).type == "mcp"
    with pytest.raises(DefinitionError, match="leave effect= out"):
        server_tool(SEARCH, effect=write(once_per=CALL, recovery=manual))
    for ours in ("bash_20250124", "memory_20250818", "function", "local_shell", "computer_20251124"):
        with pytest.raises(DefinitionError, match="run by the provider"):
            server_tool({"type": ours}, effect=write(once_per=CALL, recovery=manual))
    for count in (0, -1, True, "5"):
        with pytest.raises(DefinitionError, match="max_uses"):
            server_tool(SEARCH, max_uses=count)  # type: ignore[arg-type]
    with pytest.raises(DefinitionError, match="max_uses"):
        server_tool({**SEARCH, "max_uses": 2}, max_uses=3)


def test_how_often_it_may_be_used_is_said_to_the_provider() -> None:
    model = ScriptedModel(["Done."])

    async def story() -> None:
        agent = support(model, lookup_order, server_tools=[server_tool(SEARCH, max_uses=5)])
        async with Remit(ledger=MemoryLedger(), agents=[agent], deps=Shop()) as remit:
            run = await remit.run("support", "look", principal=ALICE)
            assert isinstance(run, Finished)
            assert await rows(remit, run.id) == []

    play(story)
    assert b'"max_uses":5' in model.requests[0].replace(b" ", b"")


def test_a_dry_run_does_not_start_where_requests_change_something() -> None:
    with pytest.raises(InputError) as error:
        Remit(agents=[coder()], dry_run=True)
    assert error.value.code == "owner.dry_run"
