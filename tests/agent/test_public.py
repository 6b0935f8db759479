"""The public surface: what `import remit` loads, and that every public name is there."""

from __future__ import annotations

import ast
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from types import FunctionType

import remit

HEAVY = ("pydantic", "httpx2", "genai_prices", "anthropic", "openai", "starlette", "uvicorn", "apsw", "celpy", "typer", "rich")


def loaded_after(statement: str) -> set[str]:
    code = f"import sys; before = set(sys.modules); {statement}; print(*(set(sys.modules) - before))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def test_importing_remit_loads_no_other_part() -> None:
    loaded = loaded_after("import remit")
    assert {name for name in loaded if name.startswith("remit.")} == set()
    assert not {name.partition(".")[0] for name in loaded} & set(HEAVY)


def test_the_nouns_load_no_engine_and_no_client() -> None:
    loaded = loaded_after("from remit import Agent, Remit, Principal, Budget, tool, READ, write")
    assert not {name.partition(".")[0] for name in loaded} & {"httpx2", "genai_prices", "anthropic", "openai", "typer", "rich"}


def test_every_public_name_is_there() -> None:
    assert [name for name in remit.__all__ if not hasattr(remit, name)] == []
    assert sorted(remit.__all__) == list(remit.__all__)


def test_what_type_checkers_are_told_is_what_is_loaded_and_what_is_listed() -> None:
    tree = ast.parse(Path(remit.__file__).read_text(encoding="utf-8"))
    [block] = [node for node in tree.body if isinstance(node, ast.If)]
    told = [(node.module, one.name) for node in block.body if isinstance(node, ast.ImportFrom) for one in node.names]
    assert sorted(name for _, name in told) == remit.__all__
    for module, name in told:
        assert getattr(import_module(str(module)), name) is getattr(remit, name), name


def test_tool_is_the_decorator_whatever_was_loaded_before() -> None:
    code = "import remit.tool.catalogue; from remit import tool; assert tool.__name__ == 'tool', tool"
    subprocess.run([sys.executable, "-c", code], check=True)
    assert isinstance(remit.tool, FunctionType)


def test_a_name_that_is_not_there_is_an_attribute_error() -> None:
    assert not hasattr(remit, "agnet")
