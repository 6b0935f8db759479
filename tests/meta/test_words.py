"""The project speaks of itself alone, in what it ships, and its tests neither sleep nor patch."""

from __future__ import annotations

import ast
import subprocess
from pathlib import Path

import pytest

from meta.source import ROOT

TEXT = {".py", ".md", ".toml", ".json", ".yaml", ".yml", ".svg", ".txt", ".sql", ""}
# Written in pieces, so that this file does not say them itself.
FORBIDDEN = [
    "/" + "work/",
    "/" + "root/",
    "DESIGN" + ".md",
    "SEMANTICS" + ".md",
    "CONTRACT" + ".md",
    "PROTOCOL" + ".md",
    "CASES" + ".md",
    "CHANGES" + ".md",
    "issue " + "item",
    "issue " + "2",
    "contract " + "page",
    "founder" + " ",
    "this " + "workplace",
    "TO" + "DO",
    "FIX" + "ME",
    "NotImplemented" + "Error",
]


def _files() -> list[Path]:
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    names = listed.stdout.splitlines() if listed.returncode == 0 else [str(one.relative_to(ROOT)) for one in _walk()]
    return [ROOT / name for name in names if (ROOT / name).is_file() and Path(name).suffix in TEXT]


def _walk() -> list[Path]:
    kept = ("src", "tests", "docs", "examples")
    return [path for top in kept for path in (ROOT / top).rglob("*") if path.is_file()] + list(ROOT.glob("*.md"))


@pytest.mark.parametrize("word", FORBIDDEN)
def test_no_file_says(word: str) -> None:
    saying = [str(path.relative_to(ROOT)) for path in _files() if word in path.read_text(encoding="utf-8", errors="replace")]
    assert saying == []


def test_no_test_sleeps_patches_or_skips() -> None:
    wrong: list[str] = []
    for path in sorted((ROOT / "tests").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            said = ast.unparse(node) if isinstance(node, ast.Attribute) else ""
            if said in {"time.sleep", "mock.patch", "unittest.mock", "pytest.skip", "pytest.mark.skip", "pytest.mark.xfail"}:
                wrong.append(f"{path.relative_to(ROOT)}:{node.lineno}: {said}")  # type: ignore[attr-defined]
    assert wrong == []


def test_source_asks_the_machine_for_time_and_chance_in_one_place_only() -> None:
    wrong: list[str] = []
    for path in sorted((ROOT / "src" / "remit").rglob("*.py")):
        if path.name == "ambient.py":
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            said = ast.unparse(node.func) if isinstance(node, ast.Call) and ast.unparse(node) != "asyncio.sleep(0)" else ""
            if said.split(".")[0] in {"random", "secrets", "uuid"} or said in {"time.time", "time.monotonic", "asyncio.sleep"}:
                wrong.append(f"{path.relative_to(ROOT)}:{node.lineno}: {said}")  # type: ignore[attr-defined]
    assert wrong == []
