"""The page of promises and the tests of behaviour name each other, in both directions."""

from __future__ import annotations

import ast
import re

from meta.source import ROOT

PAGE = ROOT / "docs" / "promises.md"
HELD_BY = ("behaviour", "crash")


def _named() -> list[str]:
    return re.findall(r"`(tests/\S+::\w+)`", PAGE.read_text(encoding="utf-8"))


def _tests(path_parts: tuple[str, ...]) -> set[str]:
    found: set[str] = set()
    for part in path_parts:
        for path in (ROOT / "tests" / part).rglob("test_*.py"):
            tree = ast.parse(path.read_text(encoding="utf-8"))
            tests = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
            found |= {f"{path.relative_to(ROOT)}::{one.name}" for one in tests if one.name.startswith("test_")}
    return found


def test_every_test_that_a_promise_names_exists() -> None:
    every = tuple(path.name for path in (ROOT / "tests").iterdir() if path.is_dir())
    assert sorted(set(_named()) - _tests(every)) == []


def test_every_test_of_behaviour_holds_a_promise_that_is_written_down() -> None:
    assert sorted(_tests(HELD_BY) - set(_named())) == []


def test_a_promise_is_a_sentence_with_a_test() -> None:
    lines = [line for line in PAGE.read_text(encoding="utf-8").splitlines() if line.startswith("- ")]
    assert [line for line in lines if not re.fullmatch(r"- .+\.<br>`tests/\S+::test_\w+`", line)] == []
    assert len(lines) == len(set(_named()))
