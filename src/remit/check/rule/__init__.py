"""The rules about transcripts, as data.

Invariant: a rule's code is its own, and has a page of that name.
"""

from __future__ import annotations

from remit.check.rule.argument import ARGUMENT
from remit.check.rule.conduct import CONDUCT
from remit.check.rule.inject import INJECT
from remit.check.rule.pair import PAIR
from remit.check.rule.rule import Case, Finding, Memory, Rule, Severity
from remit.check.rule.shape import SHAPE
from remit.check.rule.thought import THOUGHT
from remit.check.rule.write import WRITE

__all__ = ["RULES", "Case", "Finding", "Memory", "Rule", "Severity"]

RULES: tuple[Rule, ...] = (*SHAPE, *PAIR, *ARGUMENT, *THOUGHT, *WRITE, *CONDUCT, *INJECT)
"""All of them, in the order in which they look."""
