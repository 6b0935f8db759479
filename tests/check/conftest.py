"""A desk to run the command at."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from remit.cli import main


@dataclass(frozen=True)
class Told:
    """What a command said, and its exit code."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """Standard output as the one JSON document that it must be."""
        return json.loads(self.out)


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str]) -> Callable[..., Told]:
    """Runs `remit` with arguments."""

    def run(*argv: str) -> Told:
        code = main(list(argv))
        out, err = capsys.readouterr()
        return Told(code, out, err)

    return run
