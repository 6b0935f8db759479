"""Whether this process is the inside of a sandbox.

Knows nothing else. Invariant: once True, it stays so.
"""

from __future__ import annotations

__all__ = ["enter", "is_inside"]

_inside = False


def enter() -> None:
    """Say that this process runs a handler for another one, and nothing else."""
    global _inside
    _inside = True


def is_inside() -> bool:
    """Whether it does."""
    return _inside
