"""Journaling what people said to runs that nobody drives, where no agent is at hand or none is needed.

Knows claims, journals and the gate's `deliver`. It starts nothing. Invariant: a run is claimed for as
long as its inbox takes, and then left to whoever may drive it.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress

from remit.errors import Conflict, InputError, RunOwned
from remit.gate import Gate, Scene
from remit.ledger import Journal
from remit.loop import Driver, RunSpec
from remit.model import ScriptedModel
from remit.owner.follow import row_of
from remit.owner.head import started
from remit.owner.principal import recorded_principal
from remit.owner.request import Request
from remit.owner.state import State
from remit.owner.take import is_owned, protocol_of, try_take_up
from remit.owner.undo import Back
from remit.owner.workflow import is_workflow, needs_workflow
from remit.types.delivery import CancelRun, ChildEnded, Decision, Delivered, Withdrawal
from remit.types.event import CancelRequested, Event, Recorded, Resumed, RunEnded, RunStarted
from remit.types.ident import RunId
from remit.types.label import TRUSTED
from remit.types.principal import Principal
from remit.types.run import RunRow

__all__ = ["end_without_agent", "record", "take_or_record"]

_UNFIT = ("model.protocol", "model.key")
_NEVER = ("conversation.protocol", "conversation.messages")
"""What keeps a message from ever starting in its conversation."""


_ACTED_ON = (Decision, CancelRun, ChildEnded)
"""What waits for whoever can act on it."""


async def record(state: State, run: RunId) -> None:
    """Have a run's inbox journaled now, if no living process owns it; else its owner does."""
    row = await row_of(state.ledger, run)
    if await is_owned(state, row) or not await state.ledger.inbox(run):
        return
    try:
        here = needs_workflow(state, row) if row.host else row.status == "ended" or row.agent in state.agents
        if here and row.status != "queued" and not (row.host and row.status == "ended"):
            await _take_up(state, row)
            return
        await _record(state, run)
    except (RunOwned, Conflict):
        return


async def take_or_record(state: State, row: RunRow, caller: Principal | None = None) -> bool:
    """`try_take_up`. Where the agent's model cannot go on with the run, what people said is journaled all the same, and
    a cancel ends it. A message that no longer fits the conversation that it waited for is ended.

    Raises:
        InputError: `model.protocol` or `model.key`: the run is where it was.
    """
    try:
        return await try_take_up(state, row, caller)
    except InputError as error:
        if error.code in _NEVER and row.status == "queued":
            return await _cannot_start(state, row, error.code)
        if error.code not in _UNFIT:
            raise
        await _record(state, row.id)
        if (await row_of(state.ledger, row.id)).status == "ended":
            return True
        raise


async def end_without_agent(state: State, run: RunId) -> None:
    """Bring a cancelled run, that nobody drives and whose agent is not here, to its end. Whoever asks is ending its parent."""
    with suppress(RunOwned, Conflict):
        await _record_here(state, await row_of(state.ledger, run))


async def _take_up(state: State, row: RunRow) -> None:
    try:
        await take_or_record(state, row)
    except InputError as error:
        if error.code not in _UNFIT:
            raise


async def _record(state: State, run: RunId) -> None:
    async with state.recording:
        await _record_here(state, await row_of(state.ledger, run))


async def _record_here(state: State, row: RunRow) -> None:
    cancelled = [one for one in await state.ledger.inbox(row.id) if isinstance(one.delivery, CancelRun)]
    if row.host and cancelled and row.status != "ended":
        recorded = await state.ledger.read(row.id)
        if is_workflow(recorded):
            await _end_workflow(state, row, recorded)
        else:
            await state.gate_of(row.agent).close(row.id)
    elif row.host:
        await _deliver(state, row)
    elif row.status == "queued":
        if cancelled and row.agent in state.agents:
            await _never_start(state, row, cancelled[0])
    elif cancelled or await _was_cancelled(state, row):
        await _end(state, row)
    else:
        await _deliver(state, row)


async def _end_workflow(state: State, row: RunRow, recorded: list[Recorded]) -> None:
    """End a cancelled workflow, whose function is not needed for that."""
    principal = recorded_principal(recorded)
    held = state.gate_of(row.agent).hold(row.id, principal, on_event=lambda _: None)
    scopes = tuple(sorted(principal.scopes))
    await held.take_up(row, recorded, Resumed(owner=state.ledger.owner, scopes=scopes, scopes_from="recorded"))
    await held.end(await Back(held, lambda: TRUSTED).cancelled())


