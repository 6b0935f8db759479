"""Real processes, really killed: at every crash point; and two at once on one file."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from crash.store import ledger_of, put
from remit.ledger import ledger_named

WORKER = Path(__file__).with_name("worker.py")


@pytest.fixture(params=["sqlite", "postgres"])
def folder(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """Where the ledgers of a test are: files in it, or schemas of a server."""
    put(tmp_path, request.param)
    return tmp_path


def books(folder: Path) -> list[dict[str, str]]:
    path = folder / "books"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


async def look(folder: Path) -> tuple[list[str], list[object], list[str]]:
    """The ledger afterwards: faults, operations, and calls without exactly one answer."""
    ledger = ledger_named(ledger_of(folder))
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


def killed_at_every(folder: Path, role: str, points: str) -> dict[str, Path]:
    """The places of all points at which the role was killed and then done again, by number and name."""
    halves = [begin(folder, "kill", role, points, str(first), "2") for first in (1, 2)]
    finish(halves)
    places = sorted((one for one in folder.iterdir() if (one / "point").exists()), key=lambda one: int(one.name))
    return {f"{one.name} {(one / 'point').read_text()}": one for one in places}


def begin(folder: Path, *arguments: str) -> subprocess.Popen[str]:
    command = [sys.executable, str(WORKER), str(folder), *arguments]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def finish(processes: list[subprocess.Popen[str]]) -> list[str]:
    """What they print, once all have ended well; none is left behind."""
    said: list[str] = []
    try:
        for one in processes:
            out, err = one.communicate(timeout=150)
            assert one.returncode == 0, err
            said.append(out)
    finally:
        for one in processes:
            one.kill()
            one.communicate()
    return said


def said(place: Path, name: str = "said") -> dict[str, object]:
    return json.loads((place / name).read_text())


def states(place: Path, at: str) -> dict[str, str]:
    """The operations that did not fail, of a ledger that is in order."""
    faults, operations, odd = asyncio.run(look(place))
    assert (faults, odd) == ([], []), at
    return {one.tool: one.state for one in operations if one.state != "failed"}


def test_killed_at_every_durable_write_and_started_again_nothing_happens_twice_and_nothing_is_lost(folder: Path) -> None:
    places = killed_at_every(folder, "three", "commit.")
    for at, place in places.items():
        assert said(place)["how"] == "Finished", at
        count = Counter(line["kind"] for line in books(place))
        found = states(place, at)
        assert (count["keyed"], count["asked"]) == (1, 1), (at, count)
        assert count["blind"] <= 1, (at, count)
        assert found["keyed"] == found["asked"] == "succeeded", (at, found)
        if found["blind"] == "succeeded":
            assert count["blind"] == 1, at
        else:
            assert found["blind"] == "unknown", (at, found)
            assert len(said(place)["open"]) == 1, at  # type: ignore[arg-type]
    assert len(places) >= 8, "too few durable writes were killed to mean anything"


def test_killed_at_every_crash_point_of_a_run_with_people_each_effect_happens_once(folder: Path) -> None:
    places = killed_at_every(folder, "people", "")
    for at, place in places.items():
        assert said(place)["how"] == "Finished", at
        assert sorted(line["kind"] for line in books(place)) == ["asked", "keyed"], at
        assert states(place, at) == {"keyed": "succeeded", "signed": "succeeded"}, at
    points = {at.split()[1] for at in places}
    assert {"commit.before", "commit.after", "dispatch.before", "dispatch.after", "effect.after", "outcome.noted"} <= points


def test_killed_at_every_crash_point_of_a_run_whose_calls_two_agents_answer_each_effect_happens_once(tmp_path: Path) -> None:
    places = killed_at_every(tmp_path, "family", "")
    for at, place in places.items():
        assert said(place)["how"] == "Finished", at
        assert said(place)["runs"] == [["clerk", "ended"], ["family", "ended"], ["teller", "ended"]], at
        count = Counter(line["kind"] for line in books(place))
        found = states(place, at)
        assert (count["keyed"], count["asked"]) == (1, 1), (at, count)
        assert count["blind"] <= 1, (at, count)
        assert (found["keyed"], found["signed"]) == ("succeeded", "succeeded"), (at, found)
        if found["blind"] == "succeeded":
            assert (count["blind"], said(place)["open"]) == (1, []), at
        else:
            assert found["blind"] == "unknown", (at, found)
            assert len(said(place)["open"]) == 1, at  # type: ignore[arg-type]
    points = {at.split()[1] for at in places}
    assert {"child.before", "child.after", "child.waits", "run.waiting", "run.ended", "effect.after"} <= points


def test_killed_at_every_crash_point_a_request_in_which_the_provider_acts_is_never_made_twice(tmp_path: Path) -> None:
    places = killed_at_every(tmp_path, "hosted", "")
    ends: set[object] = set()
    for at, place in places.items():
        count = Counter(f"{line['kind']} {line['name']}" for line in books(place))
        faults, operations, odd = asyncio.run(look(place))
        assert (faults, odd) == ([], []), at
        assert max(count.values(), default=0) <= 1, (at, count)
        doubtful = [one.id for one in operations if one.state not in ("succeeded", "failed")]
        ends.add(said(place)["reason"])
        if said(place)["how"] == "Finished":
            assert sorted(count) == ["keyed x", "provider first", "provider second"], (at, count)
            assert (doubtful, said(place)["open"]) == ([], []), at
        else:
            assert said(place)["open"] == doubtful, at
            assert [one.state for one in operations if one.id in doubtful] == ["unknown"], at
            assert said(place)["reason"] == "model.unknown", at
    assert ends == {"finished", "model.unknown"}


def test_beside_a_live_owner_held_at_any_durable_write_a_resume_is_told_and_a_request_joins(folder: Path) -> None:
    for at in range(1, 60):
        (folder / str(at)).mkdir()
        os.mkfifo(folder / str(at) / "held")
        os.mkfifo(folder / str(at) / "go")
    finish([begin(folder, role) for role in ("hold", "beside")])
    places = [one for one in folder.iterdir() if (one / "beside").exists()]
    assert len(places) >= 8, "too few durable writes were held to mean anything"
    told: set[object] = set()
    for place in places:
        first, second = said(place), said(place, "beside")
        told.add(second["resumed"])
        assert first["run"] == second["run"] == second["submitted"], place
        assert (first["how"], second["how"]) == ("Finished", "Finished"), place
        assert sorted(line["kind"] for line in books(place)) == ["asked", "blind", "keyed"], place
        assert states(place, place.name).keys() == {"asked", "blind", "keyed"}
    assert "run.owned" in told
    assert told <= {"no run", "run.owned", "Finished ended"}


def test_two_processes_with_conflicting_keys_leave_books_that_equal_the_ledger(folder: Path) -> None:
    for out in finish([begin(folder, "load") for _ in range(2)]):
        assert json.loads(out)["runs"] == 200
    faults, operations, odd = asyncio.run(look(folder))
    assert (faults, odd) == ([], [])
    succeeded = Counter(json.loads(one.arguments)["name"] for one in operations if one.state == "succeeded")
    assert succeeded == Counter(line["name"] for line in books(folder))
    assert set(succeeded.values()) == {1}
    assert not [one for one in operations if one.state in ("dispatched", "unknown", "awaiting_approval")]
