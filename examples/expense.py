"""A travel-expense agent: a calculator without `eval`, a currency table, and a claim that is filed once.

Runs offline with a scripted model: `python examples/expense.py`. In its second round the model asks the calculator
for something that is not arithmetic. The calculator refuses, the model reads what was wrong, and corrects itself.
"""

from __future__ import annotations

import ast
import asyncio
import operator
from collections.abc import Callable
from decimal import Decimal, DecimalException

from remit import (
    READ,
    TRUSTED,
    Agent,
    Budget,
    Context,
    Finished,
    MemoryLedger,
    NoEffect,
    Principal,
    Remit,
    ScriptedModel,
    call,
    manual,
    never,
    tool,
    write,
)

RATES_TO_EUR = {"EUR": Decimal("1"), "USD": Decimal("0.92"), "CHF": Decimal("1.05"), "JPY": Decimal("0.0062")}
OPERATORS: dict[type[ast.operator], Callable[[Decimal, Decimal], Decimal]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}


@tool(effect=READ, label=TRUSTED)
def calculate(expression: str) -> str:
    """Work out an arithmetic expression, exactly.

    Only numbers, + - * / and parentheses.

    Args:
        expression: for example (120.50 + 38) * 2
    """
    try:
        return str(_value(ast.parse(expression[:200], mode="eval").body))
    except (SyntaxError, ValueError, DecimalException, RecursionError) as error:
        raise NoEffect("only numbers, + - * / and parentheses are possible here", retry="corrected") from error


def _value(node: ast.expr) -> Decimal:
    match node:
        case ast.Constant(value=int() | float() as number) if not isinstance(number, bool):
            return Decimal(str(number))
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_value(operand)
        case ast.BinOp(left=left, op=sign, right=right) if type(sign) in OPERATORS:
            return OPERATORS[type(sign)](_value(left), _value(right))
        case _:
            raise ValueError("not arithmetic")


@tool(effect=READ, label=TRUSTED)
def to_euro(amount: str, currency: str) -> str:
    """Convert an amount to euro, at this month's rate.

    Args:
        amount: a decimal number, for example 18200
        currency: three letters, for example JPY
    """
    rate = RATES_TO_EUR.get(currency)
    if rate is None:
        raise NoEffect(f"the currencies with a rate are {', '.join(RATES_TO_EUR)}", retry="corrected")
    return str((Decimal(amount) * rate).quantize(Decimal("0.01")))


@tool(effect=write(once_per="trip", recovery=manual), scopes={"expense:file"}, approve=never, label=TRUSTED)
def file_claim(trip: str, total_eur: str, ctx: Context[dict[str, str]]) -> str:
    """File the claim of one trip. A trip has one claim.

    Args:
        trip: the trip's name, for example tokyo-2026-03
        total_eur: the total in euro
    """
    ctx.deps[trip] = total_eur
    return "filed"


def script() -> ScriptedModel:
    """What the model proposes, round by round."""
    return ScriptedModel(
        [
            [call("to_euro", amount="18200", currency="JPY"), call("to_euro", amount="64.50", currency="CHF")],
            call("calculate", expression="sum(open('/etc/passwd').read())"),
            call("calculate", expression="112.84 + 67.72 + 2 * 28"),
            call("file_claim", trip="tokyo-2026-03", total_eur="236.56"),
            "Your claim for Tokyo is filed: 236.56 EUR.",
        ]
    )


def expense_agent(model: ScriptedModel) -> Agent:
    """The agent; put `"anthropic:NAME"` or `"openai:NAME"` in the model's place to go online."""
    return Agent(
        "expense",
        model=model,
        instructions="Work out the travel claim in euro, with the tools, and file it.",
        tools=[calculate, to_euro, file_claim],
        budget=Budget(turns=8, calls=12),
    )


async def main(model: ScriptedModel, claims: dict[str, str]) -> Finished:
    """Run the agent once and print what it did, from the run's own journal."""
    who = Principal("dana", scopes={"expense:file"})
    async with Remit(ledger=MemoryLedger(), agents=[expense_agent(model)], deps=claims) as remit:
        run = await remit.run("expense", "Tokyo: dinner 18200 JPY, train 64.50 CHF, two taxis at 28 EUR.", principal=who)
        for recorded in await remit.events(run.id):
            event = recorded.event
            if event.kind == "call.ended":
                outcome = event.outcome
                said = outcome.value if outcome.kind == "succeeded" else outcome.message
                print(f"{event.call:>4}  {event.tool:<12}{outcome.kind:<11}{said}")
    assert isinstance(run, Finished)
    print(f"\n{run.answer}")
    return run


if __name__ == "__main__":
    asyncio.run(main(script(), {}))
