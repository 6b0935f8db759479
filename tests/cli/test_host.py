"""Runs of another loop, which only uses the gate: shown and decided like any other, and left to that loop."""

from __future__ import annotations

import asyncio
import sys
from importlib import import_module

from cli.conftest import Desk
from remit import Awaiting, Principal, Remit


def _ask(desk: Desk) -> Awaiting:
    sys.path.insert(0, str(desk.here))
    agent = import_module("shop").refunder
    alice = Principal("alice", scopes=frozenset({"billing:refund"}))
    arguments = {"charge_id": "ch_9", "amount_cents": 9_900}

    async def call() -> Awaiting:
        async with Remit(ledger=desk.here / "remit.db", agents=[agent]) as remit:
            outcome = await remit.gate(agent).call("issue_refund", arguments, principal=alice, run="thread-1", call="c1")
            assert isinstance(outcome, Awaiting)
            return outcome

    return asyncio.run(call())


def test_a_run_of_another_loop_is_shown_and_decided_and_not_resumed(desk: Desk) -> None:
    waiting = _ask(desk)
    assert "for alice@default, another loop" in desk("show", "thread-1").out
    assert desk("show", "thread-1", "--json").json["standing"] is None
    assert desk("resume", "thread-1", "--agent", "shop:refunder").code == 2
    go_on = desk("approve", waiting.approval, "--by", "bob", "--reason", "ok", "--agent", "shop:refunder")
    assert go_on.code == 2
    assert "driven by another loop" in go_on.err
    assert desk("approve", waiting.approval, "--by", "bob", "--reason", "ok").code == 0
    assert desk("approvals", "--json").json["approvals"] == []


def test_a_run_of_another_loop_is_shown_as_one_with_its_arguments(desk: Desk) -> None:
    _ask(desk)
    shown = desk("show", "thread-1").out
    assert 'c1: issue_refund {"amount_cents": 9900, "charge_id": "ch_9"}' in shown
    assert "thread-1: paused (a host's run: another loop drives it through the gate)" in shown
    assert "ch_9" not in desk("show", "thread-1", "--no-content").out


def test_a_run_of_another_loop_is_ended_by_a_cancel(desk: Desk) -> None:
    waiting = _ask(desk)
    said = desk("cancel", "thread-1", "--by", "bob", "--reason", "the customer called")
    assert (said.code, said.out) == (0, "thread-1 is cancelled\n")
    shown = desk("show", "thread-1").out
    assert "cancel asked by bob: the customer called" in shown
    assert "thread-1: ended" in shown
    assert [row["state"] for row in desk("operations", "--json").json["operations"]] == ["closed"]
    assert desk("approve", waiting.approval, "--by", "bob", "--reason", "ok").code == 9
    assert desk("audit", "verify").code == 0


def test_what_is_said_about_a_run_of_another_loop_takes_effect_in_that_loop(desk: Desk) -> None:
    waiting = _ask(desk)
    said = desk("approve", waiting.approval, "--by", "bob", "--reason", "ok").out
    assert "recorded; it takes effect when your own loop makes the call again\n" in said
    assert "remit resume" not in said
    again = desk("approve", waiting.approval, "--by", "bob", "--reason", "ok").out
    assert "nothing new is recorded; it takes effect when your own loop makes the call again" in again


def test_a_withdrawal_in_a_run_of_another_loop_takes_effect_in_that_loop(desk: Desk) -> None:
    _ask(desk)
    (row,) = desk("operations", "--json").json["operations"]
    said = desk("withdraw", row["id"], "--by", "alice").out
    assert "it takes effect when your own loop makes the call again" in said
    assert "remit resume" not in said


def test_runs_marks_those_of_another_loop(desk: Desk) -> None:
    _ask(desk)
    assert "  paused (host)  " in desk("runs").out
    desk("cancel", "thread-1", "--by", "bob")
    assert "  ended, cancelled (host)  " in desk("runs").out
