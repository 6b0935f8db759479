"""What the benchmark measures does what it says: each subject runs, and its tool as often as it was asked for."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

BENCH = Path(__file__).resolve().parents[2] / "bench"


def checked(*arguments: str) -> list[dict[str, object]]:
    """What `bench/run.py --check` says of each subject."""
    command = [sys.executable, str(BENCH / "run.py"), "--check", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=200, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.mark.parametrize("protocol", ["anthropic", "chat", "responses"])
def test_every_loop_runs_its_tool_once_a_turn_and_asks_once_more_for_the_answer(protocol: str) -> None:
    said = checked("--subject", f"remit {protocol}*")
    names = {str(one["subject"]) for one in said}
    kinds = {"floor": ("", " stream", " journal"), "lean floor": ("",), "remit": ("", " stream", " sqlite write")}
    assert names == {f"{whose} {protocol}{kind}" for whose, some in kinds.items() for kind in some}
    assert [(one["ran"], one["requests"]) for one in said] == [(2, 3)] * len(said)


def test_several_calls_of_a_turn_all_run() -> None:
    said = checked("--subject", "remit anthropic", "--parallel", "3")
    assert [(one["subject"], one["ran"], one["requests"]) for one in said] == [
        ("floor anthropic", 6, 3),
        ("lean floor anthropic", 6, 3),
        ("remit anthropic", 6, 3),
    ]


def written(page: Path, *arguments: str) -> str:
    """A page whose figures one short round wrote."""
    page.write_text(
        "before\n<!-- figures: begin -->\nold\n<!-- figures: end -->\n"
        "between\n<!-- peers: begin -->\nkept\n<!-- peers: end -->\nafter\n"
    )
    command = [sys.executable, str(BENCH / "run.py"), "--turns", "2", "--rounds", "1", "--write", str(page), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=100, check=False)
    assert done.returncode == 0, done.stderr
    return page.read_text()


def test_the_figures_go_between_their_marks_and_leave_the_rest_of_the_page_alone(tmp_path: Path) -> None:
    text = written(tmp_path / "page.md", "--part", "loops", "--part", "padded", "--pad", "300", "--subject", "remit chat")
    assert text.startswith("before\n<!-- figures: begin -->\n")
    assert text.endswith("<!-- figures: end -->\nbetween\n<!-- peers: begin -->\nkept\n<!-- peers: end -->\nafter\n")
    assert "old" not in text
    for said in ("Machine: ", "Pinned: ", "| floor chat |", "replies of 300 characters"):
        assert said in text
    for floor in ("floor chat", "lean floor chat"):
        assert text.count(f"| **remit chat** | {floor} | ") == 2


def test_the_peers_have_a_table_of_their_own(tmp_path: Path) -> None:
    text = written(tmp_path / "page.md", "--peers", "--part", "loops", "--subject", "remit chat sqlite write")
    assert "between\n<!-- peers: begin -->\n\n- Command: " in text
    assert "\nold\n" in text
    assert "kept" not in text
    assert "| **remit chat sqlite write** | " in text
    assert "| floor chat journal | " in text
