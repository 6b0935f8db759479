"""Recorded outcomes in the place of handlers: each call ends as it ended then, and nothing of the application runs."""

from __future__ import annotations

import asyncio

from remit import (
    CANNOT_TELL,
    READ,
    TRUSTED,
    Agent,
    Arguments,
    Context,
    Finished,
    MemoryLedger,
    Principal,
    Remit,
    ScriptedModel,
    ambient,
    call,
    idempotent,
    never,
    reconcile,
    tool,
    write,
)
from remit.owner import override
from remit.types.event import CallEnded, OperationMoved, Recorded
from remit.types.ident import CallId
from remit.types.outcome import Failed, Outcome, Succeeded, Unknown

DONE: list[str] = []
UNKNOWN = Unknown(code="unknown", message="It may have happened.")


@tool(effect=READ, label=TRUSTED)
async def look(name: str) -> str:
    """Look something up.

    Args:
        name: what
    """
    DONE.append("looked")
    return "today's"


async def ask_books(arguments: Arguments, ctx: Context[object]) -> object:
    del arguments, ctx
    DONE.append("asked the books")
    return CANNOT_TELL


@tool(effect=write(once_per="id", recovery=reconcile(ask_books, settle_s=0.05)), approve=never, timeout_s=0.1, label=TRUSTED)
async def pay(id: str) -> str:
    """Pay.

    Args:
        id: what
    """
    DONE.append("paid")
    if id == "lost":
        raise ConnectionError
    return "paid"


@tool(effect=write(once_per="id", recovery=idempotent(window_s=3_600)), approve=never, timeout_s=0.1, label=TRUSTED)
async def book(id: str) -> str:
    """Book.

    Args:
        id: what
    """
    DONE.append("booked")
    return "booked"


def replayed(*outcomes: Outcome | None) -> list[Recorded]:
    """A run of a read and two writes, a turn each, whose calls end so."""
    DONE.clear()
    then = {CallId(f"{turn}.0"): outcome for turn, outcome in enumerate(outcomes, start=1)}
    model = ScriptedModel([call("look", name="a"), call("pay", id="1"), call("book", id="2"), "Done."])
    agent = Agent("teller", model=model, tools=[look, pay, book])

    async def story() -> list[Recorded]:
        with override(outcomes=then.get):
            async with Remit(ledger=MemoryLedger(), agents=[agent]) as remit:
                run = await remit.run(agent, "go", principal=Principal("alice"))
                assert isinstance(run, Finished)
                assert await remit.verify() == []
                return await remit.events(run.id)

    return asyncio.run(story())


def ends(events: list[Recorded]) -> list[Outcome]:
    return [one.event.outcome for one in events if isinstance(one.event, CallEnded)]


def test_reads_and_writes_end_as_they_ended_then_and_no_handler_runs() -> None:
    events = replayed(Succeeded(value="then's"), Succeeded(value="paid then"), Failed(code="declined", message="no"))
    assert DONE == []
    read, paid, booked = ends(events)
    assert isinstance(read, Succeeded)
    assert isinstance(paid, Succeeded)
    assert isinstance(booked, Failed)
    assert (read.value, paid.value, booked.code) == ("then's", "paid then", "declined")


def test_what_was_unknown_then_is_unknown_and_neither_asked_after_nor_sent_again() -> None:
    events = replayed(Succeeded(value="then's"), UNKNOWN, UNKNOWN)
    assert DONE == []
    assert [type(one) for one in ends(events)] == [Succeeded, Unknown, Unknown]


def test_a_call_of_which_nothing_was_recorded_fails_and_does_not_run() -> None:
    events = replayed(None, None, None)
    assert DONE == []
    assert [one.code for one in ends(events) if isinstance(one, Failed)] == ["not_recorded"] * 3


def test_a_repeat_of_then_is_told_as_one_and_its_effect_is_recorded_as_the_first() -> None:
    again = Succeeded(value="paid before", repeat=True)
    events = replayed(Succeeded(value="then's"), again, again)
    assert [one.repeat for one in ends(events) if isinstance(one, Succeeded)] == [False, True, True]
    made = [one.event.outcome for one in events if isinstance(one.event, OperationMoved) and one.event.outcome is not None]
    assert [one.repeat for one in made if isinstance(one, Succeeded)] == [False, False]


def test_what_is_in_doubt_since_an_earlier_run_is_not_asked_after() -> None:
    DONE.clear()
    model = ScriptedModel([call("pay", id="lost"), "Unknown.", call("pay", id="lost"), "Still unknown."])
    agent = Agent("teller", model=model, tools=[pay])
    ledger = MemoryLedger()

    async def story() -> None:
        async with Remit(ledger=ledger, agents=[agent]) as remit:
            assert isinstance(await remit.run(agent, "go", principal=Principal("alice")), Finished)
            assert DONE[:2] == ["paid", "asked the books"]
        DONE.clear()
        with override(outcomes=lambda _: UNKNOWN):
            async with Remit(ledger=MemoryLedger(store=ledger), agents=[agent]) as remit:
                run = await remit.run(agent, "go", principal=Principal("alice"))
                assert [type(one) for one in ends(await remit.events(run.id))] == [Unknown]

    with ambient.use(ambient.Seeded()):
        asyncio.run(story())
    assert DONE == []
