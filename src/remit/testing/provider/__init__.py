"""A fake provider: a real HTTP server for three protocols that enforces the providers' rules and fails on order.

Invariant: what it accepts the real providers accept as far as their rules are known, and what they refuse by those
rules it refuses in their words.
"""

from __future__ import annotations

from remit.testing.provider import fault
from remit.testing.provider.book import RULES
from remit.testing.provider.fault import Fault
from remit.testing.provider.provider import FakeProvider
from remit.testing.provider.rule import Broken, Rule
from remit.testing.provider.server import Received

__all__ = ["RULES", "Broken", "FakeProvider", "Fault", "Received", "Rule", "fault"]