async def _was_cancelled(state: State, row: RunRow) -> bool:
    """Whether a former owner journaled a cancel and did not come to the end."""
    return any(isinstance(one.event, CancelRequested) for one in await state.ledger.read(row.id))


async def _never_start(state: State, row: RunRow, cancelled: Delivered) -> None:
    """End a run that waited behind its conversation, because somebody cancelled it."""
    delivery = cancelled.delivery
    assert isinstance(delivery, CancelRun)
    said = CancelRequested(by=delivery.by, reason=delivery.reason)
    await _end_queued(state, row, said, RunEnded(how="cancelled", reason="cancelled"), taken=(cancelled.id,))


async def _cannot_start(state: State, row: RunRow, reason: str) -> bool:
    """End a run that waited behind its conversation, and cannot go on from where that is now. False: another was faster."""
    try:
        await _end_queued(state, row, RunEnded(how="escalated", reason=reason))
    except (RunOwned, Conflict):
        return False
    state.nudge()  # the next in the queue
    return True


async def _end_queued(state: State, row: RunRow, *events: Event, taken: tuple[int, ...] = ()) -> None:
    """Nothing of a run that never started enters its conversation."""
    request = await Request.from_json(await state.ledger.request(row.id), state.ledger)
    principal = Principal(row.subject, row.tenant, request.scopes)
    first = started(state.bound(row.agent), principal, row, request.label)
    journal = Journal(state.ledger, row.id, lambda _: None, epoch=row.epoch, sequence=row.sequence)
    await journal.commit(first, *events, taken=taken, claim=True, status="ended", release=True)


async def _end(state: State, row: RunRow) -> None:
    """Drive a cancelled run to its end without a model: nothing of it starts any more."""
    recorded = await state.ledger.read(row.id)
    principal = recorded_principal(recorded)
    spec = RunSpec(model=ScriptedModel([], protocol=protocol_of(recorded)))
    gate = state.bound(row.agent).gate if row.agent in state.agents else state.bare_gate()
    driver = Driver(spec, gate, state.ledger, run=row.id, principal=principal)
    scopes = tuple(sorted(principal.scopes))
    await driver.take_up(row, recorded, Resumed(owner=state.ledger.owner, scopes=scopes, scopes_from="recorded"))
    await driver.drive()


async def _deliver(state: State, row: RunRow) -> None:
    """Journal settlements, withdrawals and reports; decisions wait for whoever can act on them, unless the run has ended."""
    if row.status != "ended" and all(isinstance(one.delivery, _ACTED_ON) for one in await state.ledger.inbox(row.id)):
        return
    recorded = await state.ledger.read(row.id)
    journal = Journal(
        state.ledger,
        row.id,
        lambda _: None,
        epoch=row.epoch,
        sequence=row.sequence,
        last_ms=recorded[-1].at_ms if recorded else 0,
    )
    gate = state.gate_of(row.agent)
    scene = _scene(row, recorded, journal)
    await journal.commit(claim=True)
    status = row.status
    try:
        if (
            await _deliver_all(gate, state, scene, ended=status == "ended")
            and status == "paused"
            and (not row.host or is_workflow(recorded))
        ):
            status = "active"
    finally:
        await journal.commit(status=status, release=True, expires_ms=row.expires_ms)


async def _deliver_all(gate: Gate, state: State, scene: Scene, *, ended: bool) -> bool:
    """Whether something was withdrawn, so that the run may go on: whoever has its agent takes it up then."""
    withdrawn = False
    for one in await state.ledger.inbox(scene.run):
        if not isinstance(one.delivery, _ACTED_ON):
            await gate.deliver(one, scene)
            withdrawn = withdrawn or isinstance(one.delivery, Withdrawal)
        elif ended:  # nobody will: it came when the run was just ending
            scene.journal.note(*_said(one.delivery), taken=(one.id,))
    return withdrawn


def _said(delivery: object) -> tuple[Event, ...]:
    return (CancelRequested(by=delivery.by, reason=delivery.reason),) if isinstance(delivery, CancelRun) else ()


def _scene(row: RunRow, recorded: list[Recorded], journal: Journal) -> Scene:
    first = recorded[0].event if recorded else None
    tools = first.tools if isinstance(first, RunStarted) else ()
    cancelled = asyncio.Event()
    cancelled.set()
    return Scene(
        run=row.id,
        root=row.root,
        agent=row.agent,
        conversation=row.conversation,
        principal=recorded_principal(recorded),
        journal=journal,
        recorded={tool.name: tool.contract for tool in tools},
        admit=lambda _tool, _digest: None,
        may_ask=lambda: None,
        cancelled=cancelled,
    )
