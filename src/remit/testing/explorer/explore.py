"""`explore`: plays schedule after schedule of an agent's scenarios, and says which promises held.

Knows who plays, judges and shares the work. Invariant: what it finds follows from the agent, the scenarios, the seed and the
number of schedules, however many processes share the work.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from remit.ambient import monotonic_s
from remit.gate import Runner
from remit.testing.explorer.judge import Explorer, Judged
from remit.testing.explorer.play import WrapLedger
from remit.testing.explorer.report import Exploration, Failure
from remit.testing.explorer.scenario import Scenario
from remit.testing.explorer.schedule import Schedule
from remit.testing.explorer.stage import Subject
from remit.testing.explorer.team import Team

__all__ = ["explore"]

SCHEDULES = 2_000
_SHOWN = 5
"""Failures that are made as short as they can be, and shown: each breaks something in a way that those before it did not."""


def explore(
    agent: Subject,
    *,
    scenarios: Sequence[Scenario] | None = None,
    schedules: int | Sequence[str] = SCHEDULES,
    seed: int = 0,
    live: bool = False,
    deps: Callable[[], object] | None = None,
    reference: str = "",
    jobs: int = 1,
    ledger: WrapLedger | None = None,
    runner: Runner | None = None,
    told: Callable[[int, int], None] | None = None,
) -> Exploration:
    """Play schedule after schedule of an agent or a workflow, with all that is outside replaced, and say which promises held.

    Args:
        agent: the agent, or the workflow, as the application has it.
        scenarios: stories of your own; None takes those that follow from the tools, or from the workflow's input.
        schedules: how many, or the texts of some.
        seed: of ids and mixes: the same seed plays the same schedules.
        live: your own handlers run, in place of a model of the outside world.
        deps: with `live`, makes what handlers find in `ctx.deps`, for each schedule anew.
        reference: how the agent is called where a failure is shown, `MODULE:AGENT`.
        jobs: how many processes share the work.
        ledger: puts something around each process's ledger, to see that its faults are found.
        runner: in the place of what calls handlers, to see that its faults are found.
        told: how many schedules are done, and of how many, as it goes on.

    Raises:
        InputError: a schedule or scenario that there is not, or nothing to explore.
    """
    began_s = monotonic_s()
    explorer = Explorer(
        agent,
        scenarios=scenarios,
        reference=reference,
        live=live,
        deps=deps,
        ledger=ledger,
        runner=runner,
        seed=seed,
    )
    planned = explorer.plan(schedules) if isinstance(schedules, int) else [Schedule.read(one) for one in schedules]
    with Team(explorer.judge, jobs) as team:
        judged = [one for some in team.share(planned, told) for one in some]
    found = _explored(explorer, judged, counted=isinstance(schedules, int))
    return replace(found, seconds=monotonic_s() - began_s)


def _explored(explorer: Explorer, judged: Sequence[Judged], *, counted: bool) -> Exploration:
    failed = [one for one in judged if one.found]
    rows = frozenset(row for one in judged for row in one.rows)
    return Exploration(
        schedules=len(judged),
        seconds=0.0,
        scenarios=explorer.scenarios,
        failures=tuple(_telling(explorer, failed)),
        failed=len(failed),
        taken=rows,
        missed=frozenset(explorer.reachable() - rows) if counted else frozenset(),
        left_out=explorer.left_out,
    )


def _telling(explorer: Explorer, failed: Sequence[Judged]) -> Iterator[Failure]:
    """Those that are worth showing, as short as they can be."""
    known: set[str] = set()
    shown = 0
    for one in failed:
        fresh = one.kinds - known
        if fresh and shown < _SHOWN:
            short = explorer.shortened(one.schedule, fresh)
            known |= one.kinds
            shown += 1
            yield Failure(str(short.schedule), short.found, explorer.seed, explorer.reference)
