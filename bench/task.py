"""What every subject does: it asks for a number of tool turns, and the tool counts how often it really ran.

Knows no library. Every subject defines `async def run(task) -> None` and takes `task.add` as its tool's body.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}},
    "required": ["a", "b"],
}
"""Of the tool's arguments, as a hand-written loop declares them."""

ran = 0
"""How often the tool's body has run in this process."""
marks: list[float] | None = None
"""CPU time of the process at each start of the tool's body, in seconds; None where nobody wants to know."""


def add(a: int, b: int) -> str:
    """The tool's body."""
    global ran
    ran += 1
    if marks is not None:
        marks.append(time.process_time())
    return str(a + b)


@dataclass(frozen=True)
class Task:
    """One run of a subject.

    Args:
        url: where the fake model is.
        turns: how many turns with calls the model takes.
        parallel: calls in each.
        pad: characters of text beside them.
        think_ms: how long the model takes for each reply.
    """

    url: str
    turns: int
    parallel: int = 1
    pad: int = 0
    think_ms: int = 0

    @property
    def prompt(self) -> str:
        """What the user asks; the fake model reads it."""
        thinking = f" think={self.think_ms}" if self.think_ms else ""
        return f"Add numbers. turns={self.turns} parallel={self.parallel} pad={self.pad}{thinking}"
