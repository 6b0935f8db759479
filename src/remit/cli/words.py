"""The words of a reply as they come, on a terminal: written on one line after the other, masked, and taken back if need be.

It knows deltas and no run. Invariant: nothing that a model wrote moves the cursor, and what stands for nothing is said to.
"""

from __future__ import annotations

from remit.cli.screen import Screen
from remit.trace import Redactor
from remit.types.stream import Delta

__all__ = ["Words"]

_HEAD = "  model: "
_NEXT = "         "


class Words:
    """What is being written of one attempt after the other.

    A word is shown once it is whole, so that one that looks like a secret is masked.
    """

    def __init__(self, screen: Screen) -> None:
        self._screen = screen
        self._redactor = Redactor()
        self._held = ""
        self._kind = ""
        self._attempt = (0, 0)
        self.told: tuple[int, int] | None = None
        """Turn and attempt of the reply whose text was shown from its beginning."""

    def hear(self, delta: Delta) -> None:
        """Show a piece."""
        here = (delta.turn, delta.attempt)
        if here != self._attempt:
            self.close()
            self._attempt = here
            self.told = here if delta.index == 0 else None
        if delta.kind == "call":
            self.close()
            return
        if delta.kind != self._kind:
            self.close()
            self._kind = delta.kind
            self._screen.words("  thinks: " if delta.kind == "reasoning" else _HEAD)
        whole, self._held = _whole_words(self._held + delta.text)
        self._show(whole)

    def close(self) -> None:
        """The text is at its end."""
        if self._kind:
            self._show(self._held)
            self._screen.words("\n")
        self._kind = self._held = ""

    def retract(self) -> None:
        """What was shown of this attempt stands for nothing."""
        shown = bool(self._kind) or self.told is not None
        self.close()
        if shown:
            self._screen.note("  (taken back: this reply did not come to its end)", style="yellow")
        self.told = None

    def _show(self, text: str) -> None:
        if text:
            style = "dim italic" if self._kind == "reasoning" else ""
            self._screen.words(self._redactor.text(text).replace("\n", f"\n{_NEXT}"), style=style)


def _whole_words(text: str) -> tuple[str, str]:
    """The text up to its last space, and the word that may not be whole yet."""
    cut = max(text.rfind(space) for space in " \n\t") + 1
    return text[:cut], text[cut:]
