"""Text for a terminal: nothing that a model, a tool or a stranger wrote can move the cursor or colour a line."""

from __future__ import annotations

import json
import unicodedata
from datetime import datetime

from remit.types.ident import Json

__all__ = ["clean", "compact", "dollars", "moment", "short", "span"]

_KEPT = {"\n", "\t", "\u200c", "\u200d"}
"""Line feed, tab, and the two joiners that scripts and emoji need."""

_ESCAPED = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}
"""Controls, invisible and direction-changing characters, surrogates, what has no meaning, odd line ends."""


def clean(text: str) -> str:
    """The text with every character that a terminal would obey, or not show, written as an escape."""
    if text.isascii() and text.isprintable():
        return text
    return "".join([_escape(letter) if _obeyed(letter) else letter for letter in text])


def _obeyed(letter: str) -> bool:
    return letter not in _KEPT and unicodedata.category(letter) in _ESCAPED


def _escape(letter: str) -> str:
    return letter.encode("unicode_escape", "surrogatepass").decode("ascii")


def compact(value: Json) -> str:
    """A value as JSON on one line, cleaned."""
    return clean(json.dumps(value, ensure_ascii=False, separators=(", ", ": ")))


def short(text: str, length: int = 160) -> str:
    """At most `length` characters on one line."""
    line = " ".join(clean(text).split())
    return line if len(line) <= length else f"{line[: length - 1]}…"


def moment(at_ms: int | None) -> str:
    """A wall-clock moment in local time, to the second."""
    return "" if at_ms is None else datetime.fromtimestamp(at_ms / 1000).astimezone().strftime("%Y-%m-%d %H:%M:%S")


def span(duration_ms: int) -> str:
    """A duration in the unit that people would use."""
    return f"{duration_ms} ms" if duration_ms < 1000 else f"{duration_ms / 1000:.1f} s"


def dollars(micros: int | None) -> str:
    """A list price."""
    return "unknown" if micros is None else f"${micros / 1_000_000:.4f}"
