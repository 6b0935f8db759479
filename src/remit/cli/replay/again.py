"""Running a recorded run again: on a ledger in memory, with what came before it, the clock of then and the record's answers.

Knows records and owners. Invariant: nobody outside this process is asked for anything, but by rules and `owns=` of the
agent where its dependencies were given.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from remit import ambient
from remit.approval import may_decide
from remit.cli.replay.record import Earlier, Record
from remit.errors import Denied
from remit.types.approval import Approval, ApprovalState
from remit.types.change import Change, Create, FreeConversation, HoldConversation, MoveOperation, OpenOperation
from remit.types.delivery import Decision
from remit.types.event import ApprovalDecided, CallEnded, Recorded, RunStarted
from remit.types.ident import RunId
from remit.types.label import Label
from remit.types.ledger import Append, Ledger, Stamped
from remit.types.operation import Operation
from remit.types.outcome import NotRun
from remit.types.principal import Principal
from remit.types.run import Paused, RunRow, RunStatus, Standing

if TYPE_CHECKING:
    from remit import Agent, Arguments, Context, Remit, Tool
    from remit.agent import Done
    from remit.model import ReplayModel

__all__ = ["Again", "run_again"]

_DECIDED: tuple[ApprovalState, ...] = ("approved", "denied", "answered", "expired", "consumed")


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


class _Then(ambient.Machine):
    """The clock of the record: it stands where the last reply was asked for, and sleeping takes no time."""

    def __init__(self, model: ReplayModel) -> None:
        self._model = model
        self.at_ms = model.at_ms

    def now_ms(self) -> int:
        self.at_ms = max(self.at_ms, self._model.at_ms)
        return self.at_ms

    def monotonic_s(self) -> float:
        return self.now_ms() / 1000

    async def sleep(self, seconds: float) -> None:
        self.at_ms = self.now_ms() + max(1, round(seconds * 1000))
        await asyncio.sleep(0)


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
    clock = _Then(model)
    with ambient.use(clock), override(model=model, outcomes=record.outcome):
        ledger = MemoryLedger()
        async with Remit(ledger=ledger, agents=[now], deps=deps) as remit:
            await _seed(ledger, record)
            standing = await remit.run_to_end(record.row.id)
            people = _People(remit, ledger, record, clock)
            while isinstance(standing, Paused) and await people.speak(standing):
                standing = await remit.run_to_end(record.row.id)
            events = tuple(await remit.events(record.row.id))
    return Again(standing=standing, events=events, head_differs=model.head_differs, refused=tuple(people.refused))


def _tool(tool: Tool, record: Record, asks_owners: bool) -> Tool:
    """The tool without the functions that would ask the outside world; the same contract."""
    from remit import manual

    def owned(arguments: Arguments, ctx: Context[object]) -> bool:
        del arguments
        return not record.was_owner_denied(ctx.call)

    effect = tool.effect if tool.effect.recovery is None else replace(tool.effect, recovery=manual)
    return replace(tool, effect=effect, owns=tool.owns if asks_owners or tool.owns is None else owned)


def _done(record: Record, agent: Agent) -> Done | None:
    """What `done=` found then, in its order."""
    if agent.done is None:
        return None
    found: Iterator[object] = iter([one.done or one.message or False for one in record.checks()])

    def done(ctx: Context[object]) -> object:
        del ctx
        return next(found, True)

    return done


# what was before


async def _seed(ledger: Ledger, record: Record) -> None:
    """Put what the run could see when it began into the ledger, and the run itself as one that is to start."""
    for one in (*record.others, *record.before):
        await _seed_run(ledger, one, record.started.label)
    row = _fresh(record.row, "queued")
    create = Create(row, record.request)
    await ledger.commit(Append(run=row.id, create=create, changes=record.blobs, status="queued", release=True))


async def _seed_run(ledger: Ledger, earlier: Earlier, context: Label) -> None:
    row = _fresh(earlier.row, "active")
    append = Append(
        run=row.id,
        events=tuple(Stamped(one.at_ms, one.event) for one in earlier.events),
        create=Create(row, "{}"),
        changes=(*_held(earlier, context), *(change for one in earlier.operations for change in _opened(one))),
        status="ended",
        release=True,
    )
    await ledger.commit(append)


def _fresh(row: RunRow, status: RunStatus) -> RunRow:
    return replace(row, status=status, owner=None, epoch=0, sequence=0, head="", expires_ms=None)


def _held(earlier: Earlier, context: Label) -> tuple[Change, ...]:
    """The conversation as that run left it."""
    row = earlier.row
    first = earlier.events[0].event if earlier.events else None
    if row.conversation is None or not isinstance(first, RunStarted):
        return ()
    hold = HoldConversation(row.conversation, row.tenant, row.subject, row.agent, first.after or RunId(""))
    return (hold, FreeConversation(row.conversation, context))


def _opened(row: Operation) -> tuple[Change, ...]:
    """An operation that holds its key, by the moves that lead there."""
    plain = replace(row, state="dispatched", closed=None, owner=None, approval=None, outcome=None, settled_by=None, evidence=())
    opened = OpenOperation(replace(plain, attempt=max(1, row.attempt)))
    if row.state == "dispatched":
        return (opened,)
    on = "returned" if row.state == "succeeded" else "in_doubt"
    moved = MoveOperation(
        operation=row.id, on=on, state="dispatched", attempt=max(1, row.attempt), outcome=row.outcome, settled_by=row.settled_by
    )
    return (opened, moved)


# what people said


@dataclass(slots=True)
class _People:
    """Those who decided then, each time with the same words."""

    remit: Remit
    ledger: Ledger
    record: Record
    clock: _Then
    refused: list[str] = field(default_factory=list[str])

    async def speak(self, standing: Paused) -> bool:
        """Say about what waits what was said then; whether there was anything to say."""
        said = [await self._about(row) for row in (*standing.approvals, *standing.questions)]
        cancelled = self.record.cancelled()
        if not any(said) and not self.refused and cancelled is not None:
            await self.remit.cancel(self.record.row.id, by=cancelled.by, reason=cancelled.reason)
            return True
        return any(said)

    async def _about(self, row: Approval) -> bool:
        rows = await self.ledger.approvals(run=row.run, call=row.call, state=_DECIDED, limit=None)
        decisions = self.record.decisions(row.call)[len(rows) :]
        if decisions:
            return await self._decide(row, *decisions[0])
        if row.operation is None or not _withdrawn(self.record, row):
            return False
        await self.remit.withdraw(row.operation, by=self.record.row.subject)
        return True

    async def _decide(self, row: Approval, at_ms: int, decided: ApprovalDecided) -> bool:
        expired = decided.verdict == "expired"
        person = Principal(decided.by, row.tenant, frozenset(row.scope.split()))
        self.clock.at_ms = max(self.clock.now_ms(), at_ms, (row.expires_ms or 0) if expired else 0)
        if not expired:
            try:
                may_decide(row, person)
            except Denied as error:
                self.refused.append(f"{row.call}: {error.message}")
                return False
        was = next((one for one in self.record.approvals if one.id == decided.approval), None)
        decision = Decision(
            approval=row.id,
            verdict="denied" if decided.verdict in ("expired", "void") else decided.verdict,
            by=decided.by,
            reason=decided.reason,
            edited=None if was is None or decided.verdict != "approved" else was.edited,
            answer=decided.answer,
        )
        await self.ledger.decide(decision)
        return True


def _withdrawn(record: Record, row: Approval) -> bool:
    ends = (one.event for one in record.events if isinstance(one.event, CallEnded))
    return any(end.call == row.call and isinstance(end.outcome, NotRun) and end.outcome.code == "withdrawn" for end in ends)
