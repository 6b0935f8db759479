"""Declared secrets: what stands in their place, and how long one must be.

Knows no text to look through. Invariant: one mask everywhere, so that what is masked once is not masked again.
"""

from __future__ import annotations

from collections.abc import Iterable

from remit.errors import DefinitionError

__all__ = ["MASK", "SHORTEST", "check_secrets"]

MASK = "[redacted]"
"""What stands for a secret. No prefix of it is a suffix of it, so it is found again exactly where it was put."""

SHORTEST = 4
"""Characters of the shortest secret: removing a shorter one would shred every text."""


def check_secrets(secrets: Iterable[str], place: str = "secrets=") -> None:
    """Return if these can be removed from texts.

    Raises:
        DefinitionError: `secret.short`: it is one string, or one in it is shorter than `SHORTEST`.
    """
    if isinstance(secrets, str) or not hasattr(secrets, "__iter__") or any(not _is_secret(one) for one in secrets):
        message = f"{place} is a list of strings, each of at least {SHORTEST} characters"
        raise DefinitionError(message, code="secret.short")


def _is_secret(value: object) -> bool:
    return isinstance(value, str) and len(value) >= SHORTEST
