"""Policy: pure functions from a request to allow, deny or ask; the strictest wins, and a mistake denies.

Knows no gate and no store. Invariant: only a verdict allows; an error, a coroutine or any other value denies.
"""

from __future__ import annotations

from remit.policy.judgement import Policy, digest_of, judge, stricter
from remit.policy.verdict import Allow, Ask, Deny, Request, Verdict

__all__ = ["Allow", "Ask", "Deny", "Policy", "Request", "Verdict", "digest_of", "judge", "stricter"]
