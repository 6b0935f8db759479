"""A rule of a provider about requests: its words, which stand over the check that looks for a breach.

Knows no protocol. Invariant: a rule that is broken is answered with the provider's own words for it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from remit.testing.provider.asked import Asked, Placed, Turn
from remit.types.model import ProtocolName

__all__ = ["Broken", "Check", "Found", "Rule", "at", "first_broken", "rule"]

Found = Mapping[str, object]
"""A breach: what the rule's words name of it."""

Check = Callable[[Asked], Iterator[Found]]
"""Yields the breaches in a request, in their order."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """What a provider refuses.

    Args:
        code: ours within its protocol, stable, for example `result.missing`.
        message: the provider's words, with what it names in braces.
        check: looks for breaches.
        param: the member that OpenAI's error names, with what it names in braces.
        error: the provider's code for it, where it has one.
    """

    code: str
    message: str
    check: Check
    param: str | None = None
    error: str | None = None


def rule(code: str, message: str, *, param: str | None = None, error: str | None = None) -> Callable[[Check], Rule]:
    """Make the check below it a rule with these words."""
    return lambda check: Rule(code=code, message=message, check=check, param=param, error=error)


def at(where: Placed | Turn, **named: object) -> Found:
    """A breach at this place."""
    return {"place": where.place, **named}


@dataclass(frozen=True, slots=True)
class Broken:
    """A rule that a request breaks, with the words that the provider answers."""

    protocol: ProtocolName
    rule: Rule
    message: str
    param: str | None

    @property
    def code(self) -> str:
        """The rule's code behind its protocol, for example `anthropic.result.missing`."""
        return f"{self.protocol}.{self.rule.code}"


def first_broken(rules: Sequence[Rule], asked: Asked) -> Broken | None:
    """The first of the rules that the request breaks."""
    for one in rules:
        found = next(one.check(asked), None)
        if found is not None:
            param = one.param.format(**found) if one.param else None
            return Broken(asked.protocol, one, one.message.format(**found), param)
    return None
