"""Whom a run may ask, and under which head."""

from __future__ import annotations

from dataclasses import replace

from loop.world import started
from remit import ScriptedModel
from remit.loop import RunSpec
from remit.loop.roster import Roster
from remit.types.event import RunStarted, ToolRecorded
from remit.types.ident import Digest, Wording
from remit.types.model import Model

HEAD = Wording('"model":"a","max_tokens":64,"system":"Help the model: \\"a\\"."')


def recorded(*names: str) -> RunStarted:
    first, *others = (f"scripted:{name}" for name in names)
    return replace(started(), model=first, fallbacks=tuple(others), head=HEAD)


def roster(run: RunStarted, *names: str) -> Roster:
    first, *others = (ScriptedModel([], name=name) for name in names)
    models: tuple[Model, ...] = tuple(others)
    return Roster(RunSpec(model=first, fallbacks=models), run)


def test_the_recorded_order_stands_whatever_the_agents_order_is_now() -> None:
    assert roster(recorded("a", "b", "c"), "a", "c", "b").identities == ("scripted:a", "scripted:b", "scripted:c")


def test_what_the_agent_no_longer_has_is_passed_over_and_what_is_new_is_not_asked() -> None:
    assert roster(recorded("a", "b", "c"), "a", "c", "new").identities == ("scripted:a", "scripted:c")


def test_in_the_place_of_the_first_comes_the_agents_own_model() -> None:
    assert roster(recorded("a", "b"), "new", "b").identities == ("scripted:new", "scripted:b")
    assert roster(recorded("a", "b"), "b").identities == ("scripted:b",)
    found = roster(recorded("a"), "new")
    assert found.model("scripted:a").identity == "scripted:new"


def test_the_recorded_head_is_sent_with_nothing_changed_but_the_models_name() -> None:
    found = roster(recorded("a", "b"), "a", "b")
    assert found.head(found.model("scripted:a")) == HEAD
    other = found.head(found.model("scripted:b"))
    assert other == HEAD.replace('"model":"a"', '"model":"b"', 1)
    assert found.head(found.model("scripted:b")) is other


def test_names_on_the_wire_are_those_of_the_recorded_tools() -> None:
    tool = ToolRecorded(name="orders.read", wire_name="orders_read", contract=Digest("0"), effect="read")
    found = roster(replace(recorded("a"), tools=(tool,)), "a")
    assert found.names == {"orders_read": "orders.read"}
    assert found.names is found.names
