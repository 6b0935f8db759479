"""What is public exists, is documented, and says no `Any`."""

from __future__ import annotations

import ast
import importlib
import inspect
from collections.abc import Iterator

import pytest

from meta.source import Module, modules, names_of

PACKAGES = [pytest.param(one, id=one.name) for one in modules() if one.is_package]
EVERY = [pytest.param(one, id=one.name) for one in modules()]


@pytest.mark.parametrize("module", PACKAGES)
def test_every_public_name_exists_and_says_what_it_promises(module: Module) -> None:
    loaded = importlib.import_module(module.name)
    for name in names_of(module) or []:
        value = getattr(loaded, name)
        if inspect.isclass(value) or inspect.isroutine(value) or inspect.ismodule(value):
            assert (value.__doc__ or "").strip(), f"{module.name}.{name} has no docstring"


@pytest.mark.parametrize("module", EVERY)
def test_a_module_says_its_role_and_its_public_functions_what_they_promise(module: Module) -> None:
    if not module.tree.body:
        return
    assert ast.get_docstring(module.tree), "no module docstring"
    public = set(names_of(module) or [])
    for node in module.tree.body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) and node.name in public:
            assert ast.get_docstring(node), f"{node.name} has no docstring"


@pytest.mark.parametrize("module", EVERY)
def test_no_public_signature_says_any(module: Module) -> None:
    public = set(names_of(module) or [])
    said = [name for name, function in _functions(module, public) if _says_any(function)]
    assert said == []


def _functions(module: Module, public: set[str]) -> Iterator[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef]]:
    for node in module.tree.body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name in public:
            yield node.name, node
        elif isinstance(node, ast.ClassDef) and node.name in public:
            for inner in node.body:
                if isinstance(inner, ast.FunctionDef | ast.AsyncFunctionDef) and not inner.name.startswith("_"):
                    yield f"{node.name}.{inner.name}", inner


def _says_any(function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    given = function.args
    arguments = [*given.posonlyargs, *given.args, *given.kwonlyargs, given.vararg, given.kwarg]
    notes = [one.annotation for one in arguments if one is not None] + [function.returns]
    return any(isinstance(node, ast.Name) and node.id == "Any" for note in notes if note for node in ast.walk(note))
