"""What is durable of runs at once shares its way to the disk."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

BENCH = Path(__file__).resolve().parents[2] / "bench"


def test_the_appends_of_eight_runs_at_once_take_at_most_a_third_of_a_commit_each() -> None:
    command = [sys.executable, str(BENCH / "appends.py"), "--runs", "8", "--json"]
    said = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    assert said["appends"] == 8 * 42, "a beginning, an end, and two in each of twenty turns"
    assert said["commits"] <= said["appends"] / 3, said
