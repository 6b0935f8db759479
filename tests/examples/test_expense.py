"""The travel-expense agent works out a claim, is refused what is not arithmetic, and files once."""

from __future__ import annotations

import asyncio
import subprocess
import sys

import pytest

from examples.example import EXAMPLES, load


def test_the_example_runs_as_a_script_and_files_the_claim() -> None:
    done = subprocess.run([sys.executable, "-W", "error", EXAMPLES / "expense.py"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "236.56 EUR" in done.stdout
    assert "only numbers" in done.stdout


def test_what_is_not_arithmetic_is_refused_and_the_model_reads_why_before_it_corrects_itself() -> None:
    example = load("expense")
    model, claims = example.script(), {}
    run = asyncio.run(example.main(model, claims))
    assert run.verified
    assert claims == {"tokyo-2026-03": "236.56"}
    told, corrected = model.requests[2].decode(), model.requests[3].decode()
    assert "only numbers, + - * / and parentheses" in told
    assert "236.56" not in told
    assert "236.56" in corrected


@pytest.mark.parametrize(("expression", "value"), [("1 + 2 * 3", "7"), ("-(0.1 + 0.2)", "-0.3"), ("7 / 2", "3.5")])
def test_the_calculator_is_exact(expression: str, value: str) -> None:
    example = load("expense")
    assert str(example._value(example.ast.parse(expression, mode="eval").body)) == value


@pytest.mark.parametrize("expression", ["__import__('os')", "(1).real", "2 ** 9", "True + 1", "[1][0]", "lambda: 1", "'a' * 3"])
def test_the_calculator_does_arithmetic_and_nothing_else(expression: str) -> None:
    example = load("expense")
    with pytest.raises(ValueError, match="not arithmetic"):
        example._value(example.ast.parse(expression, mode="eval").body)
