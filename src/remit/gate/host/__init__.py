"""The gate under somebody else's loop: its runs, and one call of them."""

from __future__ import annotations

__all__: list[str] = []
