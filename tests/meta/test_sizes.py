"""Small rooms: where a module or a function outgrows its bound, the boundary is wrong."""

from __future__ import annotations

import ast

import pytest

from meta.source import Module, modules

MODULE_LINES = 400
FUNCTION_LINES = 50
POSITIONAL = 4


@pytest.mark.parametrize("module", [pytest.param(one, id=one.name) for one in modules()])
def test_a_module_and_its_functions_stay_small(module: Module) -> None:
    functions = [node for node in ast.walk(module.tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    long = [f"{one.name}: {_lines(one)} lines" for one in functions if _lines(one) > FUNCTION_LINES]
    wide = [
        f"{one.name}: {_positional(one)} positional parameters"
        for one in functions
        if _positional(one) > POSITIONAL and not one.name.startswith("_")
    ]
    assert module.lines <= MODULE_LINES, f"{module.lines} lines"
    assert long == []
    assert wide == []


def _lines(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    return (function.end_lineno or function.lineno) - function.lineno + 1


def _positional(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    names = [one.arg for one in (*function.args.posonlyargs, *function.args.args)]
    return len([name for name in names if name not in {"self", "cls"}])
