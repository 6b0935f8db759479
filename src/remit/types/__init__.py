"""The nouns: what every part of this library means by a run, a call, an operation, an approval, an event.

Nothing here does anything; it knows no store, no network and no clock.
"""

from __future__ import annotations

from remit.types import approval, budget, event, ident, label, ledger, model, operation, outcome, part, principal, run

__all__ = [
    "approval",
    "budget",
    "event",
    "ident",
    "label",
    "ledger",
    "model",
    "operation",
    "outcome",
    "part",
    "principal",
    "run",
]
