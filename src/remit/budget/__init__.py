"""Budgets: counting what a run has used, and saying when it must stop, before it does more.

Pure; the counts are a fold over recorded events. Prices come from a bundled list, loaded when first
asked for. Invariant: what is not known to be unused counts as used.
"""

from __future__ import annotations

from remit.budget.cost import context_window, foresee, price, price_bound
from remit.budget.limit import admission_of, budget_from_json, budget_to_json, deadline_ms, limits_of
from remit.budget.tally import Tally

__all__ = [
    "Tally",
    "admission_of",
    "budget_from_json",
    "budget_to_json",
    "context_window",
    "deadline_ms",
    "foresee",
    "limits_of",
    "price",
    "price_bound",
]
