"""Workflows as runs: asked for, made or joined, and taken up.

Knows request ids and first events; not how a function is driven. Invariant: one request id of a principal and
workflow is one run, and a run read back from the ledger has the input that it began with.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import cast

from remit import ambient
from remit.canonical import digest
from remit.errors import Conflict, InputError, NotFound
from remit.owner.drive import start
from remit.owner.flow import FlowDriver
from remit.owner.principal import recorded_principal, scopes_of_now
from remit.owner.state import BoundFlow, State, need_principal
from remit.tool import Arguments
from remit.types.change import Create
from remit.types.event import Recorded, Resumed, RunStarted
from remit.types.given import given_id
from remit.types.ident import Digest, RunId
from remit.types.label import TRUSTED
from remit.types.principal import Principal
from remit.types.run import RunRow

__all__ = ["PROTOCOL", "ask_workflow", "is_workflow", "needs_workflow", "take_up_workflow"]

PROTOCOL = "workflow"
"""What the first event of a workflow's run names as its protocol: no model is asked in it."""


def needs_workflow(state: State, row: RunRow) -> bool:
    """Whether the run goes on with a workflow that this owner has."""
    return row.host and row.agent in state.workflows


def is_workflow(recorded: list[Recorded]) -> bool:
    """Whether these are the events of a workflow's run."""
    first = recorded[0].event if recorded else None
    return isinstance(first, RunStarted) and first.protocol == PROTOCOL


async def ask_workflow(
    state: State, name: str, asked: object, principal: Principal, *, request_id: str | None, new: RunId | None = None
) -> RunId:
    """The run for this input: a new one, or the one that its request id names already.

    Raises:
        Conflict: the id names another input (`request.conflict`).
        InputError: `workflow.input`: it does not fit the function's parameters.
    """
    bound = state.bound_flow(name)
    given = bound.workflow.input(asked)
    principal = need_principal(principal)
    asked_as = digest("remit.workflow.input", given.text)
    if request_id is None:
        return await _begin(state, bound, principal, given, new=new)
    given_id(request_id, "request_id=", "give your own id of this request, or leave it out")
    row = await _earlier(state, principal, name, request_id)
    if row is None:
        try:
            return await _begin(state, bound, principal, given, new=new, request_id=request_id, request_digest=asked_as)
        except Conflict as error:
            row = await _earlier(state, principal, name, request_id)
            if error.code != "request.exists" or row is None:
                raise
    if not await state.ledger.matches(row.request_digest, asked_as):
        message = "this request id was used for another input; a new request needs a new id"
        raise Conflict(message, code="request.conflict", run=row.id)
    return row.id


async def _earlier(state: State, principal: Principal, name: str, request_id: str) -> RunRow | None:
    return await state.ledger.find_request(
        tenant=principal.tenant, subject=principal.subject, agent=name, request_id=request_id
    )


async def _begin(
    state: State,
    bound: BoundFlow,
    principal: Principal,
    given: Arguments,
    *,
    new: RunId | None,
    request_id: str | None = None,
    request_digest: Digest | None = None,
) -> RunId:
    """Make a run, and drive it from now on."""
    now, run = ambient.now_ms(), new or RunId(ambient.new_id("run"))
    row = RunRow(
        id=run,
        root=run,
        agent=bound.workflow.name,
        tenant=principal.tenant,
        subject=principal.subject,
        conversation=None,
        request_id=request_id,
        request_digest=request_digest,
        status="active",
        host=True,
        created_ms=now,
        updated_ms=now,
    )
    driver = FlowDriver(state, bound, run, principal, given.text)
    started = _named(driver.first, request_id, request_digest)
    create = Create(row, json.dumps({"input": given.text}))
    await start(state, run, driver, lambda: driver.begin(started, create))
    return run


def _named(started: RunStarted, request_id: str | None, request_digest: Digest | None) -> RunStarted:
    return replace(started, protocol=PROTOCOL, label=TRUSTED, request_id=request_id, request_digest=request_digest)


async def take_up_workflow(state: State, row: RunRow, caller: Principal | None) -> None:
    """Go on with a run of a workflow that is here; its task is in `live` when this returns.

    Raises:
        RunOwned: another was faster.
        NotFound: the caller is not its principal, or another loop's run has the name of a workflow.
        Denied: its principal may not act any more.
    """
    bound = state.bound_flow(row.agent)
    recorded = await state.ledger.read(row.id)
    if not is_workflow(recorded):
        raise NotFound(f"run {row.id} is another loop's; it goes on with that loop's next call", code="run.host", run=row.id)
    principal, source = await scopes_of_now(state, recorded_principal(recorded), caller)
    resumed = Resumed(
        owner=state.ledger.owner,
        scopes=tuple(sorted(principal.scopes)),
        scopes_from=source,
        agent_digest=bound.workflow.digest,
    )
    driver = FlowDriver(state, bound, row.id, principal, await _input(state, row.id))
    await start(state, row.id, driver, lambda: driver.take_up(row, recorded, resumed))


async def _input(state: State, run: RunId) -> str:
    try:
        return str(cast("dict[str, object]", json.loads(await state.ledger.request(run)))["input"])
    except (ValueError, KeyError, TypeError) as error:
        raise InputError("the run's input cannot be read", code="workflow.input", run=run) from error
