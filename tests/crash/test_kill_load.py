"""Killed at random moments under load: the smaller sister of `kill.py`."""

from __future__ import annotations

from pathlib import Path

import pytest

from crash.kill import story
from crash.store import put


@pytest.mark.parametrize(("kind", "workers", "seed"), [("sqlite", 1, 3), ("sqlite", 2, 5), ("postgres", 2, 4)])
def test_killed_at_random_moments_under_load_the_books_of_the_service_equal_the_ledgers(
    kind: str, workers: int, seed: int, tmp_path: Path
) -> None:
    put(tmp_path, kind)
    found, killed = story(tmp_path, kills=10, workers=workers, seed=seed)
    assert found.wrong == []
    assert sum(times for what, times in killed.items() if what.startswith("workers")) == 10
    assert (found.figures["duplicates"], found.figures["lost"]) == (0, 0)
    assert int(str(found.figures["effects in the service's books"])) > 0, "nothing was done"
