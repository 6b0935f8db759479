"""A rule of a provider about requests: data, and a pure check.

Knows no protocol. Invariant: a rule that is broken is answered with the provider's own words for it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from remit.testing.provider.asked import Asked
from remit.testing.provider.memory import Memory
from remit.types.model import ProtocolName

__all__ = ["Broken", "Check", "Found", "Rule", "first_broken"]

Found = Mapping[str, object] | None
"""What the rule's message names, where it is broken; None where it holds."""

Check = Callable[[Asked, Memory], Found]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """What a provider refuses.

    Args:
        code: ours, stable, for example `anthropic.results.missing`.
        message: the provider's words, with what it names in braces.
        check: looks for a breach.
        param: the member that OpenAI's error names, with what it names in braces.
        error: the provider's code for it, where it has one.
    """

    code: str
    protocol: ProtocolName
    message: str
    check: Check
    param: str | None = None
    error: str | None = None


@dataclass(frozen=True, slots=True)
class Broken:
    """A rule that a request breaks, with the words that the provider answers."""

    rule: Rule
    message: str
    param: str | None

    @property
    def code(self) -> str:
        """The rule's code."""
        return self.rule.code


def first_broken(rules: Sequence[Rule], asked: Asked, memory: Memory) -> Broken | None:
    """The first of the rules that the request breaks."""
    for rule in rules:
        found = rule.check(asked, memory)
        if found is not None:
            param = rule.param.format(**found) if rule.param else None
            return Broken(rule, rule.message.format(**found), param)
    return None
