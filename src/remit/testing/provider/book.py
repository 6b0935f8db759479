"""The rules of the three protocols.

Invariant: a rule's code is its own within its protocol; the order of the rules is that in which the provider looks.
"""

from __future__ import annotations

from collections.abc import Mapping

from remit.testing.provider.rule import Rule
from remit.testing.provider.rule_anthropic import ANTHROPIC_HEAD
from remit.testing.provider.rule_anthropic_turn import ANTHROPIC_TURN
from remit.testing.provider.rule_chat import CHAT
from remit.testing.provider.rule_responses import RESPONSES
from remit.testing.provider.rule_thinking import THINKING
from remit.types.model import ProtocolName

__all__ = ["RULES"]

RULES: Mapping[ProtocolName, tuple[Rule, ...]] = {
    "anthropic": (*ANTHROPIC_HEAD, *ANTHROPIC_TURN, *THINKING),
    "openai-chat": CHAT,
    "openai-responses": RESPONSES,
}
"""What the fake provider enforces, in the order in which it looks."""
