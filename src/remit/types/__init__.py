"""The nouns: what every part of this library means by a run, a call, an operation, an approval, an event.

Nothing here does anything; it knows no store, no network and no clock.
"""

from __future__ import annotations

__all__: list[str] = []
