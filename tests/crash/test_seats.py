"""Effects in the ledger's own file, with real processes that are really killed: a row and its outcome, or neither."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from pathlib import Path

from crash.seats import found

WORKER = Path(__file__).with_name("seats.py")


def begin(folder: Path, *arguments: str) -> subprocess.Popen[str]:
    command = [sys.executable, str(WORKER), str(folder), *arguments]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def finish(processes: list[subprocess.Popen[str]]) -> None:
    try:
        for one in processes:
            _, err = one.communicate(timeout=150)
            assert one.returncode == 0, err
    finally:
        for one in processes:
            one.kill()
            one.communicate()


def test_killed_at_every_crash_point_the_rows_of_the_application_are_those_that_the_ledger_says(tmp_path: Path) -> None:
    finish([begin(tmp_path, "kill", str(first), "2") for first in (1, 2)])
    places = [one for one in tmp_path.iterdir() if (one / "after").exists()]
    for place in places:
        point = (place / "point").read_text()
        killed, after = json.loads((place / "found").read_text()), json.loads((place / "after").read_text())
        assert killed["rows"] == killed["succeeded"], (place.name, point)
        assert (killed["faults"], after["faults"]) == ([], []), (place.name, point)
        assert json.loads((place / "said").read_text())["how"] == "Finished", (place.name, point)
        assert [name for name, _ in after["rows"]] == ["seat 1A", "seat 2B"], (place.name, point)
        assert after["rows"] == after["succeeded"], (place.name, point)
    points = {(one / "point").read_text() for one in places}
    of_it = ("begun", "statement", "returned", "applied", "committed")
    assert {f"transact.{one}" for one in of_it} <= points


def test_two_processes_that_want_the_same_rows_each_have_them_once(tmp_path: Path) -> None:
    finish([begin(tmp_path, "load", str(seed)) for seed in (3, 7)])
    said = asyncio.run(found(tmp_path))
    assert said["faults"] == []
    assert said["rows"] == said["succeeded"]
    rows = said["rows"]
    assert isinstance(rows, list)
    assert len({name for name, _ in rows}) == len(rows) > 10
