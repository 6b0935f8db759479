"""With Remit the same refund, asked for in the same four ways, is in the books once."""

from __future__ import annotations

import asyncio
import io
import json
from pathlib import Path

import pytest
from rich.console import Console

from remit import Remit, demo
from remit.demo.story import Counted, Question, show
from remit.demo.transcript import TRANSCRIPT, produce
from remit.demo.way import WAYS, Way, refunds

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("way", [pytest.param(way, id=way.name) for way in WAYS])
def test_remit_refunds_once_and_leaves_nothing_open(way: Way, tmp_path: Path) -> None:
    assert refunds(way, "remit", tmp_path) == 1
    assert asyncio.run(_open(tmp_path / "remit.db")) == []


async def _open(ledger: Path) -> list[str]:
    async with Remit(ledger=ledger, agents=[]) as remit:
        return [one.id for one in await remit.operations(state=("unknown", "dispatched"))]


def test_the_committed_transcript_is_what_the_demo_produces() -> None:
    assert (ROOT / TRANSCRIPT).read_text(encoding="utf-8") == produce()


def test_the_transcript_is_the_same_every_time_and_correlates_every_call() -> None:
    first, second = produce(), produce()
    assert first == second
    told = json.loads(first)
    assert told["stands"] == "Finished"
    assert told["verified"]
    by_tool = {one["tool"]: one for one in told["calls"]}
    assert set(by_tool) == {"lookup_order", "propose_refund", "issue_refund"}
    refund = by_tool["issue_refund"]
    assert [move["on"] for move in refund["operation"]["moves"]] == ["allowed", "in_doubt", "reconciled_yes"]
    assert refund["changed"] is True
    assert by_tool["lookup_order"]["operation"] is None
    sequences = [one["sequence"] for one in told["events"]]
    assert sequences == list(range(1, len(sequences) + 1))


def test_the_demo_prints_what_it_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    said = io.StringIO()
    assert demo.main(json=True, console=Console(file=said)) == 0
    told = json.loads(said.getvalue())
    assert told["open_questions"] == []
    assert [way["name"] for way in told["ways"]] == ["lost_reply", "killed", "twice_in_one_response", "timeout_new_call_id"]
    assert {(way["plain"], way["remit"]) for way in told["ways"]} == {(2, 1)}
    assert json.loads((tmp_path / TRANSCRIPT).read_text(encoding="utf-8"))["stands"] == "Finished"


def test_the_table_shows_a_wrong_count_and_an_open_question_as_they_are() -> None:
    said = io.StringIO()
    counted = [Counted(way.name, 2, 1) for way in WAYS[:-1]] + [Counted(WAYS[-1].name, 3, 0)]
    show(Console(file=said, width=120), counted, [Question("killed", "op_1", "issue_refund", "unknown")])
    row = next(line for line in said.getvalue().splitlines() if WAYS[-1].story in line)
    assert [cell.strip() for cell in row.split("│")[2:4]] == ["3", "0"]
    assert "issue_refund op_1 is unknown" in said.getvalue()
