"""What a commit spends of a scope at once is what it would have spent one after the other."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remit.errors import BudgetExceeded, InputError
from remit.ledger.bill import pay
from remit.ledger.schema import connect_memory
from remit.ledger.sql import one
from remit.types.budget import Spent
from remit.types.change import Spend

SMALL = st.integers(-3, 6)
BUDGETS = ("turns", "calls", "tokens")
SPENDS = st.builds(
    lambda amounts, limits: Spend("run:x", Spent(**dict(zip(BUDGETS, amounts, strict=True))), tuple(limits)),
    st.tuples(SMALL, SMALL, SMALL),
    st.lists(st.tuples(st.sampled_from(BUDGETS), st.integers(0, 12) | st.just(10**30)), max_size=3),
)


def one_by_one(bills: Sequence[Sequence[Spend]]) -> tuple[list[str], tuple[int, ...]]:
    """The law, said slowly: which bills are refused for what, and what has been spent in the end."""
    spent = dict.fromkeys(BUDGETS, 0)
    refused: list[str] = []
    for bill in bills:
        after = dict(spent)
        for spend in bill:
            grows = {name: getattr(spend.amounts, name) for name in BUDGETS}
            passed = [name for name, limit in spend.limits if grows[name] > 0 and after[name] + grows[name] > limit]
            if passed:
                refused.append(f"budget.{passed[0]}")
                break
            after = {name: after[name] + grows[name] for name in BUDGETS}
        else:
            refused.append("")
            spent = after
    return refused, tuple(spent.values())


@given(st.lists(st.lists(SPENDS, min_size=1, max_size=4), min_size=1, max_size=4))
def test_a_bill_is_paid_or_refused_as_its_spends_one_by_one(bills: list[list[Spend]]) -> None:
    db = connect_memory()
    refused: list[str] = []
    for bill in bills:
        try:
            pay(db, "run:x", bill)
        except BudgetExceeded as error:
            refused.append(error.code)
        else:
            refused.append("")
    spent = one(db, "SELECT turns, calls, tokens FROM remit_spent WHERE scope = 'run:x'")
    assert (refused, spent) == one_by_one(bills)


def test_a_limit_that_names_no_amount_is_refused() -> None:
    with pytest.raises(InputError):
        pay(connect_memory(), "run:x", [Spend("run:x", Spent(turns=1), (("moons", 3),))])
