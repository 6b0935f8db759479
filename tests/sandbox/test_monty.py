"""Small programs: what they see, what they may use, and what is said of those that fail."""

from __future__ import annotations

import asyncio

import pytest

from gate.stage import opened, stage
from remit.errors import DefinitionError
from remit.sandbox import Monty, Program
from remit.tool import Context, NoEffect, Tool, manual, tool, write
from remit.types.label import TRUSTED
from remit.types.outcome import Failed, Succeeded
from sandbox.box import called, reads

PRICES = {"apple": 3, "pear": 4}


def calculator(monty: Monty | None = None, *, functions: dict[str, object] | None = None) -> Tool:
    """A tool that evaluates what a model writes, over data that the handler found."""

    def compute(code: str) -> object:
        """Evaluate a small program over `prices`."""
        return Program(code, inputs={"prices": PRICES}, functions=functions or {})  # type: ignore[arg-type]

    return reads(compute, monty or Monty())


def test_a_program_sees_its_inputs_and_its_last_expression_is_the_result() -> None:
    code = "total = 0\nfor name in prices:\n    total += prices[name]\n{'total': total}"
    assert called(calculator(), code=code).outcome == Succeeded(value={"total": 7})


def test_the_handler_itself_runs_as_without_a_sandbox() -> None:
    async def rate(code: str, ctx: Context[dict[str, int]]) -> Program:
        """Evaluate a small program over `rate`."""
        return Program(code, inputs={"rate": ctx.deps["eur"]})

    async def go() -> object:
        async with opened() as ledger:
            s = await stage(ledger, [reads(rate, Monty())], deps={"eur": 3})
            return await s.call("rate", {"code": "rate * 2"})

    assert asyncio.run(go()) == Succeeded(value=6)


def test_what_the_handler_itself_says_is_said_as_without_a_sandbox() -> None:
    def compute(code: str) -> object:
        """Evaluate a small program."""
        raise NoEffect(f"no {code}", retry="corrected")

    expected = Failed(code="no_effect", message="no such program", retry="corrected")
    assert called(reads(compute, Monty()), code="such program").outcome == expected


def test_a_program_may_call_the_functions_that_it_was_given() -> None:
    async def later(name: str) -> int:
        return PRICES[name] * 2

    functions: dict[str, object] = {"price": lambda name: PRICES[name], "later": later}
    assert called(calculator(functions=functions), code="price('apple') + await later('pear')").outcome == Succeeded(value=11)


@pytest.mark.parametrize(
    ("code", "told"),
    [
        ("1 / 0", "in line 1: ZeroDivisionError"),
        ("def f(:", "SyntaxError"),
        ("while True: pass", "TimeoutError"),
        ("x = [0]\nwhile True: x += x", "in line 2: MemoryError"),
        ("open('/etc/passwd').read()", "PermissionError"),
        ("import os\nos.environ", "in line 2: RuntimeError"),
        ("import socket", "ModuleNotFoundError"),
        ("nobody()", "NameError"),
    ],
)
def test_a_program_that_fails_is_the_model_s_to_correct(code: str, told: str) -> None:
    outcome = called(calculator(Monty(cpu_s=0.2, memory_mb=16)), code=code).outcome
    assert isinstance(outcome, Failed)
    assert (outcome.code, outcome.retry) == ("no_effect", "corrected")
    assert outcome.message.startswith("The program failed")
    assert told in outcome.message


def test_a_program_learns_of_a_failing_function_its_class_and_no_word() -> None:
    def price(name: str) -> int:
        raise ConnectionError("postgres://db.internal")

    outcome = called(calculator(functions={"price": price}), code="price('apple')").outcome
    assert isinstance(outcome, Failed)
    assert outcome.message.endswith("RuntimeError: the function failed (ConnectionError)")


def test_a_program_calls_functions_a_bounded_number_of_times() -> None:
    calls: list[int] = []
    outcome = called(
        calculator(Monty(calls=3), functions={"look": calls.append}), code="for n in range(100):\n    look(n)"
    ).outcome
    assert isinstance(outcome, Failed)
    assert len(calls) <= 3


def test_a_handler_that_gives_back_no_program_has_failed() -> None:
    def plain(code: str) -> str:
        """Forget the program."""
        return code

    seen = called(reads(plain, Monty()), code="1")
    assert seen.outcome == Failed(code="tool.failed", message="The tool failed. (TypeError)", retry="same_key")
    assert "and not a Program" in seen.detail


def test_a_tool_that_changes_something_cannot_have_programs() -> None:
    def change(code: str) -> Program:
        """Change what is outside."""
        return Program(code)

    with pytest.raises(DefinitionError, match="give it effect=READ"):
        tool(effect=write(once_per="code", recovery=manual), sandbox=Monty(), label=TRUSTED)(change)
