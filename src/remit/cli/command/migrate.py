"""`remit migrate`: the ledger's tables brought to this version."""

from __future__ import annotations

import asyncio
from typing import Annotated

import typer

from remit.cli.option import JsonOption, LedgerOption
from remit.cli.place import ledger_path
from remit.cli.screen import Screen
from remit.cli.work import do

__all__ = ["migrate"]


def migrate(
    *,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Change nothing, and say what would be done.")] = False,
    ledger: LedgerOption = None,
    as_json: JsonOption = False,
) -> None:
    """Bring the ledger's tables to this version.

    Opening a ledger does so too; this does it before a new version is started, by whoever may change tables. Each step
    is made whole or not at all. An older version that is still at work writes nothing from then on: it is told to upgrade
    (`ledger.newer`), and what it was doing is taken up by the new one.

    \b
    Examples:
      remit migrate --dry-run
      remit migrate --ledger postgresql://remit@db/shop
    """
    screen = Screen(as_json=as_json)

    async def job() -> int:
        from remit.ledger import upgrade

        report = await asyncio.to_thread(upgrade, ledger_path(ledger), dry_run=dry_run)
        if as_json:
            screen.document({"before": report.before, "steps": [*report.steps], "done": report.done})
            return 0
        for number, name in enumerate(report.steps, start=report.before + 1):
            screen.line(f"{'made' if report.done else 'would be made'}: {number} ({name})", style="bold")
        if not report.steps:
            screen.line("the tables are this version's already")
        return 0

    do(screen, job())
