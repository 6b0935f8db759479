"""Forgetting and compacting from the command line."""

from __future__ import annotations

import apsw
import pytest

from cli.conftest import Desk

WHO = ("--by", "dana", "--reason", "erasure request 88")


def test_a_run_is_forgotten_after_it_was_said_what_that_deletes(desk: Desk) -> None:
    run = desk.run("reader", request="where is A-12345, says goldfinch").json["run"]
    assert desk("show", run).code == 0
    would = desk("forget", run, *WHO, "--dry-run")
    assert (would.code, would.out.startswith(f"would be forgotten: {run}")) == (0, True)
    assert "goldfinch" in desk("show", run).out
    said = desk("forget", run, *WHO)
    assert said.code == 0
    assert said.out.startswith(f"forgotten: {run}")
    for command in ("show", "follow", "replay"):
        more = ("shop:reader",) if command == "replay" else ()
        read = desk(command, run, *more)
        assert read.code == 8, command
        assert "was forgotten" in read.err
        assert "erasure request 88" in read.err
    assert "ended, forgotten" in desk("runs").out
    assert desk("audit", "verify").code == 0
    assert "already" in desk("forget", run, *WHO).out
    assert b"goldfinch" not in b"".join(one.read_bytes() for one in desk.here.glob("remit.db*") if one.is_file())


def test_operations_of_what_was_forgotten_are_listed_without_a_word(desk: Desk) -> None:
    first = desk.run("refunder").json
    agent = ("--agent", "shop:refunder", "--deps", "shop:make_shop")
    assert desk("approve", first["approvals"][0]["id"], "--by", "bob", "--reason", "ok", *agent).code == 0
    assert desk("forget", first["run"], *WHO, "--json").json["operations"] == 1
    listed = desk("operations", "--json").json["operations"]
    assert [(one["state"], one["arguments"], one["outcome"]) for one in listed] == [("succeeded", None, None)]
    assert desk("operations").code == 0
    assert desk("approvals", "--json").code == 0


def test_what_waits_is_not_forgotten(desk: Desk) -> None:
    run = desk.run("refunder").json["run"]
    said = desk("forget", run, *WHO)
    assert said.code == 9
    assert "has not ended" in said.err
    assert desk("forget", "run_none", *WHO).code == 8


def test_compact_says_the_sizes_and_loses_nothing(desk: Desk) -> None:
    run = desk.run("reader").json["run"]
    before = desk("show", run).out
    assert "would be compressed" in desk("compact", "--dry-run").out
    assert desk("compact", "--older-than", "90d", "--json").json["payloads"] == 0
    said = desk("compact", "--json").json
    assert said["bytes_after"] < said["bytes_before"]
    assert desk("show", run).out == before
    assert desk("audit", "verify").code == 0
    assert desk("compact", "--older-than", "soon").code == 2


def test_where_somebody_was_in_the_way_each_command_says_so_every_time(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("remit.ledger.schema.BUSY_MS", 50)
    run = desk.run("reader").json["run"]
    reader = apsw.Connection(str(desk.here / "remit.db"))
    reader.execute("BEGIN")
    assert list(reader.execute("SELECT count(*) FROM remit_payload"))
    for said in ("forgotten: ", "it was forgotten already"):
        again = desk("forget", run, *WHO).out
        assert said in again
        assert "old bytes may be left" in again
    assert "was not written anew" in desk("compact").out
    reader.close()
    assert "old bytes" not in desk("forget", run, *WHO).out
    assert desk("compact", "--json").json["scrubbed"] is True
