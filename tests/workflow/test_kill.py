"""Workflows in real processes, really killed at every crash point, and asked for again."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections import Counter
from pathlib import Path

from remit import SqliteLedger

WORKER = Path(__file__).with_name("worker.py")


def killed_at_every(folder: Path, role: str) -> dict[str, Path]:
    """The places of all points at which the role was killed and then done again, by number and name."""
    command = [sys.executable, str(WORKER), str(folder), role]
    halves = [subprocess.Popen([*command, first, "2"], stderr=subprocess.PIPE, text=True) for first in ("1", "2")]
    try:
        for half in halves:
            _, said = half.communicate(timeout=200)
            assert half.returncode == 0, said
    finally:
        for half in halves:
            half.kill()
            half.communicate()
    places = sorted((one for one in folder.iterdir() if (one / "point").exists()), key=lambda one: int(one.name))
    return {f"{one.name} {(one / 'point').read_text()}": one for one in places}


def books(place: Path) -> Counter[str]:
    path = place / "books"
    return Counter(json.loads(line)["kind"] for line in path.read_text().splitlines()) if path.exists() else Counter()


def states(place: Path, at: str) -> dict[str, str]:
    """The operations that did not fail, of a ledger that is in order and in which every call has one answer."""

    async def look() -> dict[str, str]:
        ledger = SqliteLedger(place / "remit.db")
        await ledger.open()
        try:
            assert await ledger.verify() == [], at
            (row,) = await ledger.runs()
            events = [one.event for one in await ledger.read(row.id)]
            asked = {one.call for one in events if one.kind == "call.considered"}
            answered = Counter(one.call for one in events if one.kind == "call.ended")
            assert asked == set(answered), at
            assert set(answered.values()) == {1}, at
            return {one.tool: one.state for one in await ledger.operations(limit=None) if one.state != "failed"}
        finally:
            await ledger.aclose()

    return asyncio.run(look())


def said(place: Path) -> dict[str, object]:
    return json.loads((place / "said").read_text())


def test_killed_anywhere_and_asked_for_again_a_workflow_comes_to_its_end_and_each_step_happens_once(tmp_path: Path) -> None:
    places = killed_at_every(tmp_path, "ends")
    ends: Counter[object] = Counter()
    for at, place in places.items():
        count, found, end = books(place), states(place, at), said(place)
        assert (count["keyed"], count["asked"]) == (1, 1), (at, count)
        assert count["blind"] <= 1, (at, count)
        ends[end["reason"]] += 1
        if end["how"] == "Finished":
            assert set(found.values()) == {"succeeded"}, (at, found)
            assert (count["blind"], end["open"]) == (1, []), at
        else:  # nobody can tell whether the last write happened: it is named, and so is what is done and stays
            assert (end["how"], end["reason"], found["blind"]) == ("Escalated", "unknown", "unknown"), (at, end)
            assert len(end["open"]) == 1, at  # type: ignore[arg-type]
            assert "'keyed#1'" in str(end["why"]), at
    points = {at.split()[1] for at in places}
    assert {"commit.before", "commit.after", "dispatch.after", "effect.after", "check.asked", "run.waiting"} <= points
    assert ends["finished"] > ends["unknown"] > 0


def test_killed_anywhere_a_failed_workflow_takes_back_each_step_once_and_then_does_not_call_its_function(
    tmp_path: Path,
) -> None:
    places = killed_at_every(tmp_path, "fails")
    begun = False
    for at, place in places.items():
        assert books(place) == Counter(keyed=1, asked=1, unasked=1, unkeyed=1), at
        assert set(states(place, at).values()) == {"succeeded"}, at
        end = said(place)
        assert (end["how"], end["open"]) == ("Escalated", []), (at, end)
        assert end["reason"] in ("no_effect", "reconciled_no"), (at, end)
        assert "taken back: asked#1, keyed#1" in str(end["why"]), (at, end)
        begun = begun or at.endswith("undo.begun")
        if begun:
            assert len((place / "calls").read_text().splitlines()) == 1, at
    points = {at.split()[1] for at in places}
    assert {"workflow.failed", "undo.begun", "run.waiting", "dispatch.after", "effect.after"} <= points
