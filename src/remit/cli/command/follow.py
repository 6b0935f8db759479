"""`remit follow`: what happens in a run, from any process, until it has ended."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from remit.cli import find, load
from remit.cli.exit import of_standing
from remit.cli.option import LedgerOption, MaskOption
from remit.cli.place import ledger_path, owning
from remit.cli.progress import Progress
from remit.cli.screen import Screen
from remit.cli.stand import show_standing
from remit.cli.work import do
from remit.trace import describe
from remit.types.event import RunStarted
from remit.types.run import RunRow, Submitted

if TYPE_CHECKING:
    from remit import Remit

__all__ = ["follow"]


def follow(
    run: Annotated[str, typer.Argument(metavar="RUN", help="Id of a run, or the beginning of one.")],
    *,
    after: Annotated[
        int, typer.Option("--after", metavar="N", min=0, max=2**63 - 1, help="Only events with a sequence number above N.")
    ] = 0,
    agent: MaskOption = None,
    ledger: LedgerOption = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Each event as a JSON document on a line of standard output, and nothing else there.")
    ] = False,
) -> None:
    """Watch a run from another process until it has ended.

    Events go to standard error as they are committed, on a terminal with the words that are being written, and how
    the run stands goes to standard output. What looks like a secret is masked, and with --agent what that agent declares
    secret: the ledger does not hold it. While the run waits for a person it is waited for; Ctrl-C leaves it alone.

    \b
    Examples:
      remit follow run_4711
      remit follow run_4711 --agent shop:support
      remit follow run_4711 --after 12 --json
    """
    screen = Screen(as_json=as_json)

    async def job() -> int:
        screen.hide(load.secrets(agent or ()))
        async with owning(ledger_path(ledger)) as remit:
            row = await find.run(remit.ledger, run)
            if as_json:
                async for recorded in remit.follow(row.id, after=after):
                    screen.record(describe(recorded, content=True, redactor=screen.redactor))
            else:
                progress = Progress(screen, row.id, after=after)
                await progress.watch(remit)
            stands = None if await _is_anothers(remit, row) else await remit.standing(row.id)
        if stands is None or isinstance(stands, Submitted):
            return 0
        screen.tells_end = True
        if not as_json:
            show_standing(screen, stands)
        return of_standing(stands)

    do(screen, job())


async def _is_anothers(remit: Remit, row: RunRow) -> bool:
    """Whether another loop drives the run, so that its end says nothing of an answer."""
    first = (await remit.ledger.read(row.id, limit=1))[:1]
    return row.host and not any(isinstance(one.event, RunStarted) and one.event.protocol == "workflow" for one in first)
