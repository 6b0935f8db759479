"""A collector of garbage that comes seldom: a schedule makes much that is gone with it.

Knows Python's collector. Invariant: afterwards it is as it was.
"""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Generator

__all__ = ["seldom_collecting"]

_SELDOM = (100_000, 50, 1_000)


@contextlib.contextmanager
def seldom_collecting() -> Generator[None]:
    """Inside, what was there before is not looked at, and what is new is looked at seldom."""
    before, frozen = gc.get_threshold(), gc.get_freeze_count()
    gc.set_threshold(*_SELDOM)
    if not frozen:
        gc.freeze()
    try:
        yield
    finally:
        gc.set_threshold(*before)
        if not frozen:
            gc.unfreeze()
