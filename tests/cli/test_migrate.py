"""Migrating from the command line."""

from __future__ import annotations

import apsw

from cli.conftest import Desk


def test_what_is_to_be_made_is_said_before_it_is_made(desk: Desk) -> None:
    missing = desk("migrate")
    assert missing.code == 10
    assert "there is no ledger" in missing.err
    desk.run("reader")
    assert desk("migrate").out.strip() == "the tables are this version's already"
    assert desk("migrate", "--dry-run", "--json").json == {"before": 1, "steps": [], "done": False}


def test_tables_of_a_newer_version_are_left_as_they_are(desk: Desk) -> None:
    desk.run("reader")
    db = apsw.Connection(str(desk.here / "remit.db"))
    db.execute("PRAGMA user_version = 99")
    db.close()
    said = desk("migrate")
    assert said.code == 10
    assert "newer version" in said.err
