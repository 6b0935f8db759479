"""The rules of the three protocols, as one list.

Invariant: every rule has a code of its own.
"""

from __future__ import annotations

from remit.testing.provider.rule import Rule
from remit.testing.provider.rule_anthropic import ANTHROPIC_HEAD
from remit.testing.provider.rule_anthropic_turn import ANTHROPIC_TURN
from remit.testing.provider.rule_chat import CHAT
from remit.testing.provider.rule_responses import RESPONSES
from remit.testing.provider.rule_thinking import THINKING
from remit.types.model import ProtocolName

__all__ = ["RULES", "rules_of"]

RULES: tuple[Rule, ...] = (*ANTHROPIC_HEAD, *ANTHROPIC_TURN, *THINKING, *CHAT, *RESPONSES)
"""What the fake provider enforces, in the order in which it looks."""

_BY_PROTOCOL: dict[ProtocolName, tuple[Rule, ...]] = {
    protocol: tuple(rule for rule in RULES if rule.protocol == protocol)
    for protocol in ("anthropic", "openai-chat", "openai-responses")
}


def rules_of(protocol: ProtocolName) -> tuple[Rule, ...]:
    """The rules of one protocol."""
    return _BY_PROTOCOL[protocol]
