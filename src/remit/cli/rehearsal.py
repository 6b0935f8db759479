"""What a dry run did not do, printed: each write that would have been done or asked for, in the model's order.

It reads events only. Invariant: what is listed was not done.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from remit.cli import paper
from remit.cli.screen import Screen
from remit.cli.stand import show_standing
from remit.cli.text import compact
from remit.trace import Redactor
from remit.types.event import CallConsidered, CallEnded, Recorded
from remit.types.ident import CallId, Json
from remit.types.outcome import NotRun, Refused
from remit.types.run import Standing

__all__ = ["show_rehearsal"]

_CODES = ("dry_run", "dry_run.no_preview")


def show_rehearsal(screen: Screen, stands: Standing, events: Sequence[Recorded]) -> None:
    """Print how the run stands, and what it would have done."""
    would = _would(events, screen.redactor)
    screen.tells_end = True
    if screen.as_json:
        screen.document({**paper.standing(stands), "verified": False, "dry_run": True, "would": list(would)})
        return
    show_standing(screen, stands, dry_run=True)
    if not would:
        screen.line("dry run: nothing would have been changed, and nobody asked", style="bold")
        return
    screen.line("dry run: not done, and nobody was asked", style="bold")
    for one in would:
        screen.line(f"  {one['call']} {one['tool']} {compact(one['arguments'])}")
        screen.line(f"    {one['says']}")


def _would(events: Sequence[Recorded], redactor: Redactor) -> list[dict[str, Json]]:
    asked: dict[CallId, CallConsidered] = {}
    found: list[dict[str, Json]] = []
    for one in events:
        match one.event:
            case CallConsidered() as considered:
                asked[considered.call] = considered
            case CallEnded(call=call, outcome=NotRun() | Refused() as outcome) if outcome.code in _CODES:
                considered = asked[call]
                arguments: Json = None if considered.arguments is None else json.loads(considered.arguments)
                found.append(
                    {
                        "call": call,
                        "tool": considered.tool,
                        "arguments": redactor.value(arguments),
                        "asks": considered.step == "approve",
                        "previewed": outcome.code == "dry_run",
                        "says": redactor.text(outcome.message),
                    }
                )
            case _:
                pass
    return found
