from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remit.budget import budget_from_json, budget_to_json, limits_of
from remit.errors import DefinitionError, InputError
from remit.types.budget import Budget

counts = st.none() | st.integers(0, 10**9)
budgets = st.builds(
    Budget,
    turns=counts,
    calls=counts,
    calls_per_tool=counts | st.dictionaries(st.text(max_size=4), st.integers(0, 99), max_size=3),
    seconds=st.none() | st.floats(0, 10**6),
    deadline=st.none() | st.datetimes(min_value=datetime(2000, 1, 1), max_value=datetime(2100, 1, 1), timezones=st.just(UTC)),
    tokens=counts,
    usd=st.none() | st.decimals(0, 10**6, places=6),
    consecutive_errors=counts,
    repeats=counts,
    approvals=counts,
)


@given(budgets)
def test_a_budget_survives_its_text(budget):
    assert budget_from_json(budget_to_json(budget)) == Budget(
        **{**{name: getattr(budget, name) for name in Budget.__slots__}, "usd": budget_from_json(budget_to_json(budget)).usd}
    )
    assert budget_to_json(budget_from_json(budget_to_json(budget))) == budget_to_json(budget)
    assert limits_of(budget_from_json(budget_to_json(budget))) == limits_of(budget)


def test_equal_budgets_are_equal_text():
    assert budget_to_json(Budget(usd="0.50")) == budget_to_json(Budget(usd=Decimal("0.5")))
    at = datetime(2026, 1, 1, 12, tzinfo=UTC)
    assert budget_to_json(Budget(deadline=at)) == budget_to_json(Budget(deadline=at.astimezone(timezone(timedelta(hours=3)))))


def test_limits_have_the_names_of_what_is_spent():
    budget = Budget(turns=8, calls=None, tokens=100, usd="0.5000019", seconds=1.5, approvals=None)
    assert dict(limits_of(budget)) == {"turns": 8, "tokens": 100, "usd_micros": 500_001, "active_ms": 1500}


@pytest.mark.parametrize(
    ("limit", "named"),
    [
        ({"turns": -1}, "turns"),
        ({"turns": True}, "turns"),
        ({"calls": 1.5}, "calls"),
        ({"tokens": "many"}, "tokens"),
        ({"calls_per_tool": -1}, "calls_per_tool"),
        ({"calls_per_tool": {"a": -1}}, "calls_per_tool"),
        ({"seconds": -1}, "seconds"),
        ({"seconds": math.nan}, "seconds"),
        ({"deadline": datetime(2026, 1, 1)}, "deadline"),
        ({"usd": "-1"}, "usd"),
        ({"usd": "cheap"}, "usd"),
        ({"usd": "NaN"}, "usd"),
        ({"usd": 0.5}, "usd"),
        ({"usd": True}, "usd"),
        ({"calls": "5"}, "calls"),
        ({"approvals": math.nan}, "approvals"),
        ({"calls_per_tool": {3: 1}}, "calls_per_tool"),
        ({"calls_per_tool": ["a"]}, "calls_per_tool"),
        ({"seconds": "5"}, "seconds"),
        ({"seconds": True}, "seconds"),
        ({"deadline": "2026-01-01"}, "deadline"),
    ],
)
def test_a_limit_that_cannot_be_one_is_refused_by_name_when_it_is_written(limit, named):
    with pytest.raises(DefinitionError, match=f"^{named}= of Budget: give ") as caught:
        Budget(**limit)
    assert caught.value.code == "budget.invalid"
    assert caught.value.details["budget"] == named


@pytest.mark.parametrize("text", ["", "[]", "null", '{"turn":1}', '{"turns":-1}', '{"deadline":"soon"}'])
def test_text_that_is_no_budget_is_refused(text):
    with pytest.raises(InputError):
        budget_from_json(text)
