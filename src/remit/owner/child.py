"""Children: runs that answer calls of other runs. They begin here, are waited for, and are cancelled with their parents.

Knows runs and their shares; the gate says when a child is wanted. Invariant: a call has one child, whoever begins it; a child
has no scope, no time and no share that its parent does not have.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from dataclasses import replace

from remit import ambient
from remit.errors import Conflict, InputError, NotFound, RunOwned
from remit.gate import ChildEnd, ChildWaits, Plan, Scene
from remit.gate.code import fail
from remit.gate.tree import pending_below
from remit.loop import Transcript, fold
from remit.owner.child_end import end_of
from remit.owner.drive import closed_here, launch
from remit.owner.follow import row_of
from remit.owner.head import first_events
from remit.owner.join import moves_below
from remit.owner.record import end_without_agent, record, take_or_record
from remit.owner.request import Request
from remit.owner.share import narrowed
from remit.owner.state import State
from remit.owner.take import is_due, is_owned
from remit.types.change import Create
from remit.types.delivery import CancelRun
from remit.types.event import RunStarted
from remit.types.ident import CallId, RunId, child_of
from remit.types.label import TRUSTED
from remit.types.part import Text
from remit.types.principal import Principal
from remit.types.run import RunRow
from remit.types.tree import Share

__all__ = ["Children"]

_LOOK_S = 1.0


class Children:
    """The delegate of every gate of an owner."""

    def __init__(self, state: State) -> None:
        self._state = state

    async def start(self, scene: Scene, plan: Plan) -> ChildEnd | ChildWaits:
        """Begin the child, or join it."""
        child = child_of(scene.run, plan.call)
        if await self._state.ledger.run(child) is None:
            try:
                await _begin(self._state, scene, plan, child)
            except (InputError, NotFound) as error:  # of the agent as it is described: no other try would end otherwise
                outcome = fail("tool.not_started", f"({error.code})")
                return ChildEnd(outcome=outcome, label=TRUSTED, detail=error.message)
            except (Conflict, RunOwned):
                pass  # another was first
        return await self.join(scene, plan.call)

    async def join(self, scene: Scene, call: CallId) -> ChildEnd | ChildWaits:
        """Wait for the child; cancel it where the scene's run is cancelled meanwhile."""
        child = child_of(scene.run, call)
        cancelled: asyncio.Future[object] = asyncio.ensure_future(_happens(scene.cancelled))
        try:
            while not scene.cancelled.is_set():
                found = await self._look(scene, child, cancelled)
                if found is not None:
                    return found
        finally:
            cancelled.cancel()
        return await self.stop(scene, call)

    async def stop(self, scene: Scene, call: CallId) -> ChildEnd:
        """Cancel the child, and wait for its end."""
        state, child = self._state, child_of(scene.run, call)
        row = await row_of(state.ledger, child)
        if row.status != "ended":
            said = CancelRun(by=scene.principal.subject, reason=f"run {scene.run}, whose call it answers, is over")
            await state.ledger.post(child, said)
        never: asyncio.Future[object] = asyncio.get_running_loop().create_future()
        while True:
            row = await row_of(state.ledger, child)
            if row.agent in state.agents:
                await record(state, child)
            elif row.status != "ended" and not await is_owned(state, row):
                await end_without_agent(state, child)
            found = await self._look(scene, child, never)
            if isinstance(found, ChildEnd):
                return found

    async def _look(self, scene: Scene, child: RunId, cancelled: asyncio.Future[object]) -> ChildEnd | ChildWaits | None:
        """How it stands, if it stands still; None where something has changed, or may have."""
        state = self._state
        seen = await state.ledger.changed(-1, timeout_s=0)
        live = state.live.get(child)
        if live is not None:
            await asyncio.wait({live.task, cancelled}, return_when=asyncio.FIRST_COMPLETED)
            if not live.task.done():
                return None
            if live.task.cancelled():
                raise closed_here()
            error = live.task.exception()
            if error is not None and not isinstance(error, RunOwned):
                raise error
        row = await row_of(state.ledger, child)
        if row.status == "ended":
            return await end_of(state.ledger, row, fold(await state.ledger.read(child)))
        if await is_owned(state, row):
            await _first(cancelled, state.ledger.changed(seen, timeout_s=_LOOK_S))
        elif await is_due(state, row) and row.agent in state.agents:
            if not await take_or_record(state, row, scene.principal):
                await _first(cancelled, state.ledger.changed(seen, timeout_s=_LOOK_S))
        elif row.status == "paused":
            waits = await _waits(state, row)
            if waits.approvals or not await moves_below(state, child, scene.principal):
                return waits
            await _first(cancelled, state.ledger.changed(seen, timeout_s=_LOOK_S))
        else:
            await _first(cancelled, state.ledger.changed(seen, timeout_s=_LOOK_S))
        return None


async def _happens(event: asyncio.Event) -> object:
    return await event.wait()


async def _first(cancelled: asyncio.Future[object], news: Coroutine[object, object, object]) -> None:
    task = asyncio.ensure_future(news)
    try:
        await asyncio.wait({task, cancelled}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def _waits(state: State, row: RunRow) -> ChildWaits:
    pending = await state.ledger.approvals(run=row.id, state=("pending",), limit=None)
    pending += await pending_below(state.ledger, row.id)
    return ChildWaits(approvals=tuple(one.id for one in pending), expires_ms=row.expires_ms)


async def _begin(state: State, scene: Scene, plan: Plan, child: RunId) -> None:
    """The child's first commit: with its parent's label, at most its parent's rights and what is left of its budgets.

    Raises:
        InputError, NotFound: the agent cannot run this.
        Conflict, RunOwned: the child is there already.
    """
    name: object = getattr(plan.tool.agent, "name", None)
    bound = state.bound(str(name))
    (above,) = await state.ledger.read(scene.run, limit=1)
    parent = above.event
    assert isinstance(parent, RunStarted)
    principal = _lent(scene.principal, plan.tool.lends)
    label = plan.proposal.label
    request = Request(parts=(Text(str(plan.arguments.get("task", "")), label),), scopes=principal.scopes)
    row = _row(scene, child, bound.agent.name)
    first, *rest = first_events(bound, principal, request, row, context=label)
    assert isinstance(first, RunStarted)
    started = replace(
        first,
        parent=scene.run,
        parent_call=plan.call,
        shares=(Share(run=scene.run, budget=parent.budget), *parent.shares),
        budget=await narrowed(state.ledger, first.budget, scene.run, parent),
        conversation_budget=parent.conversation_budget,
        on_wait="hold",  # its answer is said once, so nothing may become known after it
    )
    create = Create(row, request.to_json())
    await launch(
        state,
        child,
        bound,
        principal,
        first=lambda driver: driver.begin((started, *rest), create=create),
        history=Transcript(),
        drains=True,
    )


def _row(scene: Scene, child: RunId, agent: str) -> RunRow:
    now_ms = ambient.now_ms()
    return RunRow(
        id=child,
        root=scene.root,
        agent=agent,
        tenant=scene.principal.tenant,
        subject=scene.principal.subject,
        conversation=None,
        request_id=None,
        request_digest=None,
        status="active",
        parent=scene.run,
        created_ms=now_ms,
        updated_ms=now_ms,
    )


def _lent(principal: Principal, lends: frozenset[str] | None) -> Principal:
    scopes = principal.scopes if lends is None else principal.scopes & lends
    return Principal(principal.subject, principal.tenant, scopes)
