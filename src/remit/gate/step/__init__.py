"""The eight steps of the gate, a file each, in the order in which a call passes them.

Knows none of what surrounds them. Invariant: a call is looked up and approved only after it was authorized, and nothing
starts that has not passed them all in this process.
"""

from __future__ import annotations

__all__ = ["STEPS"]

STEPS = ("resolve", "validate", "bind", "authorize", "lookup", "approve", "execute", "redact")
"""Their names, in order. Each is a file here."""
