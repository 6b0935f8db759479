"""`remit runs` and `remit show`: what the ledger holds, read only."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import Annotated, cast

import typer

from remit.cli import find, load, paper
from remit.cli.option import JsonOption, LedgerOption, MaskOption
from remit.cli.place import ledger_path, reading
from remit.cli.screen import Screen
from remit.cli.stand import spent
from remit.cli.tell import tell
from remit.cli.text import moment
from remit.cli.work import do
from remit.trace import Redactor, describe
from remit.types.event import Contradicted, OperationMoved, Recorded, RunEnded, RunStarted
from remit.types.ident import ConversationId, Json
from remit.types.ledger import Ledger
from remit.types.operation import Operation
from remit.types.run import RunRow, RunStatus, Standing, Submitted

__all__ = ["runs", "show"]

_HOST = " (a host's run: another loop drives it through the gate)"


class Status(StrEnum):
    """What `--status` takes."""

    queued = "queued"
    active = "active"
    paused = "paused"
    ended = "ended"


def runs(
    *,
    status: Annotated[list[Status] | None, typer.Option("--status", help="Only such runs; may be repeated.")] = None,
    conversation: Annotated[str | None, typer.Option("--conversation", metavar="ID", help="Only of this conversation.")] = None,
    limit: Annotated[int, typer.Option("--limit", min=1, max=100_000, help="At most so many.")] = 50,
    ledger: LedgerOption = None,
    as_json: JsonOption = False,
) -> None:
    """List runs, newest first, and how those that have ended did.

    \b
    Examples:
      remit runs
      remit runs --status paused --status active
      remit runs --conversation ticket-4711 --json
    """
    screen = Screen(as_json=as_json)

    async def job() -> int:
        async with reading(ledger_path(ledger)) as opened:
            named = None if conversation is None else ConversationId(conversation)
            wanted: list[RunStatus] = [one.value for one in status or ()]
            rows = await opened.runs(status=wanted or None, conversation=named, limit=limit)
            ends = {row.id: await _end(opened, row) for row in rows}
        if as_json:
            screen.document({"runs": [{**paper.run(row), "end": ends[row.id]} for row in rows]})
        elif rows:
            headings = ("run", "agent", "for", "conversation", "status", "events", "updated")
            screen.table(
                headings,
                [
                    (
                        row.id,
                        row.agent if row.parent is None else f"{row.agent}, for {row.parent}",
                        f"{row.subject}@{row.tenant}",
                        row.conversation or "",
                        _status(row, ends[row.id]),
                        str(row.sequence),
                        moment(row.updated_ms),
                    )
                    for row in rows
                ],
            )
        else:
            screen.line("no such runs" if status or conversation else "no runs yet", style="dim")
        return 0

    do(screen, job())


def show(
    run: Annotated[str, typer.Argument(metavar="RUN", help="Id of a run, or the beginning of one.")],
    *,
    content: Annotated[
        bool, typer.Option("--content/--no-content", help="With the words of people, model and tools, or ids and codes alone.")
    ] = True,
    agent: MaskOption = None,
    ledger: LedgerOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show a run: turns, calls, decisions, outcomes, cost.

    As a person reads it, with its operations, its end and its usage. What looks like a secret is masked, and with
    --agent what that agent declares secret: the ledger does not hold it.
    What is shown with --no-content may be given to anybody: it holds no word of anybody.

    \b
    Examples:
      remit show run_4711 --agent shop:support
      remit show run_4711 --no-content --json
    """
    screen = Screen(as_json=as_json)

    async def job() -> int:
        async with reading(ledger_path(ledger)) as opened:
            row = await find.run(opened, run)
            recorded = await opened.read(row.id)
            approvals = await opened.approvals(run=row.id, limit=None)
            operations = await opened.operations(run=row.id, limit=None)
        from remit.loop import fold, standing_of

        screen.hide([*load.secrets(agent or ()), *paper.hidden(approvals)])
        events = [describe(one, content=content, redactor=screen.redactor) for one in recorded]
        state = fold(recorded) if recorded else None
        other = row.host and not _is_workflow(recorded)
        stands = None if state is None or other else standing_of(state, approvals=approvals, durable=True)
        if as_json:
            shown: Json = None if stands is None else paper.shared(stands, screen.redactor, content=content)
            effects: list[Json] = [paper.operation(one, screen.redactor) if content else str(one.id) for one in operations]
            screen.document({"run": paper.run(row), "standing": shown, "events": list(events), "operations": effects})
            return 0
        for line in (*_told(events, host=row.host), *(_kept(recorded, operations, screen.redactor) if content else ())):
            screen.line(line)
        screen.line(f"{row.id}: {_stands(row, stands)}{_HOST if other else ''}", style="bold")
        if state is not None:
            screen.line(spent(state.usage), style="dim")
        return 0

    do(screen, job())


