"""What an application asks for, made into a run or joined to one that exists.

Knows request ids. It does not know how runs start. Invariant: one request id of a principal and agent
is one run, whoever asks, how often, and in how many processes at once.
"""

from __future__ import annotations

from remit.agent import Agent, Conversation
from remit.errors import Conflict, InputError, NotFound
from remit.owner.request import Asked, Request, parts_of
from remit.owner.start import open_run
from remit.owner.state import State, need_principal
from remit.owner.workflow import ask_workflow
from remit.types.given import given_id
from remit.types.ident import ConversationId, RunId
from remit.types.label import UNTRUSTED
from remit.types.principal import Principal
from remit.types.run import RunRow
from remit.workflow import Workflow

__all__ = ["ask", "name_of"]


async def ask(
    state: State,
    agent: str | Agent | Workflow,
    asked: Asked,
    principal: Principal,
    *,
    conversation: str | Conversation | None,
    request_id: str | None,
    new: RunId | None = None,
) -> RunId:
    """The run for this request: a new one, or the one that its id names already.

    Args:
        new: the id of a new one; None: any.

    Raises:
        Conflict: the id names another request (`request.conflict`).
        InputError, NotFound, Denied: as `Remit.run` says.
    """
    named = name_of(state, agent)
    if named in state.workflows:
        if conversation is not None:
            raise InputError("a workflow has no conversation; leave conversation= out", code="workflow.conversation")
        return await ask_workflow(state, named, asked, principal, request_id=request_id, new=new)
    bound = state.bound(named)
    principal = need_principal(principal)
    if request_id is not None:
        given_id(request_id, "request_id=", "give your own id of this request, or leave it out")
    request = _request(asked, principal, conversation)
    if request_id is not None:
        row = await _earlier(state, principal, bound.agent.name, request_id)
        if row is not None:
            return await _same(state, row, request)
    try:
        return await open_run(state, bound, principal, request, request_id=request_id, new=new)
    except Conflict as error:
        if error.code != "request.exists" or request_id is None:
            raise
        row = await _earlier(state, principal, bound.agent.name, request_id)
        if row is None:
            raise
        return await _same(state, row, request)


def _request(asked: Asked, principal: Principal, conversation: str | Conversation | None) -> Request:
    chain = conversation if isinstance(conversation, Conversation) else None
    if conversation is not None:
        name = conversation if chain is None else chain.id
        name = given_id(name, "conversation=", "give its id or a Conversation, or leave it out")
        chain = chain or Conversation(ConversationId(name))
    return Request(
        parts=parts_of(asked),
        scopes=principal.scopes,
        conversation=None if chain is None else chain.id,
        imported=() if chain is None else chain.messages,
        imported_label=UNTRUSTED if chain is None else chain.label,
    )


def name_of(state: State, agent: str | Agent | Workflow) -> str:
    """The name of an agent or workflow that this owner has.

    Raises:
        NotFound: an `Agent` was passed that is not in `agents=`, or a `Workflow` that is not in `workflows=`.
    """
    if isinstance(agent, str):
        return agent
    if isinstance(agent, Workflow):
        if state.workflows.get(agent.name) is not agent:
            message = f"this workflow {agent.name!r} is not in Remit(workflows=[...]); add it there"
            raise NotFound(message, code="agent.unknown", agent=agent.name)
        return agent.name
    if not isinstance(agent, Agent):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise InputError("agent= is an agent's name, or the Agent itself", code="input.agent")
    if state.agents.get(agent.name) is not agent:
        message = f"this agent {agent.name!r} is not in Remit(agents=[...]); add it there"
        raise NotFound(message, code="agent.unknown", agent=agent.name)
    return agent.name


async def _earlier(state: State, principal: Principal, agent: str, request_id: str) -> RunRow | None:
    return await state.ledger.find_request(
        tenant=principal.tenant, subject=principal.subject, agent=agent, request_id=request_id
    )


async def _same(state: State, row: RunRow, request: Request) -> RunId:
    if not await state.ledger.matches(row.request_digest, request.digest()):
        raise Conflict(
            "this request id was used for another request; a new request needs a new id",
            code="request.conflict",
            run=row.id,
        )
    return row.id
