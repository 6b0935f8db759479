from __future__ import annotations

import asyncio

import pytest

from gate.stage import Stage, on_stage, opened, stage
from remit.budget import Tally
from remit.gate import Gate
from remit.gate.code import CODES
from remit.policy import Allow
from remit.tool import READ, Catalogue, Context, manual, tool, when, write
from remit.types.budget import Budget
from remit.types.label import TRUSTED, Label
from remit.types.outcome import Refused
from remit.types.principal import Principal

SECRET = "hunter2-hunter2"


def raises(*arguments: object) -> object:
    raise LookupError(f"no such row for {SECRET}")


SEEN = "builtins.LookupError: no such row for [redacted]"
"""What an operator reads of `raises`."""


@tool(effect=READ, label=TRUSTED)
async def look() -> str:
    """Look."""
    return "seen"


@on_stage(look, policies=[raises], secrets=[SECRET])
async def test_what_a_policy_raised_is_kept_for_the_operator_and_not_told_to_the_model(s: Stage) -> None:
    outcome = await s.call("look")
    assert isinstance(outcome, Refused)
    assert (outcome.code, s.ended().detail) == ("policy.error", SEEN)
    assert "LookupError" not in outcome.message


@tool(effect=write(once_per="id", recovery=manual), approve=when(raises), label=TRUSTED)
async def pay(id: str) -> str:
    """Pay.

    Args:
        id: what for
    """
    return id


@on_stage(pay, secrets=[SECRET])
async def test_what_the_rule_that_asks_raised_is_kept_where_the_call_waits(s: Stage) -> None:
    await s.consider("pay", {"id": "a"})
    assert s.considered().detail == SEEN
    [row] = await s.approvals()
    assert SECRET not in str(row.reasons)


@tool(effect=READ, sends_to=raises, label=TRUSTED)
async def post() -> str:
    """Post."""
    return "sent"


def test_what_the_function_of_an_audience_raised_is_kept_with_the_refusal() -> None:
    async def go() -> None:
        async with opened() as ledger:
            s = await stage(ledger, [post], secrets=[SECRET])
            outcome = await s.call("post", label=Label(True, frozenset({"bob"})))
            assert isinstance(outcome, Refused)
            assert (outcome.code, s.ended().detail) == ("label.readers", SEEN)

    asyncio.run(go())


@tool(effect=write(once_per=raises, recovery=manual), approve=when(lambda a: False), label=TRUSTED)
async def keyed(id: str) -> str:
    """Pay.

    Args:
        id: what for
    """
    return id


@on_stage(keyed, secrets=[SECRET])
async def test_what_the_function_of_a_key_raised_is_kept_with_the_refusal(s: Stage) -> None:
    outcome = await s.call("keyed", {"id": "a"})
    assert isinstance(outcome, Refused)
    assert (outcome.code, s.ended().detail) == ("key.empty", SEEN)


@tool(effect=READ, resources=raises, label=TRUSTED)
async def touching() -> str:
    """Touch."""
    return "done"


@on_stage(touching, secrets=[SECRET], policies=[lambda request: Allow()])
async def test_what_the_function_of_the_resources_raised_is_kept_with_the_call_that_goes_on(s: Stage) -> None:
    await s.call("touching")
    assert s.considered().detail == SEEN
    assert s.ended().detail is None


@pytest.mark.parametrize(
    ("budget", "code"),
    [
        (Budget(calls=0), "budget.calls"),
        (Budget(calls_per_tool=0), "budget.calls_per_tool"),
        (Budget(consecutive_errors=0), "budget.errors"),
    ],
)
def test_what_a_budget_refuses_is_said_in_the_words_of_the_table(budget: Budget, code: str) -> None:
    async def go() -> None:
        async with opened() as ledger:
            s = await stage(ledger, [look], budget=budget)
            outcome = await s.call("look")
            assert isinstance(outcome, Refused)
            assert (outcome.code, outcome.message) == (code, CODES[code].says)

    asyncio.run(go())
    assert Tally().admit(budget, "look", None) == code


@tool(effect=READ, label=TRUSTED)
async def slow(ctx: Context[object]) -> str:
    """Take a while."""
    ctx.progress(0.5, "half")
    ctx.progress(7)
    return "done"


def test_what_a_handler_says_of_its_progress_is_told_with_its_run_and_call() -> None:
    told: list[object] = []

    async def go() -> None:
        async with opened() as ledger:
            gate = Gate(tools=Catalogue([slow]), ledger=ledger, progress=lambda *said: told.append(said))
            await gate.call("slow", {}, principal=Principal("alice"), run="r", call="1")

    asyncio.run(go())
    assert told == [("r", "host:1", 0.5, "half"), ("r", "host:1", 1.0, "")]
