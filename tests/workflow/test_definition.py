"""`@workflow`: what is found when a workflow is defined, and what its input must be."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

import pytest

from remit import Agent, Budget, DefinitionError, InputError, ScriptedModel
from remit.workflow import Flow, Workflow, workflow
from workflow.stage import World, book, look, unbook, writes


@dataclass
class Order:
    name: str
    cents: int = 1


async def typed(flow: Flow[World], order: Order, note: str | None = None) -> None:
    """Without a docstring it would do as well."""


async def synchronous_in_name_only(flow: Flow) -> None:
    return None


def defined(function: Callable[..., Awaitable[object]] = typed, **options: object) -> Workflow:
    return workflow(**options)(function)  # type: ignore[arg-type]


def test_its_name_is_the_functions_unless_another_is_given() -> None:
    assert defined().name == "typed"
    assert defined(name="other").name == "other"
    assert defined(synchronous_in_name_only).input({}).text == "{}"


def test_its_input_is_read_by_the_functions_types() -> None:
    given = defined().input({"order": {"name": "x"}})
    assert defined().read(given.plain_text()) == {"order": Order("x"), "note": None}


@pytest.mark.parametrize(
    ("given", "place"),
    [
        ({}, "order"),
        ({"order": {"name": 1}}, "/order/name"),
        ({"order": {"name": "x"}, "other": 1}, "other"),
        ({"order": {"name": "x"}, "flow": 1}, "flow"),
        ({"order": {1}}, "JSON"),
        ("x", "dict"),
    ],
)
def test_an_input_that_does_not_fit_is_refused_with_its_place(given: object, place: str) -> None:
    with pytest.raises(InputError) as error:
        defined().input(given)
    assert error.value.code == "workflow.input"
    assert place in error.value.message


def test_the_same_input_in_another_order_is_the_same() -> None:
    trip = defined()
    assert trip.input({"order": {"name": "x"}, "note": "n"}) == trip.input({"note": "n", "order": {"cents": 1, "name": "x"}})


def not_async(flow: Flow[World]) -> None: ...


async def without_flow(name: str) -> None: ...


async def two_flows(flow: Flow[World], other: Flow[World]) -> None: ...


async def untyped(flow: Flow[World], name) -> None: ...  # type: ignore[no-untyped-def]


@pytest.mark.parametrize(
    ("function", "options", "code"),
    [
        (not_async, {}, "workflow.function"),
        (without_flow, {}, "workflow.function"),
        (two_flows, {}, "definition.parameter"),
        (untyped, {}, "definition.parameter"),
        (typed, {"name": " "}, "workflow.name"),
        (typed, {"tools": book}, "workflow.tools"),
        (typed, {"tools": [book, book]}, "definition.name"),
        (typed, {"tools": [writes("approve")]}, "workflow.tools"),
        (typed, {"tools": [typed]}, "definition.tool"),
        (typed, {"budget": 3}, "workflow.budget"),
        (typed, {"policy": ["no"]}, "workflow.policy"),
        (typed, {"secrets": ["x"]}, "secret.short"),
    ],
)
def test_a_wrong_definition_is_refused_when_it_is_written(
    function: Callable[..., Awaitable[object]], options: dict[str, object], code: str
) -> None:
    with pytest.raises(DefinitionError) as error:
        defined(function, **options)
    assert error.value.code == code


def test_the_error_of_a_parameter_names_the_workflow() -> None:
    with pytest.raises(DefinitionError, match="workflow 'untyped': parameter 'name' has no type annotation"):
        defined(untyped)


def test_its_version_changes_with_what_it_may_do_and_with_its_code() -> None:
    async def again(flow: Flow[World], order: Order, note: str | None = None) -> None:
        await flow.approve("Go on?")

    first = defined(tools=[book])
    assert first.digest == defined(tools=[book]).digest
    others = [defined(tools=[look]), defined(tools=[book, unbook]), defined(again, name="typed", tools=[book])]
    assert len({first.digest, *(one.digest for one in others), defined(tools=[book], budget=Budget(calls=1)).digest}) == 5


def test_the_agents_that_it_asks_are_tools_of_it() -> None:
    reviewer = Agent("reviewer", model=ScriptedModel(["yes"]))
    assert [tool.name for tool in defined(tools=[book], agents=[reviewer]).catalogue] == ["book", "reviewer", "approve"]
