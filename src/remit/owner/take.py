"""Taking runs up: those of dead processes, those that were decided or expired, those that were queued.

Knows how a row says that something may be done. It does not know what is done then. Invariant: a run
is taken up by a claim that the ledger checks, so of all who try exactly one goes on.
"""

from __future__ import annotations

from remit import ambient
from remit.errors import Conflict, LedgerError, RunOwned
from remit.loop import Driver, RunSpec, Transcript
from remit.loop.driver import need_protocol
from remit.model import ScriptedModel
from remit.owner.drive import launch
from remit.owner.principal import recorded_principal, scopes_of_now, within_parents
from remit.owner.standing import standing_of_row
from remit.owner.start import start_queued
from remit.owner.state import State
from remit.owner.workflow import needs_workflow, take_up_workflow
from remit.types.event import Recorded, Resumed, RunStarted
from remit.types.model import ProtocolName
from remit.types.principal import Principal
from remit.types.run import RunRow

__all__ = ["is_due", "is_owned", "protocol_of", "standing_of_row", "take_up", "try_take_up"]


async def is_owned(state: State, row: RunRow) -> bool:
    """Whether a living process drives the run now, this one included."""
    if row.id in state.live:
        return True
    if row.status != "active" or row.owner is None:
        return False
    if row.owner == state.ledger.owner:
        return row.host and not needs_workflow(state, row)
    return await state.ledger.alive(row.owner)


async def is_due(state: State, row: RunRow) -> bool:
    """Whether there is something to do for a run that nobody drives."""
    if row.host and (row.status == "ended" or not needs_workflow(state, row)):
        return False
    if row.status == "active":
        return True
    if row.status == "queued":
        return await _may_start(state, row)
    if await state.ledger.inbox(row.id):
        return True
    return row.status == "paused" and row.expires_ms is not None and row.expires_ms <= max(ambient.now_ms(), row.updated_ms)


async def take_up(state: State, row: RunRow, caller: Principal | None = None) -> None:
    """Go on with a run; its task is in `live` when this returns, unless only its inbox was to be journaled.

    Raises:
        RunOwned: another was faster.
        NotFound: no such agent here, or the caller is not its principal.
        Denied: its principal may not act any more.
        InputError: `model.protocol`: the agent's model now speaks another protocol than the run.
        LedgerError: its record was altered (`ledger.altered`); nothing of it runs.
    """
    await _unaltered(state, row)
    if row.status == "ended":
        await _journal_only(state, row)
        return
    if needs_workflow(state, row):
        await take_up_workflow(state, row, caller)
        return
    bound = state.bound(row.agent)
    if row.status == "queued":
        await start_queued(state, bound, row)
        return
    recorded = await state.ledger.read(row.id)
    need_protocol(row.id, protocol_of(recorded), bound.model)
    principal, source = await scopes_of_now(state, recorded_principal(recorded), caller)
    principal = await within_parents(state.ledger, recorded, principal, source)
    resumed = Resumed(
        owner=state.ledger.owner,
        scopes=tuple(sorted(principal.scopes)),
        scopes_from=source,
        agent_digest=bound.agent.digest,
    )

    async def claim(driver: Driver) -> None:
        await driver.take_up(row, recorded, resumed)

    said = [] if row.conversation is None else await state.ledger.transcript(row.conversation, tenant=row.tenant)
    history = Transcript(one for one in said if one.run != row.id)
    await launch(state, row.id, bound, principal, first=claim, history=history)


async def _unaltered(state: State, row: RunRow) -> None:
    """What was approved, and what is about to run, is read back from the ledger: it must be what was written."""
    faults = await state.ledger.verify(row.id)
    if faults:
        message = f"run {row.id} does not match its record and is left alone ({faults[0]}); see `remit audit verify {row.id}`"
        raise LedgerError(message, code="ledger.altered", retryable=False, run=row.id)


async def try_take_up(state: State, row: RunRow, caller: Principal | None = None) -> bool:
    """`take_up`, and False where another was faster."""
    try:
        await take_up(state, row, caller)
    except (RunOwned, Conflict):
        return False
    return True


async def _journal_only(state: State, row: RunRow) -> None:
    """Claim an ended run, journal what its inbox holds, and release it; needs no agent."""
    async with state.recording:
        if not await state.ledger.inbox(row.id):
            return
        row = await state.ledger.run(row.id) or row
        recorded = await state.ledger.read(row.id)
        gate = state.bound(row.agent).gate if row.agent in state.agents else state.bare_gate()
        spec = RunSpec(model=ScriptedModel([], protocol=protocol_of(recorded)))
        driver = Driver(spec, gate, state.ledger, run=row.id, principal=recorded_principal(recorded))
        await driver.take_up(row, recorded, Resumed(owner=state.ledger.owner, scopes=(), scopes_from="recorded"))


async def _may_start(state: State, row: RunRow) -> bool:
    """Whether a queued run is the next one, and its conversation is free."""
    if row.conversation is None:
        return True
    conversation = await state.ledger.conversation(row.conversation, tenant=row.tenant)
    if conversation is not None and conversation.holder is not None:
        return False
    first = await state.ledger.runs(tenant=row.tenant, conversation=row.conversation, status=("queued",), limit=1)
    return bool(first) and first[0].id == row.id


def protocol_of(recorded: list[Recorded]) -> ProtocolName:
    """The protocol that a run speaks, by its first event."""
    first = recorded[0].event if recorded else None
    if isinstance(first, RunStarted) and first.protocol in ("openai-chat", "openai-responses"):
        return "openai-chat" if first.protocol == "openai-chat" else "openai-responses"
    return "anthropic"
