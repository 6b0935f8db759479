"""The demo from beginning to end: go every way with both loops, count, show, and keep one run's transcript.

Shows what it counted and nothing else. Knows rich and the file system; it does not know how the ways
are gone.
"""

from __future__ import annotations

import asyncio
import json
import tempfile
from contextlib import nullcontext
from dataclasses import asdict, dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table
from rich.text import Text

from remit import Remit
from remit.demo.transcript import TRANSCRIPT, produce
from remit.demo.way import WAYS, Loop, Way, refunds

__all__ = ["Counted", "Question", "show", "tell"]


@dataclass(frozen=True, slots=True)
class Counted:
    """Refunds in the service's books after one way, with each loop. One is right."""

    name: str
    plain: int
    remit: int


@dataclass(frozen=True, slots=True)
class Question:
    """What a person would have to settle or decide after a way: an operation in doubt, or a pending approval."""

    way: str
    id: str
    tool: str
    state: str


def tell(*, json_only: bool, console: Console) -> int:
    """Run all of it and print it; 0 if Remit refunded once in every way."""
    counted, questions = _go_all_ways(console, quiet=json_only)
    TRANSCRIPT.parent.mkdir(parents=True, exist_ok=True)
    TRANSCRIPT.write_text(produce(), encoding="utf-8")
    if json_only:
        found = {"ways": [asdict(one) for one in counted], "open_questions": [asdict(one) for one in questions]}
        console.out(json.dumps(found, indent=2), highlight=False)
    else:
        show(console, counted, questions)
    return 0 if all(one.remit == 1 for one in counted) else 1


def _go_all_ways(console: Console, *, quiet: bool) -> tuple[list[Counted], list[Question]]:
    counted: list[Counted] = []
    questions: list[Question] = []
    if not quiet:
        console.print("A billing assistant is asked to refund a duplicate charge of $42.00.")
        console.print("The same scripted model, the same service over HTTP; only the loop differs.\n")
    for way in WAYS:
        found: dict[Loop, int] = {}
        with tempfile.TemporaryDirectory(prefix="remit-demo-") as folder:
            for loop in ("plain", "remit"):
                place = Path(folder, loop)
                place.mkdir()
                with nullcontext() if quiet else console.status(Text.assemble(way.story, (f" ({loop})", "dim"))):
                    found[loop] = refunds(way, loop, place)
            questions += asyncio.run(_open_questions(way, Path(folder, "remit", "remit.db")))
        counted.append(Counted(way.name, found["plain"], found["remit"]))
    return counted, questions


async def _open_questions(way: Way, ledger: Path) -> list[Question]:
    async with Remit(ledger=ledger, agents=[]) as remit:
        doubtful = await remit.operations(state=("unknown", "dispatched"))
        pending = await remit.approvals(state=("pending",))
    found = [Question(way.name, one.id, one.tool, one.state) for one in doubtful]
    return found + [Question(way.name, one.id, one.tool, one.state) for one in pending]


def show(console: Console, counted: list[Counted], questions: list[Question]) -> None:
    """Print the table and what is left for a person."""
    table = Table(title="Refunds in the service's own books", caption="one is right", title_justify="left")
    table.add_column("The same refund, asked for four ways", overflow="fold")
    table.add_column("plain loop", justify="center")
    table.add_column("Remit", justify="center")
    for way, one in zip(WAYS, counted, strict=True):
        table.add_row(way.story, _mark(one.plain), _mark(one.remit))
    console.print(table)
    if questions:
        for one in questions:
            console.print(f"Open question after {one.way}: {one.tool} {one.id} is {one.state}")
    else:
        console.print("Open questions for a person: none")
    console.print(f"Answer and transcript of one run: {TRANSCRIPT}", highlight=False)


def _mark(count: int) -> Text:
    return Text(str(count), style="bold green" if count == 1 else "bold red")