def _stands(row: RunRow, stands: Standing | Submitted | None) -> str:
    return row.status if stands is None or isinstance(stands, Submitted) else paper.status_of(stands)


def _is_workflow(recorded: Sequence[Recorded]) -> bool:
    """Whether the run's host is a workflow, which says how it stands."""
    return any(isinstance(one.event, RunStarted) and one.event.protocol == "workflow" for one in recorded[:1])


def _told(events: Sequence[dict[str, Json]], *, host: bool) -> list[str]:
    """The events as a person reads them, each line with its time."""
    told = [(event, line) for event in _with_tools(events) for line in tell(event, host=host)]
    return [f"{moment(int(str(event['at_ms'])))[11:]}  {line}" for event, line in told]


def _kept(recorded: Sequence[Recorded], operations: Sequence[Operation], redactor: Redactor) -> list[str]:
    """What was reported of the run's operations and moved none of them: no event says it."""
    told = {one.event.evidence for one in recorded if isinstance(one.event, OperationMoved | Contradicted)}
    lines: list[str] = []
    for row in operations:
        kept = [text for text in row.evidence if text not in told]
        if kept:
            state = row.state if row.settled_by is None else f"{row.state}, settled by {row.settled_by.removeprefix('by:')}"
            lines.append(f"{row.id} {row.tool}: {state}; reported as well:")
            lines += [f"    evidence: {line}" for text in kept for line in redactor.text(text).splitlines()]
    return lines


async def _end(ledger: Ledger, row: RunRow) -> str | None:
    """How a run ended: its last event says so, but for settlements that came after."""
    if row.status != "ended":
        return None
    if row.forgotten_ms is not None:
        return "forgotten"
    for after in (max(row.sequence - 1, 0), 0):
        for one in reversed(await ledger.read(row.id, after=after)):
            if isinstance(one.event, RunEnded):
                return one.event.how
    return None


def _status(row: RunRow, end: str | None) -> str:
    return f"{row.status}{f', {end}' if end else ''}{' (host)' if row.host else ''}"


def _with_tools(events: Sequence[dict[str, Json]]) -> list[dict[str, Json]]:
    """The events with the names of tools where they were left out as words: those that the gate resolved."""
    known: dict[str, Json] = {
        str(event["call"]): event["tool"] for event in events if event["kind"] == "call.considered" and event["tool"]
    }
    return [_with_tool(event, known) for event in events]


def _with_tool(event: dict[str, Json], known: dict[str, Json]) -> dict[str, Json]:
    if event["kind"] == "call.ended":
        return {**event, "tool": event["tool"] or known.get(str(event["call"]), "unknown tool")}
    if event["kind"] != "model.replied":
        return event
    calls = cast(list[dict[str, Json]], event["calls"])
    named = [{"name": known.get(f"{event['turn']}.{call['position']}", "unknown tool"), **call} for call in calls]
    return {**event, "calls": cast(Json, named)}
