"""How long a provider is waited for.

Knows no transport. Invariant: each wait has a limit of its own, or none by choice.
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Timeouts"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeouts:
    """How long to wait for a provider, in seconds; None waits for ever.

    Args:
        connect: until the connection stands.
        first_byte: from the request until the response has begun with its whole head; a model thinks here.
        idle: between two pieces of the response, and of the request; and for the whole body of a refusal.
        total: for one request and its whole response, however busily it comes.
    """

    connect: float | None = 10.0
    first_byte: float | None = 600.0
    idle: float | None = 60.0
    total: float | None = 1800.0
