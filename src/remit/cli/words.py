"""The words of a reply as they come, on a terminal: written on one line after the other, masked, and taken back if need be.

It knows deltas and no run. Invariant: nothing that a model wrote moves the cursor, and what stands for nothing is said to.
"""

from __future__ import annotations

from remit.cli.screen import Screen
from remit.trace import StreamRedactor
from remit.types.stream import Delta

__all__ = ["Words"]

_HEAD = "  model: "
_NEXT = "         "


class Words:
    """What is being written of one attempt after the other.

    What is shown is what would be shown of the whole text: what may still be part of a secret is held back.
    """

    def __init__(self, screen: Screen) -> None:
        self._screen = screen
        self._masks: dict[str, StreamRedactor] = {}
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
            return  # its text, if more follows, goes on: what is held back may not be known to be harmless yet
        if self._kind == "reasoning" and delta.kind != "reasoning":
            self._end("reasoning")
        self._show(delta.kind, self._mask(delta.kind).feed(delta.text))

    def close(self) -> None:
        """The text is at its end."""
        for kind in ("reasoning", "text"):
            self._end(kind)
        if self._kind:
            self._screen.words("\n")
        self._kind = ""

    def retract(self) -> None:
        """What was shown of this attempt stands for nothing."""
        shown = bool(self._kind) or self.told is not None
        self.close()
        if shown:
            self._screen.note("  (taken back: this reply did not come to its end)", style="yellow")
        self.told = None

    def _mask(self, kind: str) -> StreamRedactor:
        if kind not in self._masks:
            self._masks[kind] = StreamRedactor(self._screen.redactor)
        return self._masks[kind]

    def _end(self, kind: str) -> None:
        mask = self._masks.pop(kind, None)
        self._show(kind, "" if mask is None else mask.end())

    def _show(self, kind: str, text: str) -> None:
        if not text:
            return
        if kind != self._kind:
            self._screen.words("\n" if self._kind else "")
            self._screen.words("  thinks: " if kind == "reasoning" else _HEAD)
            self._kind = kind
        style = "dim italic" if kind == "reasoning" else ""
        self._screen.words(text.replace("\n", f"\n{_NEXT}"), style=style)
