"""The loop: a pure function from events to what is to be done, and a driver that does it."""

from __future__ import annotations

from remit.loop.driver import Driver
from remit.loop.spec import Check, RunSpec
from remit.loop.standing import standing_of
from remit.loop.state import RunState
from remit.loop.table import TABLE, diagram
from remit.loop.transcript import Transcript, transcript
from remit.loop.transition import fold, transition

__all__ = [
    "TABLE",
    "Check",
    "Driver",
    "RunSpec",
    "RunState",
    "Transcript",
    "diagram",
    "fold",
    "standing_of",
    "transcript",
    "transition",
]
