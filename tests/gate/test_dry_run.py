"""A dry run decides as always and does nothing: what would have happened is said to the model and to the user."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from remit import (
    CANNOT_TELL,
    READ,
    TRUSTED,
    Agent,
    Arguments,
    Awaiting,
    Budget,
    Context,
    Finished,
    InputError,
    MemoryLedger,
    Paused,
    Principal,
    Remit,
    ScriptedModel,
    Tool,
    always,
    ambient,
    ask_user,
    call,
    idempotent,
    manual,
    never,
    reconcile,
    tool,
    when,
    write,
)
from remit.testing import SeenRun
from remit.tool import Recovery
from remit.types.outcome import NotRun, Outcome, Refused, Succeeded

DONE: list[str] = []


def _would(arguments: Arguments) -> str:
    return f"Refund {arguments['amount']} cents of {arguments['charge']}."


@tool(effect=READ, label=TRUSTED)
async def look(charge: str) -> str:
    """Look up a charge.

    Args:
        charge: which
    """
    DONE.append(f"looked at {charge}")
    return f"{charge} is a duplicate"


@tool(
    effect=write(once_per="charge", recovery=manual),
    approve=when(lambda arguments: arguments["amount"] > 100),
    preview=_would,
    label=TRUSTED,
)
async def refund(charge: str, amount: int) -> str:
    """Refund a charge.

    Args:
        charge: which
        amount: how much
    """
    DONE.append(f"refunded {charge}")
    return "refunded"


@tool(effect=write(once_per="charge", recovery=manual), approve=never, label=TRUSTED)
async def close(charge: str) -> str:
    """Close a charge.

    Args:
        charge: which
    """
    DONE.append(f"closed {charge}")
    return "closed"


@tool(effect=READ, approve=always(), label=TRUSTED)
async def peek(name: str) -> str:
    """Look into what is private.

    Args:
        name: whose
    """
    DONE.append(f"peeked at {name}")
    return "private"


async def _asked(arguments: Arguments, ctx: Context[object]) -> object:
    DONE.append("asked")
    return CANNOT_TELL


def _never_true(ctx: Context[object]) -> bool:
    raise AssertionError("it was asked whether a thing is done that a dry run does not do")


def played(*turns: object, tools: Sequence[Tool] = (look, refund, close), budget: Budget | None = None) -> SeenRun:
    """A dry run of these turns."""
    DONE.clear()

    async def story() -> SeenRun:
        model = ScriptedModel([*turns, "done"])  # type: ignore[list-item]
        agent = Agent("support", model=model, tools=tools, done=_never_true, budget=budget or Budget())
        async with Remit(agents=[agent], dry_run=True) as remit:
            standing = await remit.run(agent, "refund it", principal=Principal("alice"))
            assert await remit.approvals(state=None) == []
            assert await remit.operations() == []
            return SeenRun.of(standing, await remit.events(standing.id))

    return asyncio.run(story())


def outcome(*turns: object, **more: object) -> Outcome:
    [found] = played(*turns, **more).outcomes  # type: ignore[arg-type]
    return found


def test_a_read_runs_as_always() -> None:
    found = outcome(call("look", charge="ch_1"))
    assert isinstance(found, Succeeded)
    assert DONE == ["looked at ch_1"]


def test_a_write_is_not_done_and_its_preview_is_the_answer() -> None:
    run = played(call("refund", charge="ch_1", amount=50))
    [found] = run.outcomes
    assert isinstance(found, NotRun)
    assert found.code == "dry_run"
    assert found.retry == "no"
    assert found.message.endswith("Nobody would have been asked. What it would do: Refund 50 cents of ch_1.")
    assert DONE == []
    assert isinstance(run.standing, Finished)


def test_it_is_said_that_a_person_would_have_been_asked_and_nobody_is() -> None:
    run = played(call("refund", charge="ch_1", amount=500))
    [found] = run.outcomes
    assert isinstance(found, NotRun)
    assert "A person would have been asked first. What it would do: Refund 500 cents of ch_1." in found.message
    assert not run.paused
    assert DONE == []


def test_a_write_that_cannot_say_what_it_would_do_is_refused() -> None:
    found = outcome(call("close", charge="ch_1"))
    assert isinstance(found, Refused)
    assert found.code == "dry_run.no_preview"
    assert DONE == []


def test_a_read_that_needs_a_person_is_not_run() -> None:
    found = outcome(call("peek", name="bob"), tools=[peek])
    assert isinstance(found, NotRun)
    assert found.code == "dry_run"
    assert DONE == []


def test_a_question_is_not_asked() -> None:
    found = outcome(call("ask_user", question="Which one?"), tools=[ask_user])
    assert isinstance(found, NotRun)
    assert found.message.endswith("A person would have been asked: Which one?")


def test_what_is_refused_otherwise_is_refused_the_same_way() -> None:
    run = played([call("refund", charge="ch_1"), call("vanish", charge="ch_1")])
    assert [getattr(one, "code", "") for one in run.outcomes] == ["arguments.invalid", "tool.unknown"]


def test_a_budget_that_allows_no_request_to_people_is_held_to() -> None:
    found = outcome(call("refund", charge="ch_1", amount=500), budget=Budget(approvals=0))
    assert isinstance(found, Refused)
    assert found.code == "budget.approvals"


def test_later_calls_of_the_turn_go_on() -> None:
    run = played(
        [call("refund", charge="ch_1", amount=1), call("look", charge="ch_1"), call("refund", charge="ch_2", amount=1)]
    )
    assert [one.kind for one in run.outcomes] == ["not_run", "succeeded", "not_run"]


def test_another_loop_has_dry_runs_too() -> None:
    async def story() -> Outcome | Awaiting:
        DONE.clear()
        agent = Agent("support", model=ScriptedModel([]), tools=[refund])
        async with Remit(agents=[agent], dry_run=True) as remit:
            gate = remit.gate(agent)
            return await gate.call(
                "refund", {"charge": "ch_1", "amount": 500}, principal=Principal("alice"), run="thread", call="1", label=TRUSTED
            )

    found = asyncio.run(story())
    assert isinstance(found, NotRun)
    assert DONE == []


@pytest.mark.parametrize("asked", [call("refund", charge="ch_1", amount=500), call("peek", name="bob")])
def test_what_a_person_has_approved_in_a_ledger_that_it_is_given_is_not_done_either(asked: object) -> None:
    def agent(*turns: object) -> Agent:
        return Agent("support", model=ScriptedModel(list(turns)), tools=[refund, peek])  # type: ignore[arg-type]

    async def story() -> SeenRun:
        DONE.clear()
        store = MemoryLedger()
        async with Remit(ledger=store, agents=[agent(asked)]) as remit:
            waiting = await remit.run("support", "do it", principal=Principal("alice"))
            assert isinstance(waiting, Paused)
        async with Remit(ledger=MemoryLedger(store=store)) as remit:
            bob = Principal("bob", scopes=frozenset({"remit:approve"}))
            await remit.decide(waiting.approvals[0].id, True, by=bob)
        async with Remit(ledger=MemoryLedger(store=store), agents=[agent("done")], dry_run=True) as remit:
            standing = await remit.run_to_end(waiting.id)
            assert [one.state for one in await remit.operations()] in ([], ["closed"])
            assert [one.state for one in await remit.approvals(state=None)] == ["void"]
            assert await remit.verify() == []
            return SeenRun.of(standing, await remit.events(standing.id))

    [found] = asyncio.run(story()).outcomes
    assert isinstance(found, NotRun)
    assert found.code == "dry_run"
    assert "A person has approved it. What it would do: " in found.message
    assert DONE == []


@pytest.mark.parametrize("recovery", [idempotent(window_s=3_600), reconcile(_asked, settle_s=0.0)])
def test_what_is_in_doubt_in_a_ledger_that_it_is_given_is_not_sent_again_or_asked_after(recovery: Recovery) -> None:
    @tool(effect=write(once_per="charge", recovery=recovery), approve=never, label=TRUSTED, timeout_s=0.01)
    async def pay(charge: str) -> str:
        """Pay a charge.

        Args:
            charge: which
        """
        DONE.append(f"paid {charge}")
        raise OSError("lost")

    pays = call("pay", charge="ch_1")

    def agent() -> Agent:
        return Agent("support", model=ScriptedModel([pays, "done"]), tools=[pay])

    async def story() -> SeenRun:
        store = MemoryLedger()
        async with Remit(ledger=store, agents=[agent()]) as remit:
            await remit.run("support", "pay it", principal=Principal("alice"))
            assert [one.state for one in await remit.operations()] == ["unknown"]
        DONE.clear()
        async with Remit(ledger=MemoryLedger(store=store), agents=[agent()], dry_run=True) as remit:
            assert len(await remit.recover()) == 1
            standing = await remit.run("support", "pay it", principal=Principal("alice"))
            assert [one.state for one in await remit.operations()] == ["unknown"]
            return SeenRun.of(standing, await remit.events(standing.id))

    with ambient.use(ambient.Seeded()):
        [found] = asyncio.run(story()).outcomes
    assert isinstance(found, NotRun)
    assert DONE == []


def test_a_dry_run_has_no_ledger_that_keeps_anything(tmp_path: object) -> None:
    async def story() -> None:
        async with Remit(ledger=f"{tmp_path}/real.db", dry_run=True):
            pass

    with pytest.raises(InputError) as error:
        asyncio.run(story())
    assert error.value.code == "owner.dry_run"

    async def other() -> bool:
        async with Remit(ledger=MemoryLedger(), dry_run=True) as remit:
            return remit.ledger.durable

    assert not asyncio.run(other())
