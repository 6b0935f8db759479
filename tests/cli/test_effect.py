"""Operations, settlements and the audit from the command line; none of them needs an agent."""

from __future__ import annotations

import asyncio
import logging
import sqlite3

import pytest

from cli.conftest import Desk
from remit import SqliteLedger, Unknown
from remit.types.delivery import LateReport
from remit.types.ident import OperationId, RunId


def _unknown(desk: Desk) -> tuple[str, str]:
    run = desk.run("mailer").json["run"]
    (row,) = desk("operations", "--unknown", "--json").json["operations"]
    return run, row["id"]


def test_operations_tell_what_was_asked_for_and_what_became_of_it(desk: Desk) -> None:
    run, operation = _unknown(desk)
    desk.run("refunder")
    rows = {row["tool"]: row for row in desk("operations", "--json").json["operations"]}
    assert rows["send_mail"]["state"] == "unknown"
    assert rows["send_mail"]["arguments"] == {"to": "alice@shop.test"}
    assert rows["issue_refund"]["state"] == "awaiting_approval"
    assert operation in desk("operations", "--run", run).out.replace("\n", "")
    assert [row["id"] for row in desk("operations", "--unknown", "--json").json["operations"]] == [operation]


def test_a_number_that_a_float_would_round_is_shown_as_the_number_that_it_is(desk: Desk) -> None:
    run = desk.run("whale").json["run"]
    (row,) = desk("operations", "--run", run, "--json").json["operations"]
    assert row["arguments"] == {"charge_id": "ch_2", "amount_cents": 2**60}
    assert "$number" not in desk("show", run).out


def test_the_run_names_what_is_not_settled_and_is_not_verified(desk: Desk) -> None:
    _, operation = _unknown(desk)
    stands = desk.run("mailer", "--request-id", "again").json
    assert stands["verified"] is False or operation not in stands["open_operations"]


@pytest.mark.parametrize(("word", "state"), [("--happened", "succeeded"), ("--did-not-happen", "failed")])
def test_settle_is_journaled_at_once_where_nobody_owns_the_run(desk: Desk, word: str, state: str) -> None:
    run, operation = _unknown(desk)
    said = desk("settle", operation[:10], word, "--by", "bob", "--reason", "seen in the books", "--json")
    assert said.code == 0
    assert said.json["operation"]["state"] == state
    assert said.json["operation"]["settled_by"] == "by:bob"
    assert said.json["journaled"] is True
    assert desk("operations", "--unknown").out.strip() == "nothing is in doubt"
    assert "seen in the books" in desk("show", run).out
    assert desk("settle", operation, word, "--by", "bob", "--reason", "again").code == 9
    assert desk("audit", "verify").code == 0


def test_a_result_of_a_settlement_is_json(desk: Desk) -> None:
    _, operation = _unknown(desk)
    said = ("settle", operation, "--happened", "--by", "bob", "--reason", "seen", "--json")
    assert desk(*said, "--result", "{nope").code == 2
    assert desk(*said, "--result", '{"mail": "m_1"}').json["operation"]["outcome"]["value"] == {"mail": "m_1"}


def test_withdraw_closes_what_waits_and_a_later_yes_runs_nothing(desk: Desk) -> None:
    stands = desk.run("refunder").json
    (row,) = desk("operations", "--json").json["operations"]
    said = desk("withdraw", row["id"], "--by", "alice", "--reason", "never mind", "--json")
    assert (said.code, said.json["operation"]["closed"]) == (0, "withdrawn")
    late = desk("approve", stands["approvals"][0]["id"], "--by", "bob", "--reason", "ok")
    assert late.code == 9
    done = desk("resume", stands["run"], "--agent", "shop:refunder", "--deps", "shop:make_shop", "--json")
    assert done.json["status"] == "finished"
    assert desk.books == []
    assert desk("withdraw", row["id"], "--by", "alice").code == 9


def test_a_handlers_secret_is_in_no_output_and_its_failure_is(desk: Desk) -> None:
    run, _ = _unknown(desk)
    shown = desk("show", run)
    assert "hunter2" not in shown.out
    assert "smtp://[redacted]" in shown.out


def test_show_without_content_holds_nobodys_words(desk: Desk) -> None:
    run = desk.run("refunder", request="my very own words").json["run"]
    for more in ((), ("--json",)):
        shown = desk("show", run, "--no-content", *more)
        assert shown.code == 0
        assert "my very own words" not in shown.out
        assert "ch_1" not in shown.out
    assert "my very own words" in desk("show", run).out


def test_show_is_the_transcript_as_a_person_reads_it(desk: Desk) -> None:
    run = desk.run("refunder").json["run"]
    out = desk("show", run).out
    told = [
        "user: Help me",
        "turn 1: asking",
        "call 1.0: issue_refund",
        "waits for apr_",
        "waiting for apr_",
        "paused",
        "tokens in",
    ]
    places = [out.index(one) for one in told]
    assert places == sorted(places)


