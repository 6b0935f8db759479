"""The rules about transcripts, as data.

Invariant: a rule's code is its own, and has a page of that name.
"""

from __future__ import annotations

from remit.check.rule.argument import ARGUMENT
from remit.check.rule.conduct import CONDUCT
from remit.check.rule.inject import INJECT
from remit.check.rule.pair import PAIR
from remit.check.rule.rule import Case, Finding, Rule, Severity
from remit.check.rule.shape import SHAPE
from remit.check.rule.thought import THOUGHT

__all__ = ["RULES", "Case", "Finding", "Rule", "Severity"]

RULES: tuple[Rule, ...] = (*SHAPE, *PAIR, *ARGUMENT, *THOUGHT, *CONDUCT, *INJECT)
"""All of them, in the order in which they look."""
