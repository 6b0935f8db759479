"""`remit operations`, `settle`, `withdraw`: effects, what became of them, and what a person knows about it."""

from __future__ import annotations

from typing import Annotated

import typer

from remit.cli import find, paper
from remit.cli.option import ByOption, JsonOption, LedgerOption, ReasonOption, json_of
from remit.cli.place import ledger_path, owning, reading
from remit.cli.screen import Screen
from remit.cli.stand import effective
from remit.cli.text import compact, moment
from remit.cli.work import do
from remit.errors import Conflict, InputError
from remit.trace import Redactor
from remit.types.ident import Json
from remit.types.ledger import Ledger
from remit.types.operation import Operation, OperationState

__all__ = ["operations", "settle", "withdraw"]

OperationArgument = Annotated[str, typer.Argument(metavar="OPERATION", help="Its id, or the beginning of one.")]
_IN_DOUBT: tuple[OperationState, ...] = ("unknown", "dispatched")


def operations(
    *,
    unknown: Annotated[bool, typer.Option("--unknown", help="Only those of which it is not known if they happened.")] = False,
    run: Annotated[str | None, typer.Option("--run", metavar="RUN", help="Only of this run.")] = None,
    limit: Annotated[int, typer.Option("--limit", min=1, max=100_000, help="At most so many.")] = 100,
    ledger: LedgerOption = None,
    as_json: JsonOption = False,
) -> None:
    """List effects that were asked for, oldest first.

    An operation is one effect, with what became of it. --unknown also lists what a process had started that is gone now.

    \b
    Examples:
      remit operations --unknown
      remit operations --run run_4711 --json
    """
    screen = Screen(as_json=as_json)

    async def job() -> int:
        async with reading(ledger_path(ledger)) as opened:
            named = None if run is None else (await find.run(opened, run)).id
            rows = await opened.operations(run=named, state=_IN_DOUBT if unknown else None, limit=limit)
            if unknown:
                rows = [row for row in rows if not await _is_running(opened, row)]
            redactor = Redactor(paper.hidden(await opened.approvals(run=named, limit=None)))
        shown = [paper.operation(row, redactor) for row in rows]
        if as_json:
            screen.document({"operations": list(shown)})
        elif rows:
            headings = ("operation", "tool", "arguments", "state", "run", "updated")
            screen.table(headings, [_cells(row, one["arguments"]) for row, one in zip(rows, shown, strict=True)])
        else:
            screen.line("nothing is in doubt" if unknown else "no operations", style="dim")
        return 0

    do(screen, job())


def _either(happened: bool | None) -> bool:
    """Both names are said where neither was given."""
    if happened is None:
        raise typer.BadParameter("say --happened or --did-not-happen")
    return happened


def settle(
    operation: OperationArgument,
    *,
    happened: Annotated[
        bool | None,
        typer.Option(
            "--happened/--did-not-happen", callback=_either, help="Whether the effect took place; one of them is needed."
        ),
    ] = None,
    by: ByOption,
    reason: ReasonOption,
    result: Annotated[
        str | None, typer.Option("--result", metavar="JSON", help="What the tool would have returned, if it happened.")
    ] = None,
    ledger: LedgerOption = None,
    as_json: JsonOption = False,
) -> None:
    """Say what became of an operation that is unknown.

    It is journaled at once where nobody owns its run.

    \b
    Examples:
      remit settle op_19 --happened --by bob --reason "seen in the books" --result '{"refund": "re_5"}'
      remit settle op_19 --did-not-happen --by bob --reason "the bank has no such booking"
    """
    screen = Screen(as_json=as_json)
    if result is not None and not happened:
        message = "--result is what came of an effect that took place; it does not go with --did-not-happen"
        raise InputError(message, code="settle.result")
    value = None if result is None else json_of("--result", result)

    async def job() -> int:
        path = ledger_path(ledger)
        async with reading(path) as opened:
            row = await find.operation(opened, operation)
        async with owning(path) as remit:
            now = await remit.settle(row, happened is True, by=by, reason=reason, result=value)
        _report(screen, now, f"{row.id} is {now.state}", settled=now.state not in _IN_DOUBT)
        return 0

    do(screen, job())


def withdraw(
    operation: OperationArgument,
    *,
    by: ByOption,
    reason: ReasonOption = "",
    ledger: LedgerOption = None,
    as_json: JsonOption = False,
) -> None:
    """Do not start an operation that waits for approval.

    What has started is not touched (exit code 9).

    \b
    Examples:
      remit withdraw op_19 --by alice --reason "never mind"
    """
    screen = Screen(as_json=as_json)

    async def job() -> int:
        path = ledger_path(ledger)
        async with reading(path) as opened:
            row = await find.operation(opened, operation)
        if row.state != "awaiting_approval":
            raise Conflict(f"{row.id} is {row.state}; only what waits can be withdrawn", code="operation.not_waiting")
        async with owning(path) as remit:
            await remit.withdraw(row.id, by=by, reason=reason)
        async with reading(path) as opened:
            now = await find.operation(opened, row.id)
            run = await find.run(opened, row.run)
            left = run.status != "ended" and (run.host or run.owner is None or not await opened.alive(run.owner))
        _report(screen, now, f"{row.id} is withdrawn", settled=now.state == "closed")
        if left and not as_json:
            screen.line(effective(run, row.call), style="dim")
        return 0

    do(screen, job())


def _report(screen: Screen, row: Operation, done: str, *, settled: bool) -> None:
    if screen.as_json:
        screen.document({"operation": paper.operation(row, Redactor()), "journaled": settled})
    else:
        screen.line(done if settled else f"recorded; whoever owns {row.run} will journal it")


async def _is_running(ledger: Ledger, row: Operation) -> bool:
    return row.state == "dispatched" and row.owner is not None and await ledger.alive(row.owner)


def _cells(row: Operation, arguments: Json) -> tuple[str, ...]:
    state = f"{row.state} ({row.closed})" if row.closed else row.state
    return (row.id, row.tool, compact(arguments), state, row.run, moment(row.updated_ms))
