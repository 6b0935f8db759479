"""What one module takes out of another is what that one offers."""

from __future__ import annotations

import pytest

from meta.source import Module, modules, names_of, taken

OFFERED = {one.name: set(names_of(one) or []) for one in modules()}


@pytest.mark.parametrize("module", [pytest.param(one, id=one.name) for one in modules()])
def test_a_module_takes_only_names_that_are_listed_where_they_come_from(module: Module) -> None:
    wrong = [f"line {line}: {origin}.{name}" for origin, name, line in taken(module) if name not in OFFERED[origin]]
    assert wrong == []
