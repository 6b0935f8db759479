"""Taking a body apart for a stream: texts cut into pieces.

Knows no protocol. Invariant: the pieces of a text, joined, are the text.
"""

from __future__ import annotations

__all__ = ["Splitter"]

_LONGEST = 24


class Splitter:
    """Splits texts into pieces of one to 24 characters; equal seeds split equally."""

    def __init__(self, seed: int) -> None:
        self._state = seed & 0xFFFFFFFF

    def split(self, text: str) -> list[str]:
        """The pieces of a text, none of them empty."""
        pieces: list[str] = []
        at = 0
        while at < len(text):
            # The linear congruential generator of Numerical Recipes: no chance is needed, only variety.
            self._state = (self._state * 1664525 + 1013904223) & 0xFFFFFFFF
            size = 1 + (self._state >> 16) % _LONGEST
            pieces.append(text[at : at + size])
            at += size
        return pieces
