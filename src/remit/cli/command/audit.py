"""`remit audit verify`: whether the record is what was written."""

from __future__ import annotations

from typing import Annotated

import typer

from remit.cli import find
from remit.cli.exit import NOT_VERIFIED
from remit.cli.option import JsonOption, LedgerOption
from remit.cli.place import ledger_path, reading
from remit.cli.screen import Screen
from remit.cli.work import do

__all__ = ["verify"]

_LIMIT = (
    "that the end of a run was cut off, that a whole run was removed, or that all was computed anew cannot be seen without a "
    "head that was kept elsewhere"
)


def verify(
    run: Annotated[str | None, typer.Argument(metavar="[RUN]", help="One run; default: all.")] = None,
    *,
    ledger: LedgerOption = None,
    as_json: JsonOption = False,
) -> None:
    """Check that the record is what was written.

    The chain of every run is computed anew, and operations and approvals are compared with the events.

    Finds what was altered, removed or reordered (exit code 12).

    \b
    Examples:
      remit audit verify
      remit audit verify run_4711 --json
    """
    screen = Screen(as_json=as_json)

    async def job() -> int:
        async with reading(ledger_path(ledger)) as opened:
            named = None if run is None else (await find.run(opened, run)).id
            problems = await opened.verify(named)
        if as_json:
            screen.document({"run": named, "verified": not problems, "problems": [*problems], "limit": _LIMIT})
        else:
            for problem in problems:
                screen.line(problem, style="red")
            screen.line("not verified" if problems else "verified: nothing was altered, removed or reordered", style="bold")
            screen.line(_LIMIT, style="dim")
        return NOT_VERIFIED if problems else 0

    do(screen, job())