def test_runs_lists_newest_first_and_filters(desk: Desk) -> None:
    assert desk("runs", "--ledger", _fresh(desk)).out.strip() != ""
    first = desk.run("talker").json["run"]
    second = desk.run("refunder", "--conversation", "t1").json["run"]
    assert [row["id"] for row in desk("runs", "--json").json["runs"]] == [second, first]
    assert [row["id"] for row in desk("runs", "--status", "paused", "--json").json["runs"]] == [second]
    assert [row["id"] for row in desk("runs", "--conversation", "t1", "--json").json["runs"]] == [second]
    assert desk("runs", "--status", "queued").out.strip() == "no such runs"


def _fresh(desk: Desk) -> str:
    desk.run("talker", "--ledger", "other.db")
    return "other.db"


def test_audit_finds_an_event_that_somebody_changed(desk: Desk) -> None:
    run = desk.run("talker").json["run"]
    clean = desk("audit", "verify", run[:12], "--json")
    assert (clean.code, clean.json["verified"], clean.json["problems"]) == (0, True, [])
    assert "verified" in desk("audit", "verify").out
    with sqlite3.connect(desk.here / "remit.db") as store:
        changed = store.execute("update remit_payload set text = replace(text, 'All is well', 'All is lost')").rowcount
    store.close()
    assert changed
    altered = desk("audit", "verify", "--json")
    assert (altered.code, altered.json["verified"]) == (12, False)
    assert any(run in problem for problem in altered.json["problems"])


def test_a_settlement_says_its_options_by_name(desk: Desk) -> None:
    _, operation = _unknown(desk)
    said = desk("settle", operation, "--by", "bob", "--reason", "seen")
    assert (said.code, "--happened" in said.err, "--did-not-happen" in said.err) == (2, True, True)
    said = desk("settle", operation, "--happened", "--by", "bob", "--reason", "seen", "--result", "{nope")
    assert (said.code, "--result is not JSON" in said.err) == (2, True)


def test_a_state_is_spelled_one_way(desk: Desk) -> None:
    run = desk.run("refunder").json["run"]
    (row,) = desk("operations", "--json").json["operations"]
    assert row["state"] == "awaiting_approval"
    assert "awaiting_approval" in desk("operations").out
    assert "awaiting_approval" in desk("show", run).out
    assert "awaiting approval" not in desk("show", run).out


def test_show_without_content_names_the_tools(desk: Desk) -> None:
    run = desk.run("mailer").json["run"]
    shown = desk("show", run, "--no-content").out
    assert "  call 1.0: send_mail\n" in shown
    assert "  1.0 send_mail -> unknown" in shown


def test_at_debug_level_a_handlers_traceback_is_logged_without_secrets(desk: Desk, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG, logger="remit"):
        desk.run("mailer")
    (record,) = [one for one in caplog.records if one.levelno == logging.DEBUG]
    assert "raise RuntimeError" in record.getMessage()
    assert "tool=send_mail" in record.getMessage()
    assert "hunter2" not in caplog.text


def test_a_result_of_what_did_not_happen_is_refused(desk: Desk) -> None:
    _, operation = _unknown(desk)
    said = desk("settle", operation, "--did-not-happen", "--by", "bob", "--reason", "x", "--result", "1")
    assert (said.code, "--result" in said.err, "--did-not-happen" in said.err) == (2, True, True)
    assert [row["id"] for row in desk("operations", "--unknown", "--json").json["operations"]] == [operation]


def test_a_withdrawal_says_how_its_paused_run_goes_on(desk: Desk) -> None:
    run = desk.run("refunder").json["run"]
    (row,) = desk("operations", "--json").json["operations"]
    said = desk("withdraw", row["id"], "--by", "alice").out
    assert f"{row['id']} is withdrawn\n" in said
    assert f"remit resume {run} --agent MODULE:AGENT" in said


def test_runs_says_how_those_that_ended_did(desk: Desk) -> None:
    for agent in ("talker", "looper", "refunder"):
        desk.run(agent)
    _, operation = _unknown(desk)
    desk("settle", operation, "--happened", "--by", "bob", "--reason", "seen")
    listed = desk("runs").out
    assert listed.count("  ended, finished  ") == 2
    assert listed.count("  ended, stopped  ") == 1
    assert [row["end"] for row in desk("runs", "--json").json["runs"]] == ["finished", None, "stopped", "finished"]


def test_show_tells_what_was_reported_late_and_moved_nothing(desk: Desk) -> None:
    run, operation = _unknown(desk)
    assert desk("settle", operation, "--happened", "--by", "bob", "--reason", "seen in the books").code == 0
    asyncio.run(_reported(desk, run, operation))
    assert desk("recover", "--agent", "shop:mailer").code == 0
    shown = desk("show", run).out
    assert f"{operation} send_mail: succeeded, settled by bob; reported as well:" in shown
    assert "looked like a 504" in shown
    assert "looked like a 504" not in desk("show", run, "--no-content").out
    [row] = desk("show", run, "--json").json["operations"]
    assert "looked like a 504" in str(row["evidence"][-1])
    assert desk("audit", "verify").code == 0


async def _reported(desk: Desk, run: str, operation: str) -> None:
    """What is said of an attempt long after it was given up, and is neither a yes nor a no."""
    outcome = Unknown(code="unknown", message="looked like a 504")
    ledger = SqliteLedger(desk.here / "remit.db")
    await ledger.open()
    await ledger.post(RunId(run), LateReport(operation=OperationId(operation), attempt=1, outcome=outcome))
    await ledger.aclose()
