"""A desk to run commands at: a directory with a shop in it, and `main` with captured output."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from cli.shop import SHOP
from remit.cli import main


@dataclass(frozen=True)
class Said:
    """What a command said, and its exit code."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """Standard output as the one JSON document that it must be."""
        return json.loads(self.out)


class Desk:
    """A place to run commands."""

    def __init__(self, here: Path, capture: pytest.CaptureFixture[str]) -> None:
        self.here = here
        self._capture = capture

    def __call__(self, *argv: str) -> Said:
        code = main(list(argv))
        said = self._capture.readouterr()
        assert "Traceback" not in said.out + said.err
        return Said(code, said.out, said.err)

    def run(self, agent: str, *more: str, request: str = "Help me") -> Said:
        """`remit run shop:AGENT`, as JSON."""
        given = ("--principal", "alice@acme", "--deps", "shop:make_shop", "--json")
        return self("run", f"shop:{agent}", request, *given, *more)

    @property
    def books(self) -> list[str]:
        """What happened in the outside world."""
        path = self.here / "books.txt"
        return path.read_text().splitlines() if path.exists() else []


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Iterator[Desk]:
    (tmp_path / "shop.py").write_text(SHOP)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("REMIT_LEDGER", raising=False)
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    before = set(sys.modules)
    yield Desk(tmp_path, capsys)
    for name in set(sys.modules) - before:
        if str(getattr(sys.modules[name], "__file__", "") or "").startswith(str(tmp_path)):
            del sys.modules[name]
