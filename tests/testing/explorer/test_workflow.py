"""The explorer on workflows: whatever goes wrong, what was done is taken back or named, and each step and undo happens once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from examples.example import load
from remit import READ, TRUSTED, Context, Flow, Tool, manual, never, tool, undo, workflow, write
from remit.testing import Exploration, Scenario, explore
from remit.types.event import Event, RunEnded, UndoBegun
from remit.types.ledger import Append, Committed
from remit.workflow import Workflow
from testing.explorer.planted import Around
from testing.explorer.works import works

pay: Workflow = load("payment_email").pay
refund: Workflow = load("refund_flow").refund


@pytest.mark.parametrize(("explored", "schedules"), [pytest.param(pay, 60, id="pay"), pytest.param(refund, 40, id="refund")])
def test_whatever_goes_wrong_a_workflow_takes_back_or_names_what_it_did(explored: Workflow, schedules: int) -> None:
    exploration = explore(explored, schedules=schedules)
    assert exploration.holds, str(exploration)
    assert exploration.schedules == schedules
    assert exploration.left_out == ()


def played(explored: Workflow, *texts: str) -> None:
    exploration = explore(explored, schedules=texts)
    assert exploration.holds, str(exploration)
    assert exploration.schedules == len(texts)


def test_a_way_back_that_is_interrupted_goes_on_where_it_was() -> None:
    back = [f"pay: check:booked=not crash@w{number}{side}" for number in range(9, 15) for side in "+-"]
    played(pay, *back, "pay: check:booked=not world:reverse_payment=lost", "pay: world:send_receipt=hang crash@w7+ second@+3")


def test_people_who_say_no_to_a_workflow_or_change_what_it_asks_end_it() -> None:
    modes = ("deny", "edit", "late", "twice", "cancel", "revoke", "deploy", "alter")
    played(refund, *(f"refund: person={mode}" for mode in modes))


def test_a_cancel_that_comes_as_a_workflow_ends_is_journaled() -> None:
    played(pay, *(f"pay/rival: cancel@{step}" for step in range(127, 136)))


def test_a_workflow_that_goes_on_elsewhere_as_it_is_let_go_is_followed_there() -> None:
    played(refund, "refund: second@40 order=479", "refund: second@40 order=480", "refund: second@44 order=7")


def test_a_clock_that_is_put_ahead_does_not_make_an_attempt_land_that_is_taken_for_gone() -> None:
    texts = [f"refund: world:refund=after clock+3600@{step}" for step in range(24, 60, 3)]
    exploration = explore(works, schedules=texts)
    assert exploration.holds, str(exploration)


def _with(append: Append, told: Callable[[Event], Event]) -> Append:
    return replace(append, events=tuple(replace(one, event=told(one.event)) for one in append.events))


class NamesNothing(Around):
    """Runs end without an explanation, as if nothing had been done."""

    async def commit(self, append: Append) -> Committed:
        def told(event: Event) -> Event:
            return replace(event, explanation=None) if isinstance(event, RunEnded) else event

        return await self.inner.commit(_with(append, told))


class ForgetsToTakeBack(Around):
    """What is to be taken back is not written down."""

    async def commit(self, append: Append) -> Committed:
        def told(event: Event) -> Event:
            return replace(event, undos=(), stuck=()) if isinstance(event, UndoBegun) else event

        return await self.inner.commit(_with(append, told))


@pytest.mark.parametrize(
    ("around", "schedule"),
    [
        (NamesNothing, "pay: cancel@45"),
        (ForgetsToTakeBack, "pay: check:booked=not"),
    ],
)
def test_what_is_done_and_neither_taken_back_nor_named_is_found(around: type[Around], schedule: str) -> None:
    found = _found(explore(pay, schedules=[schedule], ledger=around))
    assert any("is neither taken back nor named" in one for one in found), found


def _found(exploration: Exploration) -> list[str]:
    return [one for failure in exploration.failures for one in failure.found]


@tool(effect=READ, label=TRUSTED)
async def look(order: str) -> object:
    """Look an order up.

    Args:
        order: which
    """
    return order


def _tool(name: str) -> Tool:
    @tool(name=name, effect=write(once_per="order", recovery=manual), approve=never, label=TRUSTED)
    async def handler(order: str, ctx: Context[list[str]]) -> None:
        """Do it.

        Args:
            order: which
        """
        ctx.deps.append(name)

    return handler


book, unbook = _tool("book"), _tool("unbook")


@workflow(tools=[look, book, unbook])
async def booking(flow: Flow[list[str]], order: str) -> str:
    """Book what is found."""
    found = await flow.call(look, order=order)
    await flow.call(book, order=str(found["id"]), undo=undo(unbook, order=order))  # type: ignore[index, call-overload]
    await flow.check("booked", lambda ctx: "book" in ctx.deps)
    return "booked"


def test_a_result_that_cannot_be_made_up_is_named_and_a_scenario_gives_it() -> None:
    exploration = explore(booking, schedules=4)
    assert exploration.left_out[0].startswith("booking: booking ends as escalated (workflow.error) when")
    own = Scenario(name="own", inputs=[{"order": "A-1"}, {"order": "A-2"}], results={"look": {"id": "o1"}})
    exploration = explore(booking, scenarios=[own], schedules=20)
    assert exploration.holds, str(exploration)
    assert exploration.left_out == ()
    assert "dispatched, returned" in exploration.rows_taken


def test_live_asks_the_checks_of_the_application_itself() -> None:
    own = Scenario(name="own", inputs=[{"order": "A-1"}], results={"look": {"id": "o1"}})
    modelled = replace(booking, tools=(replace(look, handler=_found_order, form=None, context=None), book, unbook))
    exploration = explore(modelled, scenarios=[own], schedules=20, live=True, deps=list[str])
    assert exploration.holds, str(exploration)


def _found_order(arguments: object, ctx: object) -> object:
    return {"id": "o1"}
