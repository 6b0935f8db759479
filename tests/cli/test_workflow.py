"""Workflows from the command line: begun, decided, gone on with, shown."""

from __future__ import annotations

from cli.conftest import Desk, Said


def begin(desk: Desk, request: str) -> Said:
    return desk("run", "shop:refund", request, "--principal", "alice@acme", "--deps", "shop:make_shop", "--json")


def test_a_workflow_runs_with_its_input_as_json_and_goes_on_with_a_decision(desk: Desk) -> None:
    paused = begin(desk, '{"charge_id": "ch_1"}')
    assert (paused.code, paused.json["status"]) == (3, "paused")
    (asked,) = paused.json["approvals"]
    assert asked["preview"] == "Refund ch_1?"
    recorded = desk("approve", asked["id"], "--by", "bob", "--reason", "seen").out
    assert f"it takes effect when {paused.json['run']} is taken up" in recorded
    finished = desk("resume", paused.json["run"], "--agent", "shop:refund", "--deps", "shop:make_shop", "--json")
    assert (finished.code, finished.json["answer"]) == (0, {"refunded": 500})
    assert desk.books == ["ch_1 500"]
    shown = desk("show", paused.json["run"]).out
    assert "refund for alice@acme, a workflow" in shown
    assert 'call step:issue_refund#1: issue_refund {"amount_cents": 500, "charge_id": "ch_1"}' in shown
    assert "another loop" not in shown
    assert desk("show", paused.json["run"], "--json").json["standing"]["status"] == "finished"
    assert desk("follow", paused.json["run"]).out.splitlines()[-2].startswith("finished, verified")
    assert desk("audit", "verify").code == 0


def test_a_workflow_that_failed_is_shown_with_what_was_taken_back(desk: Desk) -> None:
    paused = begin(desk, '{"charge_id": "ch_2", "right": false}')
    (asked,) = paused.json["approvals"]
    decided = desk(
        *("approve", asked["id"], "--by", "bob", "--reason", "seen"),
        *("--agent", "shop:refund", "--deps", "shop:make_shop"),
    )
    assert "escalated (check.not)" in decided.out
    assert "the books are wrong. taken back: issue_refund#1" in decided.out
    assert desk.books == ["ch_2 500", "ch_2 reopened"]
    shown = desk("show", paused.json["run"]).out
    assert "step:issue_refund#1 is to be taken back by undo:issue_refund#1 reopen" in shown
    assert "taken back: issue_refund#1" in shown
    assert "books are wrong" not in desk("show", paused.json["run"], "--no-content").out


def test_a_cancelled_workflow_says_what_it_had_done(desk: Desk) -> None:
    paused = begin(desk, '{"charge_id": "ch_3"}')
    assert desk("cancel", paused.json["run"], "--by", "bob").out == f"{paused.json['run']} is cancelled\n"
    assert desk("show", paused.json["run"], "--json").json["standing"]["status"] == "cancelled"


def test_a_request_that_is_no_input_starts_nothing(desk: Desk) -> None:
    for request in ("refund it", '["ch_1"]', '{"charge": "ch_1"}'):
        assert begin(desk, request).code == 2
    assert desk("runs", "--json").json["runs"] == []


def test_a_workflow_is_not_replayed(desk: Desk) -> None:
    paused = begin(desk, '{"charge_id": "ch_4"}')
    assert desk("replay", paused.json["run"], "shop:refund").code == 2
