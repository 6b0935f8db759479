from __future__ import annotations

from pathlib import Path

import pytest

from ledger.support import Store


@pytest.fixture(params=["memory", "sqlite", "postgres"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Store:
    """The contract holds for every kind of ledger."""
    return Store(request.param, tmp_path)


@pytest.fixture
def file(tmp_path: Path) -> Store:
    """For what only a file can do."""
    return Store("sqlite", tmp_path)
