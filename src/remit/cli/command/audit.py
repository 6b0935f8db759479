"""`remit audit`: whether the record is what was written, and where it stands, to be kept elsewhere."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from remit.cli import find
from remit.cli.exit import NOT_VERIFIED
from remit.cli.option import JsonOption, LedgerOption
from remit.cli.place import ledger_path, reading
from remit.cli.screen import Screen
from remit.cli.text import moment
from remit.cli.work import do
from remit.errors import InputError
from remit.types.head import Heads
from remit.types.ident import RunId

__all__ = ["head", "verify"]

_LIMIT = (
    "that the end of a run was cut off, that a whole run was removed, or that all was computed anew cannot be seen without a "
    "head that was kept elsewhere"
)
_AFTER = "what was cut off or computed anew after that head was taken, and runs that it does not name, need a later one"


def head(
    runs: Annotated[list[str] | None, typer.Argument(metavar="[RUN]...", help="Some runs; default: all.")] = None,
    *,
    ledger: LedgerOption = None,
    as_json: JsonOption = False,
) -> None:
    """Print where the runs stand: keep it where whoever can write the ledger cannot.

    One JSON document, with or without --json: the last event of each run and its hash, and one digest over all of it. With it,
    `remit audit verify --head FILE` finds later what was cut off, computed anew or removed whole.

    \b
    Examples:
      remit audit head > head.json
      remit audit head run_4711
    """
    screen = Screen(as_json=as_json)

    async def job() -> int:
        async with reading(ledger_path(ledger)) as opened:
            named = None if not runs else [(await find.run(opened, one)).id for one in runs]
            found = await opened.heads(named)
        screen.document(found.plain())
        return 0

    do(screen, job())


def verify(
    run: Annotated[str | None, typer.Argument(metavar="[RUN]", help="One run; default: all.")] = None,
    *,
    head: Annotated[
        Path | None, typer.Option("--head", metavar="FILE", help="What `remit audit head` printed earlier.")
    ] = None,
    ledger: LedgerOption = None,
    as_json: JsonOption = False,
) -> None:
    """Check that the record is what was written.

    The chain of every run is computed anew, and operations and approvals are compared with the events.

    Finds what was altered, removed or reordered (exit code 12). With --head also what has been cut off, computed
    anew or removed whole since that head was taken.

    \b
    Examples:
      remit audit verify
      remit audit verify run_4711 --json
      remit audit verify --head head.json
    """
    screen = Screen(as_json=as_json)

    async def job() -> int:
        kept = None if head is None else _read(head)
        async with reading(ledger_path(ledger)) as opened:
            known = kept is not None and run is not None and kept.of(RunId(run)) is not None
            named = RunId(run) if known and run else None if run is None else (await find.run(opened, run)).id
            problems = await opened.verify(named, head=kept)
        limit = _LIMIT if kept is None else _AFTER
        if as_json:
            digest = None if kept is None else kept.digest
            screen.document({"run": named, "verified": not problems, "problems": [*problems], "head": digest, "limit": limit})
        else:
            for problem in problems:
                screen.line(problem, style="red")
            screen.line("not verified" if problems else _good(kept), style="bold")
            screen.line(limit, style="dim")
        return NOT_VERIFIED if problems else 0

    do(screen, job())


def _read(path: Path) -> Heads:
    try:
        return Heads.read(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"--head: {path} cannot be read ({type(error).__name__})", code="head.unreadable") from error


def _good(kept: Heads | None) -> str:
    good = "verified: nothing was altered, removed or reordered"
    if kept is None:
        return good
    count = len(kept.heads)
    return f"{good}, and {count} {'run stands' if count == 1 else 'runs stand'} on the head of {moment(kept.at_ms)}"
