"""Heads of the ledger from the command line: exported, and held against what the file says later."""

from __future__ import annotations

import json
from pathlib import Path

import apsw
import pytest

from cli.conftest import Desk


@pytest.fixture
def exported(desk: Desk) -> Path:
    """A head of a ledger with one run."""
    assert desk.run("reader").code == 0
    said = desk("audit", "head")
    assert said.code == 0
    path = desk.here / "head.json"
    path.write_text(said.out)
    return path


def test_without_a_head_it_says_what_cannot_be_seen_and_with_one_what_was(desk: Desk, exported: Path) -> None:
    assert "cannot be seen without a head" in desk("audit", "verify").out
    said = desk("audit", "verify", "--head", str(exported))
    assert said.code == 0
    assert "1 run stands on the head of" in said.out
    assert desk("audit", "verify", "--head", str(exported), "--json").json["head"] == json.loads(exported.read_text())["digest"]


def test_a_run_that_was_removed_is_named_also_when_it_is_asked_for(desk: Desk, exported: Path) -> None:
    [head] = json.loads(exported.read_text())["heads"]
    db = apsw.Connection(str(desk.here / "remit.db"))
    for table in ("run WHERE 1", "page WHERE 1", "payload WHERE 1", "request WHERE 1", "operation WHERE 1"):
        db.execute(f"DELETE FROM remit_{table}")
    db.close()
    assert desk("audit", "verify").code == 0
    for named in ([], [head["run"]]):
        said = desk("audit", "verify", *named, "--head", str(exported))
        assert said.code == 12
        assert f"{head['run']}: is gone" in said.out


def test_a_head_that_is_none_is_refused(desk: Desk, exported: Path) -> None:
    for text in ("{", exported.read_text().replace('"sequence": ', '"sequence": 1')):
        exported.write_text(text)
        assert desk("audit", "verify", "--head", str(exported)).code == 2
    assert desk("audit", "verify", "--head", "nowhere.json").code == 2
    assert desk("audit", "head", "run_none").code == 8
