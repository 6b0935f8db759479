"""`import remit` is light: no provider SDK, server, engine, HTTP client or schema library is loaded by it."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

HEAVY = [
    "anthropic",
    "openai",
    "httpx2",
    "httpcore2",
    "fastapi",
    "starlette",
    "uvicorn",
    "apsw",
    "pydantic",
    "jsonschema_rs",
    "re2",
    "genai_prices",
    "rich",
    "typer",
    "asyncio",
    "ssl",
    "pytest",
]


@pytest.fixture(scope="module")
def loaded() -> set[str]:
    program = "import sys; before = set(sys.modules); import remit, json; print(json.dumps(sorted(set(sys.modules) - before)))"
    done = subprocess.run([sys.executable, "-S", "-E", "-c", _with_path(program)], capture_output=True, text=True, check=True)
    return set(json.loads(done.stdout))


def _with_path(program: str) -> str:
    return f"import sys; sys.path[:] = {sys.path!r}; {program}"


@pytest.mark.parametrize("name", HEAVY)
def test_importing_remit_does_not_load(name: str, loaded: set[str]) -> None:
    assert "remit" in loaded
    assert sorted(one for one in loaded if one.split(".")[0] == name) == []


def test_importing_remit_loads_few_modules_of_its_own(loaded: set[str]) -> None:
    own = [one for one in loaded if one.split(".")[0] == "remit"]
    assert len(own) <= 30, sorted(own)
