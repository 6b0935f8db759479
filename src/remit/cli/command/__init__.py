"""The commands, a module for each group: what they take, what they do, what they print."""

from __future__ import annotations

from remit.cli.command import audit, decide, demo, effect, look, run

__all__ = ["audit", "decide", "demo", "effect", "look", "run"]
