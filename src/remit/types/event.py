"""The events of a run. A run *is* this list: its state, transcript, trace and report are folds over it.

Closed: a new kind is a new schema version. Values that a tool or model wrote are carried as text.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from remit.types.budget import Usage
from remit.types.ident import ApprovalId, CallId, ConversationId, Digest, OperationId, OwnerId, RunId, Wording
from remit.types.label import TRUSTED, Label
from remit.types.later import Contradicted, Forgotten, Settled
from remit.types.model import Call, Mend, Stop
from remit.types.operation import ClosedCode, Move, OperationState
from remit.types.outcome import Outcome
from remit.types.quick import quick
from remit.types.tree import ChildReturned, ChildStarted, ChildWaiting, Share, UndoBegun

__all__ = [
    "AgentChanged",
    "AnswerChecked",
    "ApprovalDecided",
    "ApprovalRequested",
    "CallConsidered",
    "CallEnded",
    "CancelRequested",
    "ChildReturned",
    "ChildStarted",
    "ChildWaiting",
    "Contradicted",
    "Event",
    "Forgotten",
    "MessageAppended",
    "ModelRequested",
    "OperationMoved",
    "Recorded",
    "Replied",
    "RequestFailed",
    "ResultsAppended",
    "Resumed",
    "RunEnded",
    "RunStarted",
    "Settled",
    "ToolRecorded",
    "UndoBegun",
    "Waiting",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolRecorded:
    """A tool as this run was given it; `declaration` is the wire text's digest."""

    name: str
    wire_name: str
    contract: Digest
    effect: Literal["read", "write", "ask", "agent"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunStarted:
    """First of every run. `head` is the request's unchanging part, verbatim; `budget` is JSON text.

    `fallbacks` are the identities of the models that are asked, in this order, where `model` does not answer.
    `server_writes` are the types of provider-run tools that may change something: each request is a write itself.
    `answers_only`: the conversation's last reply waits for a request that adds no words to it.
    `parent`, `parent_call`: the call that this run answers; then `shares` are the runs above it, the parent first, and
    `scopes` all that it may ever have.
    """

    agent: str
    agent_digest: Digest
    model: str
    protocol: str
    head: Wording
    tools: tuple[ToolRecorded, ...]
    fallbacks: tuple[str, ...] = ()
    tenant: str
    subject: str
    scopes: tuple[str, ...]
    root: RunId
    conversation: ConversationId | None = None
    after: RunId | None = None
    request_id: str | None = None
    request_digest: Digest | None = None
    label: Label
    budget: str
    conversation_budget: str | None = None
    on_wait: Literal["hold", "answer"] = "hold"
    host: bool = False
    answer_schema: str | None = None
    max_tokens: int = 0
    server_writes: tuple[str, ...] = ()
    answers_only: bool = False
    parent: RunId | None = None
    parent_call: CallId | None = None
    shares: tuple[Share, ...] = ()
    kind: Literal["run.started"] = "run.started"


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentChanged:
    """The conversation's earlier run had another agent version."""

    was: Digest
    now: Digest
    kind: Literal["agent.changed"] = "agent.changed"


@quick
@dataclass(frozen=True, slots=True, kw_only=True)
class MessageAppended:
    """Words that are not a model's: the user's, a notice of a later settlement, a correction, an import."""

    wording: Wording
    source: Literal["user", "notice", "correction", "imported"]
    label: Label
    operations: tuple[OperationId, ...] = ()
    blobs: tuple[Digest, ...] = ()
    kind: Literal["message.appended"] = "message.appended"


@quick
@dataclass(frozen=True, slots=True, kw_only=True)
class ModelRequested:
    """A request is about to be sent, with what was reserved for it. `operation`: it is a write itself."""

    turn: int
    attempt: int
    model: str
    reserved_tokens: int
    reserved_usd_micros: int
    label: Label
    operation: OperationId | None = None
    kind: Literal["model.requested"] = "model.requested"


@quick
@dataclass(frozen=True, slots=True, kw_only=True)
class Replied:
    """A reply, verbatim in `wording`, and our reading of it. `label` is of what provider-run tools put into it.

    `unresolved` are ids of provider-run calls that wait for the next request, which may then hold answers only.
    """

    turn: int
    attempt: int
    wording: Wording
    text: str
    calls: tuple[Call, ...]
    stop: Stop
    raw_stop: str
    usage: Usage
    model: str = ""
    response_id: str = ""
    refusal: str | None = None
    unresolved: tuple[str, ...] = ()
    mends: tuple[Mend, ...] = ()
    latency_ms: int = 0
    label: Label = TRUSTED
    kind: Literal["model.replied"] = "model.replied"


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestFailed:
    """A model request brought no reply. `started`: the provider may have begun with it; if not, what was reserved is free."""

    turn: int
    attempt: int
    code: str
    message: str
    retryable: bool
    retry_after_s: float | None = None
    started: bool = True
    kind: Literal["model.failed"] = "model.failed"


@quick
@dataclass(frozen=True, slots=True, kw_only=True)
class CallConsidered:
    """What the gate made of a proposal. Nothing runs that has no such event with verdict `ready`.

    Args:
        step: the step that decided: `resolve`, `validate`, `bind`, `authorize`, `lookup`, `approve`, `budget`, `stop`.
        code: stable reason, for example `policy.allow`, `scope.missing`.
        arguments: canonical text, None where they could not be read.
        coercions: field paths where a JSON string was read as the object or array that the schema asks for.
        resources: what a write touches; None is undeclared, and not disjoint from anything.
        joined: the earlier call whose pending operation this one shares.
        key: of a business key only (`once_per` names arguments): calls of one tool with different keys are disjoint.
        detail: for the operator: what a function of the application raised while this was considered.
    """

    call: CallId
    tool: str
    effect: Literal["read", "write", "ask", "agent"] | None
    contract: Digest | None
    arguments: str | None
    digest: Digest | None
    verdict: Literal["ready", "waiting", "joined", "settled"]
    step: str
    code: str
    label: Label
    coercions: tuple[str, ...] = ()
    resources: tuple[str, ...] | None = None
    operation: OperationId | None = None
    approval: ApprovalId | None = None
    joined: CallId | None = None
    key: Digest | None = None
    author: str | None = None
    detail: str | None = None
    kind: Literal["call.considered"] = "call.considered"


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalRequested:
    """A person is asked; `question` is `ask_user`."""

    approval: ApprovalId
    call: CallId
    operation: OperationId | None
    ask: Literal["approval", "question"]
    preview: str
    digest: Digest
    expires_ms: int | None
    kind: Literal["approval.requested"] = "approval.requested"


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalDecided:
    """A person decided, or time did. `answer` is JSON text; `edited` is the digest of the approver's own arguments."""

    approval: ApprovalId
    call: CallId
    verdict: Literal["approved", "denied", "answered", "expired", "void"]
    by: str
    reason: str = ""
    edited: Digest | None = None
    answer: str | None = None
    trusted: bool = False
    kind: Literal["approval.decided"] = "approval.decided"


@quick
@dataclass(frozen=True, slots=True, kw_only=True)
class OperationMoved:
    """A row of the table of effects was taken. Dispatch, doubt and settlement are all this event."""

    operation: OperationId
    call: CallId
    on: Move
    state: OperationState
    closed: ClosedCode | None = None
    attempt: int = 0
    key: Digest | None = None
    arguments_digest: Digest | None = None
    owner: OwnerId | None = None
    not_after_ms: int | None = None
    approval: ApprovalId | None = None
    outcome: Outcome | None = None
    by: str | None = None
    evidence: str | None = None
    kind: Literal["operation.moved"] = "operation.moved"


@quick
@dataclass(frozen=True, slots=True, kw_only=True)
class CallEnded:
    """The one answer to a proposal. `changed` is whether the outside world did, None where unknown.

    `detail` is for the operator alone: what foreign code said, with declared secrets removed; never for the model.
    """

    call: CallId
    tool: str
    outcome: Outcome
    label: Label
    changed: bool | None
    operation: OperationId | None = None
    latency_ms: int = 0
    detail: str | None = None
    kind: Literal["call.ended"] = "call.ended"


@quick
@dataclass(frozen=True, slots=True, kw_only=True)
class ResultsAppended:
    """The answers to a turn, on the wire. `receipts` are calls that were told only "submitted" (`on_wait="answer"`)."""

    turn: int
    wording: Wording
    receipts: tuple[CallId, ...] = ()
    kind: Literal["results.appended"] = "results.appended"


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerChecked:
    """The model stopped: whether the answer has its type and `done=` holds. `message` is for the model, `detail` for the
    operator (what a check raised); `code` is `answer.invalid`, `answer.error`, `done.not` or `done.error`."""

    turn: int
    valid: bool
    done: bool
    message: str = ""
    code: str = ""
    detail: str | None = None
    kind: Literal["answer.checked"] = "answer.checked"


@dataclass(frozen=True, slots=True, kw_only=True)
class CancelRequested:
    """The run is to stop; what was dispatched is awaited, nothing else starts."""

    by: str
    reason: str = ""
    kind: Literal["run.cancel_requested"] = "run.cancel_requested"


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting:
    """Nothing can go on before a person decides; ownership is released with this event."""

    approvals: tuple[ApprovalId, ...]
    text: str = ""
    kind: Literal["run.waiting"] = "run.waiting"


@dataclass(frozen=True, slots=True, kw_only=True)
class Resumed:
    """An owner took the run up. `scopes_from` says where the principal's scopes of now come from.

    `models` are the identities of those whom the run may ask from now on, the first one first.
    """

    owner: OwnerId
    scopes: tuple[str, ...]
    scopes_from: Literal["caller", "principals", "recorded"]
    agent_digest: Digest | None = None
    models: tuple[str, ...] = ()
    kind: Literal["run.resumed"] = "run.resumed"


@dataclass(frozen=True, slots=True, kw_only=True)
class RunEnded:
    """Last of a run, but for settlements. `answer` is JSON text."""

    how: Literal["finished", "stopped", "escalated", "model_refused", "cancelled", "closed"]
    reason: str
    answer: str | None = None
    text: str = ""
    verified: bool = False
    open_operations: tuple[OperationId, ...] = ()
    explanation: str | None = None
    kind: Literal["run.ended"] = "run.ended"


Event = (
    RunStarted
    | AgentChanged
    | MessageAppended
    | ModelRequested
    | Replied
    | RequestFailed
    | CallConsidered
    | ApprovalRequested
    | ApprovalDecided
    | OperationMoved
    | CallEnded
    | ResultsAppended
    | AnswerChecked
    | CancelRequested
    | Waiting
    | ChildStarted
    | ChildWaiting
    | ChildReturned
    | UndoBegun
    | Resumed
    | Settled
    | Contradicted
    | Forgotten
    | RunEnded
)


@quick
@dataclass(frozen=True, slots=True)
class Recorded:
    """An event in its place. `at_ms` is wall clock, never earlier than the run's event before it."""

    run: RunId
    sequence: int
    at_ms: int
    event: Event
