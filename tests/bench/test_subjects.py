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
    assert names == {
        f"{whose} {protocol}{kind}"
        for whose, kinds in (("floor", ("", " stream", " journal")), ("remit", ("", " stream", " sqlite write")))
        for kind in kinds
    }
    assert [(one["ran"], one["requests"]) for one in said] == [(2, 3)] * len(said)


def test_several_calls_of_a_turn_all_run() -> None:
    said = checked("--subject", "remit anthropic", "--parallel", "3")
    assert [(one["subject"], one["ran"], one["requests"]) for one in said] == [
        ("floor anthropic", 6, 3),
        ("remit anthropic", 6, 3),
    ]


def test_the_figures_go_between_their_marks_and_leave_the_rest_of_the_page_alone(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("before\n<!-- figures: begin -->\nold\n<!-- figures: end -->\nafter\n")
    command = [sys.executable, str(BENCH / "run.py"), "--part", "loops", "--subject", "floor chat", "--turns", "2"]
    done = subprocess.run(
        [*command, "--rounds", "1", "--write", str(page)], capture_output=True, text=True, timeout=100, check=False
    )
    assert done.returncode == 0, done.stderr
    text = page.read_text()
    assert text.startswith("before\n<!-- figures: begin -->\n")
    assert text.endswith("<!-- figures: end -->\nafter\n")
    assert "| floor chat |" in text
    assert "old" not in text
    assert "Machine: " in text
