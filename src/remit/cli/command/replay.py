"""`remit replay`: whether the agent of now decides a recorded run as it was decided then."""

from __future__ import annotations

from contextlib import AsyncExitStack
from typing import Annotated

import typer

from remit.cli import find, load
from remit.cli.command.run import need_agent
from remit.cli.exit import DIFFERENT, UNCOMPARED
from remit.cli.option import DepsOption, JsonOption, LedgerOption
from remit.cli.place import ledger_path, reading
from remit.cli.replay import Compared, Decided, compare, read, run_again
from remit.cli.screen import Screen
from remit.cli.work import do
from remit.errors import InputError
from remit.types.ident import Json

__all__ = ["replay"]


def replay(
    run: Annotated[str, typer.Argument(metavar="RUN", help="Id of a run, or the beginning of one.")],
    agent: Annotated[str, typer.Argument(metavar="MODULE:AGENT", help="The agent of now, from the current directory.")],
    *,
    deps: DepsOption = None,
    ledger: LedgerOption = None,
    as_json: JsonOption = False,
) -> None:
    """Run a recorded run again and compare how it is decided.

    With the agent, tools and policy of now, the recorded replies, principal and decisions of people, on a ledger in
    memory: no model is asked, no handler runs, and nothing is recorded. Handlers, `done=` and `owns=` are answered
    from the record; with --deps `owns=` is asked, which policies need that read its facts. Where something comes
    out otherwise, the model would be told something else, and what it would say then is not known: the replay ends.
    A replay goes through no crash: where a run was recorded over one, and the two part over what that left, they cannot
    be compared (exit code 16).

    \b
    Examples:
      remit replay run_4711 shop:support
      remit replay run_4711 shop:support --deps shop:make_shop --json
    """
    screen = Screen(as_json=as_json)

    async def job() -> int:
        agents, _ = load.apart([load.agent(agent)])
        if not agents:
            raise InputError("a workflow is not replayed: its steps are recorded, and its function is code", code="replay.host")
        now = agents[0]
        async with reading(ledger_path(ledger)) as opened:
            row = await find.run(opened, run)
            need_agent(row, [now])
            record = await read(opened, row)
        async with AsyncExitStack() as stack:
            found = await load.dependencies(deps, stack)
            again = await run_again(record, now, deps=found, asks_owners=deps is not None)
        compared = compare(record, again)
        _show(screen, row.id, compared)
        return 0 if compared.equal else DIFFERENT if compared.is_comparable else UNCOMPARED

    do(screen, job(), quiet=True)


def _show(screen: Screen, run: str, compared: Compared) -> None:
    if screen.as_json:
        screen.document(_document(run, compared))
        return
    for call, (then, now) in compared.calls.items():
        tool = (then or now or Decided()).tool
        if then is not None and now is not None and then.is_as(now):
            screen.line(f"= {call} {tool}: {then.describe()}")
            continue
        reached = "not reached" if compared.missed else "not proposed"
        screen.line(f"! {call} {tool}", style="bold")
        screen.line(f"    then  {'not proposed' if then is None else then.describe()}")
        screen.line(f"    now   {reached if now is None else now.describe()}")
    for why in compared.refused:
        screen.line(f"! decided otherwise: {why}", style="bold")
    then, now = compared.ends
    screen.line(f"= {then}" if then == now else f"! then {then}, now {now}", style="" if then == now else "bold")
    if compared.head_differs:
        members = ", ".join(compared.head_differs)
        screen.line(f"the model would be told something else before everything ({members}); its recorded replies were taken")
    if compared.missed:
        screen.line(f"it could not be followed to its end: {compared.missed}")
    same = "decided as it was" if compared.equal else "decided otherwise"
    if not compared.is_comparable:
        same = "cannot compare: it was recorded over a crash, and parts from the replay over what that left"
    screen.line(f"{run}: {same}, {len(compared.calls)} calls", style="bold")


def _document(run: str, compared: Compared) -> dict[str, Json]:
    calls: list[Json] = [
        {
            "call": call,
            "tool": (then or now or Decided()).tool,
            "equal": then is not None and now is not None and then.is_as(now),
            "then": None if then is None else then.document(),
            "now": None if now is None else now.document(),
        }
        for call, (then, now) in compared.calls.items()
    ]
    return {
        "run": run,
        "equal": compared.equal,
        "comparable": compared.is_comparable,
        "calls": calls,
        "end": {"then": compared.ends[0], "now": compared.ends[1]},
        "head_differs": list(compared.head_differs),
        "missed": compared.missed,
        "refused": list(compared.refused),
    }
