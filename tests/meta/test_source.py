"""The checks see what they are there to see."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from meta.source import Module, imports, names_of, taken


def module(text: str, name: str = "remit.tool.made") -> Module:
    return Module(name, Path("made.py"), ast.parse(text), len(text.splitlines()))


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("import remit.gate.scene", "remit.gate.scene"),
        ("from remit.gate import scene", "remit.gate.scene"),
        ("from remit.gate.scene import Scene", "remit.gate.scene"),
        ("from remit import ambient", "remit.ambient"),
        ("def lazy():\n    from remit.owner import Remit", "remit.owner"),
        ("def lazy():\n    if True:\n        import remit.owner as owner", "remit.owner"),
        ("import importlib\nimportlib.import_module('remit.owner')", "remit.owner"),
        ("from . import effect", "remit.tool.effect"),
        ("from .effect import READ", "remit.tool.effect"),
        ("from ..owner import Remit", "remit.owner"),
    ],
)
def test_an_import_is_seen_wherever_it_stands(text: str, found: str) -> None:
    assert [name for name, _ in imports(module(text))] == [found]


def test_other_libraries_are_not_our_business() -> None:
    assert list(imports(module("import json\nfrom remitting import x\nimport httpx2"))) == []


def test_what_is_taken_is_seen_by_name() -> None:
    found = [
        (origin, name) for origin, name, _ in taken(module("from remit.ledger import Journal, lock\nfrom remit import Remit"))
    ]
    assert found == [("remit.ledger", "Journal"), ("remit", "Remit")]


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("__all__ = ['a', 'b']", ["a", "b"]),
        ("__all__ = sorted(['a'])", None),
        ("__all__ = [n for n in x]", None),
        ("x = 1", None),
    ],
)
def test_only_a_literal_list_of_names_counts(text: str, names: list[str] | None) -> None:
    assert names_of(module(text)) == names
