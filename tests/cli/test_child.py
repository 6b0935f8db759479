"""Commands about runs that answer calls of other runs."""

from __future__ import annotations

import pytest

from cli.conftest import Desk

FAMILY = """
from remit import Agent, ScriptedModel, call
from shop import issue_refund, lookup_order

refund = call("issue_refund", charge_id="ch_1", amount_cents=9_900)
billing = Agent("billing", model=ScriptedModel([refund, "Refunded."]), tools=[issue_refund], secrets=["a word of billing"])
helper = billing.as_tool(description="Refunds charges.")
ask = call("billing", task="Refund ch_1.")
support = Agent("support", model=ScriptedModel([ask, "It is done."]), tools=[lookup_order, helper])
"""
DEPS = ("--deps", "shop:make_shop")


@pytest.fixture
def home(desk: Desk) -> Desk:
    (desk.here / "family.py").write_text(FAMILY)
    return desk


def paused(desk: Desk) -> tuple[str, str]:
    """A run that waits for what its child asks, and the approval."""
    said = desk("run", "family:support", "Help me", "--principal", "alice@acme", *DEPS, "--json")
    assert said.code in (0, 2, 3, 4, 5), said.out + said.err
    document = said.json
    return document["run"], document["approvals"][0]["id"]


def test_what_a_child_asks_is_listed_approved_and_done_with_the_agent_at_the_top(home: Desk) -> None:
    run, approval = paused(home)
    (listed,) = home("approvals", "--json").json["approvals"]
    assert (listed["id"], listed["run"] == run) == (approval, False)
    done = home("approve", approval, "--by", "bob", "--reason", "ok", "--agent", "family:support", *DEPS, "--json")
    assert done.code == 0, done.out + done.err
    assert done.json["standing"]["run"] == run
    assert done.json["standing"]["status"] == "finished"
    assert home.books == ["ch_1 9900"]
    assert home("audit", "verify").code == 0


def test_a_parent_names_the_run_that_answers_its_call_and_the_list_says_whose_it_is(home: Desk) -> None:
    run, _ = paused(home)
    rows = home("runs", "--json").json["runs"]
    child = next(row["id"] for row in rows if row["parent"] == run)
    shown = home("show", run).out
    assert f"1.0 is answered by run {child}" in shown
    assert f"run {child} waits for" in shown
    assert f"for call 1.0 of {run}" in home("show", child).out
    assert f"billing, for {run}" in home("runs").out.replace("\n", " ")


def test_a_parent_and_its_child_are_replayed_each_by_itself_and_nothing_happens_again(home: Desk) -> None:
    run, approval = paused(home)
    still = home("replay", run, "family:support", "--json")
    assert (still.code, still.json["end"]) == (0, {"then": "waits", "now": "waits"}), still.out
    home("approve", approval, "--by", "bob", "--reason", "ok", "--agent", "family:support", *DEPS)
    child = next(row["id"] for row in home("runs", "--json").json["runs"] if row["parent"] == run)
    for name, agent in ((run, "support"), (child, "billing")):
        said = home("replay", name, f"family:{agent}", "--json")
        assert (said.code, said.json["equal"], said.json["missed"]) == (0, True, None), said.out
    assert home.books == ["ch_1 9900"]


def test_a_dry_run_says_what_the_other_agent_would_have_said(home: Desk) -> None:
    said = home("run", "family:support", "Help me", "--principal", "alice@acme", *DEPS, "--dry-run")
    assert said.code == 0, said.out + said.err
    assert "It is done." in said.out
    assert home.books == []
