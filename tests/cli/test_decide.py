"""What people say from the command line: recorded under their name, once, and run only where an agent is named."""

from __future__ import annotations

from cli.conftest import Desk


def _paused(desk: Desk, agent: str = "refunder") -> tuple[str, str]:
    stands = desk.run(agent).json
    (waiting,) = stands["approvals"] + stands["questions"]
    return stands["run"], waiting["id"]


def test_approvals_lists_what_waits_with_the_arguments_that_would_run(desk: Desk) -> None:
    run, approval = _paused(desk)
    (row,) = desk("approvals", "--json").json["approvals"]
    assert (row["id"], row["run"], row["state"], row["kind"]) == (approval, run, "pending", "approval")
    assert row["arguments"] == {"amount_cents": 9900, "charge_id": "ch_1"}
    assert row["scope"] == "billing:approve"
    assert approval in desk("approvals").out
    assert desk("approvals", "--run", run, "--json").json["approvals"] == [row]


def test_approve_records_and_runs_nothing_until_the_run_is_taken_up(desk: Desk) -> None:
    run, approval = _paused(desk)
    said = desk("approve", approval, "--by", "bob", "--reason", "checked", "--json")
    assert said.code == 0
    assert said.json["standing"] is None
    assert (said.json["approval"]["state"], said.json["approval"]["decided_by"]) == ("approved", "bob")
    assert desk.books == []
    done = desk("resume", run, "--agent", "shop:refunder", "--deps", "shop:make_shop", "--json")
    assert (done.code, done.json["status"]) == (0, "finished")
    assert desk.books == ["ch_1 9900"]


def test_approve_with_an_agent_goes_on_at_once(desk: Desk) -> None:
    _, approval = _paused(desk)
    said = desk(
        "approve", approval[:12], "--by", "bob", "--reason", "ok", "--agent", "shop:refunder", "--deps", "shop:make_shop"
    )
    assert said.code == 0
    assert "It is refunded." in said.out
    assert f"{approval} approved by bob: ok" in said.err
    assert desk.books == ["ch_1 9900"]
    assert desk("approvals").out.strip() == "nothing waits for a person"
    assert desk("approvals", "--all", "--json").json["approvals"][0]["state"] == "consumed"


def test_approving_twice_is_harmless_and_a_late_other_opinion_is_a_conflict(desk: Desk) -> None:
    _, approval = _paused(desk)
    assert desk("approve", approval, "--by", "bob", "--reason", "ok").code == 0
    assert desk("approve", approval, "--by", "bob", "--reason", "ok").code == 0
    late = desk("deny", approval, "--by", "carol", "--reason", "no")
    assert late.code == 9
    assert f"{approval} was approved by bob before" in late.err


def test_deny_lets_nothing_run_and_the_model_goes_on(desk: Desk) -> None:
    _, approval = _paused(desk)
    go_on = ("--agent", "shop:refunder", "--deps", "shop:make_shop", "--json")
    said = desk("deny", approval, "--by", "bob", "--reason", "no duplicate", *go_on)
    assert said.json["approval"]["state"] == "denied"
    assert said.json["standing"]["status"] == "finished"
    assert desk.books == []


def test_edited_arguments_run_in_place_of_the_models(desk: Desk) -> None:
    _, approval = _paused(desk)
    edited = ("--arguments", '{"charge_id": "ch_1", "amount_cents": 500}')
    go_on = ("--agent", "shop:refunder", "--deps", "shop:make_shop", "--json")
    said = desk("approve", approval, "--by", "bob", "--reason", "half", *edited, *go_on)
    assert said.code == 0, said.err
    assert said.json["approval"]["edited"] is True
    assert desk.books == ["ch_1 500"]


def test_arguments_that_are_no_object_or_do_not_fit_are_refused_before_anything_is_recorded(desk: Desk) -> None:
    _, approval = _paused(desk)
    said = ("approve", approval, "--by", "bob", "--reason", "x")
    assert desk(*said, "--arguments", "[1]").code == 2
    assert desk(*said, "--arguments", "{nope").code == 2
    wrong = desk(*said, "--arguments", '{"charge_id": 7}', "--agent", "shop:refunder")
    assert wrong.code == 2
    assert desk("approvals", "--json").json["approvals"][0]["state"] == "pending"


def test_stated_scopes_are_held_instead_of_the_one_that_is_needed(desk: Desk) -> None:
    _, approval = _paused(desk)
    said = desk("approve", approval, "--by", "bob", "--reason", "x", "--scope", "billing:read")
    assert said.code == 11
    assert desk("approvals", "--json").json["approvals"][0]["state"] == "pending"


def test_a_question_is_answered_and_an_approval_is_not(desk: Desk) -> None:
    _, question = _paused(desk, "asker")
    assert f'remit answer {question} "..." --by NAME' in desk("approvals").out
    assert desk("approve", question, "--by", "bob", "--reason", "x").code == 2
    said = desk("answer", question, "blue", "--by", "alice", "--agent", "shop:asker", "--json")
    assert said.json["approval"]["answer"] == "blue"
    assert said.json["standing"]["answer"] == "Blue it is."


def test_an_approval_that_is_not_there_is_exit_code_8(desk: Desk) -> None:
    _paused(desk)
    said = desk("approve", "apr_nothing", "--by", "bob", "--reason", "x")
    assert (said.code, said.out) == (8, "")
    assert "there is no approval 'apr_nothing'" in said.err
