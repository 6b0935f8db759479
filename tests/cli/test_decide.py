"""What people say from the command line: recorded under their name, once, and run only where an agent is named."""

from __future__ import annotations

import sqlite3

import pytest

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


GO_ON = ("--agent", "shop:refunder", "--deps", "shop:make_shop")


def test_a_late_other_opinion_with_an_agent_starts_nothing(desk: Desk) -> None:
    run, approval = _paused(desk)
    assert desk("approve", approval, "--by", "bob", "--reason", "ok").code == 0
    late = desk("deny", approval, "--by", "carol", "--reason", "no", *GO_ON)
    assert late.code == 9
    assert f"{approval} was approved by bob before; what was said now is not recorded" in late.err
    assert desk.books == []
    assert [row["id"] for row in desk("runs", "--status", "paused", "--json").json["runs"]] == [run]


def test_a_no_to_what_ran_is_a_conflict_even_of_the_same_person(desk: Desk) -> None:
    _, approval = _paused(desk)
    assert desk("approve", approval, "--by", "bob", "--reason", "ok", *GO_ON).code == 0
    assert desk("approve", approval, "--by", "bob", "--reason", "ok", *GO_ON).code == 0
    late = desk("deny", approval, "--by", "bob", "--reason", "no", *GO_ON)
    assert late.code == 9
    assert f"{approval} was approved by bob before, and it ran; what was said now is not recorded" in late.err
    assert desk.books == ["ch_1 9900"]


@pytest.mark.parametrize("command", ["approve", "deny"])
def test_what_is_void_or_expired_is_said_to_be_so(desk: Desk, command: str) -> None:
    _, void = _paused(desk)
    (row,) = desk("operations", "--json").json["operations"]
    desk("withdraw", row["id"], "--by", "alice")
    late = desk(command, void, "--by", "bob", "--reason", "x")
    assert (late.code, f"{void} is void: what it asked for was withdrawn, cancelled or replaced" in late.err) == (9, True)
    run, expired = _paused(desk, "whale")
    with sqlite3.connect(desk.here / "remit.db") as store:
        store.execute("update remit_approval set expires_ms = 1 where id = ?", (expired,))
    store.close()
    late = desk(command, expired, "--by", "bob", "--reason", "x", "--agent", "shop:whale", "--deps", "shop:make_shop")
    assert (late.code, f"{expired} has expired: nobody decided in time" in late.err) == (9, True)
    assert desk("show", run, "--json").json["run"]["status"] == "paused"


def test_edited_arguments_are_shown_with_who_wrote_them_and_that_nobody_checked_them(desk: Desk) -> None:
    run, approval = _paused(desk)
    edited = ("--arguments", '{"charge_id": "ch_1", "amount_cents": 500}')
    said = desk("approve", approval, "--by", "bob", "--reason", "half", *edited)
    assert 'with other arguments, by bob: {"amount_cents": 500, "charge_id": "ch_1"}' in said.out
    assert "not checked yet: the tool checks them when the run goes on" in said.out
    assert 'with other arguments, by bob: {"amount_cents": 500, "charge_id": "ch_1"}' in desk("approvals", "--all").out
    (row,) = desk("approvals", "--all", "--run", run, "--json").json["approvals"]
    assert row["edited_arguments"] == {"charge_id": "ch_1", "amount_cents": 500}
    other = desk("approve", approval, "--by", "bob", "--reason", "all of it")
    assert (other.code, "was approved by bob before, with other arguments" in other.err) == (9, True)


def test_edited_arguments_are_checked_where_the_agent_is_named(desk: Desk) -> None:
    _, approval = _paused(desk)
    edited = ("--arguments", '{"charge_id": "ch_1", "amount_cents": 500}')
    said = desk("approve", approval, "--by", "bob", "--reason", "half", *edited, *GO_ON, "--json")
    assert (said.code, said.json["arguments_checked"]) == (0, True)
    assert "when the run goes on" in " ".join(desk("approve", "--help").out.split())


