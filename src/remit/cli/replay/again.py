"""Running a recorded run again: on a ledger in memory, with what came before it, the clock of then and the record's answers.

Knows records and owners. Invariant: nobody outside this process is asked for anything, but by rules and `owns=` of the
agent where its dependencies were given.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from remit import ambient
from remit.cli.replay.clock import Then
from remit.cli.replay.people import People
from remit.cli.replay.record import Record
from remit.cli.replay.seed import seed
from remit.types.event import Recorded
from remit.types.run import Paused, Standing

if TYPE_CHECKING:
    from remit import Agent, Arguments, Context, Tool
    from remit.agent import Done

__all__ = ["Again", "run_again"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Again:
    """How the run went this time.

    Args:
        head_differs: members of the request's head that are not as recorded.
        refused: what today's rules did not let people decide, as they had.
    """

    standing: Standing
    events: tuple[Recorded, ...]
    head_differs: tuple[str, ...] = ()
    refused: tuple[str, ...] = ()


async def run_again(record: Record, agent: Agent, *, deps: object = None, asks_owners: bool = False) -> Again:
    """Run it with the agent of now until it ends, or waits for what nobody decided.

    Args:
        deps: what `owns=` finds in `ctx.deps`.
        asks_owners: `owns=` is asked; else it is answered as it was then, without its facts.
    """
    from remit import MemoryLedger, Remit
    from remit.model import ReplayModel
    from remit.owner import override

    history = [event for one in record.before for event in one.events]
    model = ReplayModel(record.events, history=history, same_head=False)
    now = replace(agent, done=_done(record, agent), tools=[_tool(one, record, asks_owners) for one in agent.tools])
    clock = Then(record.events[0].at_ms, model.served)
    with ambient.use(clock), override(model=model, outcomes=record.outcome, labels=record.label):
        ledger = MemoryLedger()
        async with Remit(ledger=ledger, agents=[now], deps=deps) as remit:
            await seed(ledger, record)
            standing = await remit.run_to_end(record.row.id)
            people = People(remit, ledger, record, clock)
            while isinstance(standing, Paused) and await people.speak(standing):
                standing = await remit.run_to_end(record.row.id)
            events = tuple(await remit.events(record.row.id))
    head_differs = tuple(sorted({name for one in model.served for name in one.head_differs}))
    return Again(standing=standing, events=events, head_differs=head_differs, refused=tuple(people.refused))


def _tool(tool: Tool, record: Record, asks_owners: bool) -> Tool:
    """The tool without the function that would ask the outside world who owns what; the same contract."""

    def owned(arguments: Arguments, ctx: Context[object]) -> bool:
        del arguments
        return not record.was_owner_denied(ctx.call)

    return replace(tool, owns=tool.owns if asks_owners or tool.owns is None else owned)


def _done(record: Record, agent: Agent) -> Done | None:
    """What `done=` found then, in its order."""
    if agent.done is None:
        return None
    found: Iterator[object] = iter([one.done or one.message or False for one in record.checks()])

    def done(ctx: Context[object]) -> object:
        del ctx
        return next(found, True)

    return done
