"""`remit explore`: the runs of an agent or workflow with every kind of trouble, and whether what is promised held."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Generator, Sequence
from typing import TYPE_CHECKING, Annotated, cast

import typer

from remit.cli import load
from remit.cli.exit import BROKEN
from remit.cli.option import JsonOption, QuietOption
from remit.cli.screen import Screen
from remit.cli.work import do_here
from remit.errors import InputError
from remit.types.ident import Json

if TYPE_CHECKING:
    from rich.progress import TaskID

    from remit.testing import Exploration, Scenario

__all__ = ["explore"]

_SCHEDULES = 2_000


Schedules = Annotated[int, typer.Option("--schedules", "-n", metavar="N", min=1, help="How many are played.")]
Seed = Annotated[int, typer.Option("--seed", metavar="N", min=0, help="Of ids and mixes; the same plays the same.")]
One = Annotated[list[str] | None, typer.Option("--schedule", metavar="TEXT", help="Play this one alone; may be repeated.")]
Own = Annotated[str | None, typer.Option("--scenarios", metavar="MODULE:NAME", help="Your own scenarios: a list of Scenario.")]
Live = Annotated[bool, typer.Option("--live", help="Your own handlers run, in place of a model of the world.")]
Deps = Annotated[
    str | None, typer.Option("--deps", metavar="MODULE:NAME", help="With --live: ctx.deps, made anew for each schedule.")
]
Jobs = Annotated[
    int | None, typer.Option("--jobs", metavar="N", min=1, help="Processes that share the work; default: one per CPU.")
]


def explore(
    agent: Annotated[str, typer.Argument(metavar="MODULE:AGENT", help="The agent or workflow, or a function that makes it.")],
    *,
    schedules: Schedules = _SCHEDULES,
    seed: Seed = 0,
    schedule: One = None,
    scenarios: Own = None,
    live: Live = False,
    deps: Deps = None,
    jobs: Jobs = None,
    quiet: QuietOption = False,
    as_json: JsonOption = False,
) -> None:
    """Play the runs of an agent or workflow over and over, with another trouble each time, and check what is promised.

    Handlers are replaced by a model of the outside world that keeps books, the model by a script, time by a number: nothing
    outside of this process is asked. Processes die before and after every write and at every step, requests, proposals and
    decisions come twice, replies and answers are lost, clocks jump. A schedule in which a promise is broken is shown as a
    script (exit code 17).

    \b
    Examples:
      remit explore shop:support
      remit explore shop:support -n 10000 --seed 7
      remit explore shop:support --schedule 'issue_refund: crash@w3+ crash@+2'
      remit explore shop:support --scenarios test_shop:stories --json
    """
    screen = Screen(as_json=as_json)

    def job() -> int:
        from remit.testing import explore as play

        subject = load.made(agent)
        screen.hide(subject.secrets)
        with _bar(screen, shown=not quiet) as told:
            found = play(
                subject,
                scenarios=_scenarios(scenarios),
                schedules=schedule or schedules,
                seed=seed,
                live=live,
                deps=load.maker(deps),
                reference=agent,
                jobs=1 if schedule else jobs or os.cpu_count() or 1,
                told=told,
            )
        return _tell(screen, found)

    do_here(screen, job)


def _scenarios(reference: str | None) -> Sequence[Scenario] | None:
    if reference is None:
        return None
    from remit.testing import Scenario

    named = load.named(reference)
    listed = [named] if isinstance(named, Scenario) else named
    if not isinstance(listed, list | tuple) or not all(isinstance(one, Scenario) for one in cast("list[object]", listed)):
        raise InputError(f"{reference} is no list of Scenario", code="explore.scenario")
    return cast("Sequence[Scenario]", listed)


def _document(found: Exploration) -> Json:
    failures: list[Json] = [{"schedule": one.schedule, "found": [*one.found], "script": one.script} for one in found.failures]
    return {
        "holds": found.holds,
        "schedules": found.schedules,
        "seconds": round(found.seconds, 3),
        "scenarios": [*found.scenarios],
        "rows_taken": [*found.rows_taken],
        "rows_missed": [*found.rows_missed],
        "failed": found.failed,
        "failures": failures,
        "left_out": [*found.left_out],
    }


def _tell(screen: Screen, found: Exploration) -> int:
    if screen.as_json:
        screen.document(_document(found))
    else:
        screen.line(str(found))
    return 0 if found.holds else BROKEN


@contextlib.contextmanager
def _bar(screen: Screen, *, shown: bool) -> Generator[Callable[[int, int], None]]:
    """A progress bar for a person who looks on; it is begun with the first news, when all processes are there."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("exploring"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    progress = Progress(*columns, console=screen.err, transient=True, disable=not (shown and screen.is_live))
    tasks: list[TaskID] = []

    def told(done: int, count: int) -> None:
        if not tasks:
            progress.start()
            tasks.append(progress.add_task("exploring", total=count))
        progress.update(tasks[0], completed=done)

    try:
        yield told
    finally:
        progress.stop()