def test_a_secret_argument_stays_masked_where_it_was_edited(desk: Desk) -> None:
    _, approval = _paused(desk, "closer")
    edited = ("--arguments", '{"account": "acc_1", "pin": "1234-5678"}')
    said = desk("approve", approval, "--by", "bob", "--reason", "the new pin", *edited)
    listed = desk("approvals", "--all", "--json")
    assert listed.json["approvals"][0]["edited_arguments"] == {"account": "acc_1", "pin": "[redacted]"}
    assert all("1234-5678" not in one.out + one.err for one in (said, listed, desk("approvals", "--all")))


@pytest.mark.parametrize("arguments", ["[1]", "7", "{nope", ""])
def test_arguments_that_are_no_json_object_are_refused_by_the_options_name(desk: Desk, arguments: str) -> None:
    said = desk("approve", "apr_1", "--by", "bob", "--reason", "x", "--arguments", arguments)
    assert (said.code, "--arguments is " in said.err) == (2, True)


def test_an_answer_is_one_of_the_choices_that_were_offered(desk: Desk) -> None:
    _, question = _paused(desk, "asker")
    said = desk("answer", question, "green", "--by", "alice", "--agent", "shop:asker")
    assert said.code == 2
    assert "is none of the choices: red, blue" in said.err
    assert desk("approvals", "--json").json["approvals"][0]["state"] == "pending"


@pytest.mark.parametrize("by", ["alice", "bob"])
@pytest.mark.parametrize("go_on", [(), ("--agent", "shop:asker")])
def test_an_answer_is_confirmed_with_who_gave_it_and_how_far_it_counts(desk: Desk, by: str, go_on: tuple[str, ...]) -> None:
    _, question = _paused(desk, "asker")
    said = desk("answer", question, "blue", "--by", by, *go_on)
    assert f'answered "blue" by {by}' in said.out
    untrusted = "bob is not alice, whom the run is for: the answer counts as untrusted" in said.out
    assert untrusted == (by == "bob")


def test_the_other_kind_is_refused_with_the_command_that_is_meant(desk: Desk) -> None:
    _, question = _paused(desk, "asker")
    for command in ("approve", "deny"):
        said = desk(command, question, "--by", "bob", "--reason", "x")
        assert (said.code, f"{question} is a question: use remit answer {question}" in said.err) == (2, True)
    _, approval = _paused(desk)
    said = desk("answer", approval, "yes", "--by", "bob")
    assert (said.code, f"use remit approve {approval} or remit deny {approval}" in said.err) == (2, True)


def test_a_first_word_says_when_it_takes_effect_and_a_second_that_nothing_is_recorded(desk: Desk) -> None:
    run, approval = _paused(desk)
    say = ("approve", approval, "--by", "bob", "--reason", "ok")
    later = f"it takes effect when {run} is taken up (remit resume {run} --agent MODULE:AGENT)"
    assert f"recorded; {later}" in desk(*say).out
    assert f"you approved this before; nothing new is recorded; {later}" in desk(*say).out
    assert "you approved this before; nothing new is recorded\n" in desk(*say, *GO_ON).out
    after = desk(*say)
    assert (after.code, "you approved this before; nothing new is recorded; it ran\n" in after.out) == (0, True)
    assert "takes effect" not in after.out


def test_a_second_no_is_said_to_be_one(desk: Desk) -> None:
    _, approval = _paused(desk)
    say = ("deny", approval, "--by", "bob", "--reason", "no", *GO_ON)
    assert "before" not in desk(*say).out
    assert "you denied this before; nothing new is recorded\n" in desk(*say).out
    assert "you denied this before; nothing new is recorded\n" in desk(*say[:-4]).out


def test_an_approval_is_listed_with_when_it_was_asked_and_when_it_was_decided(desk: Desk) -> None:
    _, approval = _paused(desk)
    assert f"{approval}  approval pending, asked 20" in desk("approvals").out
    desk("approve", approval, "--by", "bob", "--reason", "ok", *GO_ON)
    listed = desk("approvals", "--all").out
    assert f"{approval}  approval consumed, asked 20" in listed
    assert "  approved by bob at 20" in listed


def test_a_question_that_is_not_there_is_called_a_question(desk: Desk) -> None:
    _paused(desk, "asker")
    said = desk("answer", "q", "x", "--by", "b")
    assert (said.code, "there is no question 'q'" in said.err) == (8, True)
