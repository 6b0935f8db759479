"""`remit run --dry-run`: what would have happened is listed, and nothing of it did."""

from __future__ import annotations

import pytest

from cli.conftest import Desk


def test_what_would_have_been_done_is_listed_and_was_not(desk: Desk) -> None:
    said = desk.run("previewed", "--dry-run")
    assert said.code == 0
    assert (said.json["dry_run"], said.json["status"], said.json["durable"]) == (True, "finished", False)
    credit, mail = said.json["would"]
    assert (credit["call"], credit["tool"], credit["asks"], credit["previewed"]) == ("1.0", "credit", True, True)
    assert credit["arguments"] == {"account": "acc_1", "cents": 900}
    assert credit["says"].endswith("A person would have been asked first. What it would do: Credit 900 cents to acc_1.")
    assert (mail["tool"], mail["asks"], mail["previewed"]) == ("send_mail", False, False)
    assert desk.books == []


def test_a_dry_run_makes_no_ledger(desk: Desk) -> None:
    desk.run("previewed", "--dry-run")
    assert not (desk.here / "remit.db").exists()


def test_people_read_it_after_the_answer(desk: Desk) -> None:
    said = desk("run", "shop:previewed", "Credit it", "--principal", "alice", "--dry-run", "--deps", "shop:make_shop")
    lines = said.out.splitlines()
    assert lines[0] == "I would have."
    assert "dry run: not done, and nobody was asked" in lines
    assert any("Credit 900 cents to acc_1." in line for line in lines)


def test_where_nothing_would_have_changed_it_says_so(desk: Desk) -> None:
    said = desk("run", "shop:talker", "Hello", "--principal", "alice", "--dry-run")
    assert said.out.splitlines()[-1] == "dry run: nothing would have been changed, and nobody asked"


@pytest.mark.parametrize("kept", [("--ledger", "x.db"), ("--conversation", "c"), ("--request-id", "r")])
def test_what_a_dry_run_could_not_keep_is_refused(desk: Desk, kept: tuple[str, str]) -> None:
    said = desk.run("talker", "--dry-run", *kept)
    assert (said.code, said.json["error"]["code"]) == (2, "owner.dry_run")
