"""What migrating a ledger did, or would do."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Upgraded"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Upgraded:
    """Which migrations were made.

    Args:
        before: how many had been made before; 0: there were no tables.
        steps: the names of the others, in order.
        done: False: they would be made.
    """

    before: int
    steps: tuple[str, ...]
    done: bool
