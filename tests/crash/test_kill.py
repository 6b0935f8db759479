"""Real processes, really killed: at every durable write, and two at once on one file."""

from __future__ import annotations

import asyncio
import json
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from remit import SqliteLedger

WORKER = Path(__file__).with_name("worker.py")


def work(folder: Path, role: str, *rest: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, WORKER, folder, role, *rest], capture_output=True, text=True, timeout=60, check=False
    )


def books(folder: Path) -> list[dict[str, str]]:
    path = folder / "books"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


async def look(folder: Path) -> tuple[list[str], list[object], list[str]]:
    """The ledger afterwards: faults, operations, and calls without exactly one answer."""
    ledger = SqliteLedger(folder / "remit.db")
    await ledger.open()
    try:
        faults = await ledger.verify()
        operations = await ledger.operations(limit=10_000)
        odd: list[str] = []
        for row in await ledger.runs(limit=10_000):
            events = [one.event for one in await ledger.read(row.id)]
            asked = Counter(
                f"{one.turn}.{made.position}" for one in events if one.kind == "model.replied" for made in one.calls
            )
            answered = Counter(one.call for one in events if one.kind == "call.ended")
            odd += [f"{row.id} {call}" for call in asked | answered if asked[call] != 1 or answered[call] != 1]
        return faults, operations, odd
    finally:
        await ledger.aclose()


def test_killed_at_every_durable_write_and_started_again_nothing_happens_twice_and_nothing_is_lost(tmp_path: Path) -> None:
    points = 0
    for at in range(1, 60):
        folder = tmp_path / str(at)
        folder.mkdir()
        killed = work(folder, "three", str(at))
        if killed.returncode == 0:
            break
        assert killed.returncode == -signal.SIGKILL, killed.stderr
        points += 1
        after = work(folder, "three")
        assert after.returncode == 0, (at, after.stderr)
        said = json.loads(after.stdout)
        assert said["how"] == "Finished", (at, said)
        count = Counter(line["kind"] for line in books(folder))
        faults, operations, odd = asyncio.run(look(folder))
        assert (faults, odd) == ([], []), at
        states = {one.tool: one.state for one in operations if one.state != "failed"}
        assert count["keyed"] == 1, (at, count)
        assert count["asked"] == 1, (at, count)
        assert count["blind"] <= 1, (at, count)
        assert states["keyed"] == states["asked"] == "succeeded", (at, states)
        if states["blind"] == "succeeded":
            assert count["blind"] == 1, at
        else:
            assert states["blind"] == "unknown", (at, states)
            assert len(said["open"]) == 1, (at, said)
    assert points >= 8, "too few durable writes were killed to mean anything"


def test_a_second_process_that_resumes_a_live_run_is_told_that_it_is_owned(tmp_path: Path) -> None:
    said: set[str] = set()
    first = subprocess.Popen([sys.executable, WORKER, tmp_path, "three"], stdout=subprocess.PIPE, text=True)
    while first.poll() is None:
        second = work(tmp_path, "resume")
        assert second.returncode == 0, second.stderr
        said |= {json.loads(line)["how"] for line in second.stdout.splitlines()}
    first.communicate()
    assert said <= {"run.owned", "Finished"}
    assert sorted(line["kind"] for line in books(tmp_path)) == ["asked", "blind", "keyed"]


@pytest.mark.parametrize("processes", [2])
def test_two_processes_with_conflicting_keys_leave_books_that_equal_the_ledger(tmp_path: Path, processes: int) -> None:
    both = [
        subprocess.Popen([sys.executable, WORKER, tmp_path, "load"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for _ in range(processes)
    ]
    for one in both:
        out, err = one.communicate(timeout=240)
        assert one.returncode == 0, err
        assert json.loads(out)["runs"] == 200
    faults, operations, odd = asyncio.run(look(tmp_path))
    assert (faults, odd) == ([], [])
    succeeded = Counter(json.loads(one.arguments)["name"] for one in operations if one.state == "succeeded")
    assert succeeded == Counter(line["name"] for line in books(tmp_path))
    assert set(succeeded.values()) == {1}
    assert not [one for one in operations if one.state in ("dispatched", "unknown", "awaiting_approval")]
