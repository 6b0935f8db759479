"""The first events of a run: what it is given for good, and the words that it starts from.

Knows agents, wires and the shape of `RunStarted`. It commits nothing. Invariant: everything that a
resumed run needs of its agent is recorded here, verbatim.
"""

from __future__ import annotations

from remit.budget import budget_to_json
from remit.canonical import encode
from remit.owner.request import Request
from remit.owner.state import Bound
from remit.types.event import AgentChanged, Event, MessageAppended, RunStarted, ToolRecorded
from remit.types.ident import Digest, RunId, Wording
from remit.types.label import TRUSTED, Label
from remit.types.model import HeadSpec
from remit.types.principal import Principal
from remit.types.run import RunRow

__all__ = ["first_events", "started"]


def first_events(
    bound: Bound,
    principal: Principal,
    request: Request,
    row: RunRow,
    *,
    context: Label = TRUSTED,
    before: RunStarted | None = None,
    after: RunId | None = None,
    waits: bool = False,
) -> tuple[Event, ...]:
    """The events that begin the run of `row`.

    Args:
        context: the label that the conversation has now.
        before, after: how the conversation's last run was started, and its id.
        waits: the conversation's last reply waits for a request that adds no words to it.

    Raises:
        InputError, ProtocolError: the request or the imported history does not fit the agent or its provider.
    """
    events: list[Event] = [started(bound, principal, row, context.join(request.label), after=after, waits=waits)]
    if before is not None and before.agent_digest != bound.agent.digest:
        events.append(AgentChanged(was=before.agent_digest, now=bound.agent.digest))
    wire = bound.model.wire
    if request.imported:
        events += [
            MessageAppended(wording=wording, source="imported", label=request.imported_label)
            for wording in wire.load(request.imported)
        ]
    label = TRUSTED
    for part in request.parts:
        label = label.join(part.label)
    blobs = tuple(blob.digest for blob in request.blobs())
    events.append(MessageAppended(wording=wire.user(request.parts), source="user", label=label, blobs=blobs))
    return tuple(events)


def started(
    bound: Bound, principal: Principal, row: RunRow, label: Label, *, after: RunId | None = None, waits: bool = False
) -> RunStarted:
    """The first event of all, with what the agent of now gives the run for good."""
    agent, model = bound.agent, bound.model
    tools = agent.catalogue.tools
    wire_names = {ours: theirs for theirs, ours in model.wire.names([tool.name for tool in tools]).items()}
    schema = None if agent.answer_type is None else agent.answer_type.schema
    limits = agent.conversation_budget
    return RunStarted(
        agent=agent.name,
        agent_digest=agent.digest,
        model=model.identity,
        protocol=model.wire.protocol,
        head=_head(bound, agent.instructions_for(principal)),
        tools=tuple(
            ToolRecorded(name=tool.name, wire_name=wire_names[tool.name], contract=tool.contract, effect=tool.effect_kind)
            for tool in tools
        ),
        fallbacks=tuple(one.identity for one in bound.fallbacks),
        tenant=principal.tenant,
        subject=principal.subject,
        scopes=tuple(sorted(principal.scopes)),
        root=row.root,
        conversation=row.conversation,
        after=after,
        request_id=row.request_id,
        request_digest=None if row.request_digest is None else Digest(row.request_digest),
        label=label,
        budget=budget_to_json(agent.budget),
        conversation_budget=None if limits is None or row.conversation is None else budget_to_json(limits),
        on_wait=agent.on_wait,
        answer_schema=None if schema is None else encode(dict(schema)),
        max_tokens=agent.max_tokens,
        server_writes=tuple(tool.type for tool in agent.declared_server_tools if tool.effect is not None),
        answers_only=waits,
    )


def _head(bound: Bound, instructions: str) -> Wording:
    """The head with these instructions; the last one written is kept, as most agents have one for everybody."""
    known = bound.heads.get(instructions)
    if known is not None:
        return known
    agent, model = bound.agent, bound.model
    head = HeadSpec(
        model=model.name,
        instructions=instructions,
        tools=tuple(tool.declaration for tool in agent.catalogue.tools),
        max_tokens=agent.max_tokens,
        tool_choice=agent.tool_choice,
        parallel=agent.parallel,
        answer_schema=None if agent.answer_type is None else agent.answer_type.schema,
        settings=agent.settings,
        server_tools=tuple(tool.declaration for tool in agent.declared_server_tools),
    )
    bound.heads.clear()
    bound.heads[instructions] = model.wire.head(head)
    return bound.heads[instructions]
