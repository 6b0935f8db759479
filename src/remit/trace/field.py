"""The lists: for each kind of event, which fields may leave, and how each is read.

`ALWAYS` may go anywhere; `CONTENT` goes only where words are asked for, redacted. A field in neither stays.
"""

from __future__ import annotations

from collections.abc import Mapping

from remit.trace import reader
from remit.trace.reader import Reader, plain
from remit.types import event as kind
from remit.types.event import Event

__all__ = ["ALWAYS", "CONTENT"]


def _plain(*names: str, **others: Reader) -> dict[str, Reader]:
    return {**dict.fromkeys(names, plain), **others}


def _words(*names: str, **others: Reader) -> dict[str, Reader]:
    return {**dict.fromkeys(names, reader.words), **others}


_STARTED = (
    "agent agent_digest model protocol tenant subject scopes root conversation after request_id request_digest "
    "on_wait host max_tokens fallbacks server_writes answers_only parent parent_call"
)
_CONSIDERED = "call effect contract digest key verdict operation approval joined author"
_MOVED = "operation call on state closed attempt key arguments_digest owner not_after_ms approval by"

ALWAYS: Mapping[type[Event], Mapping[str, Reader]] = {
    kind.RunStarted: _plain(*_STARTED.split(), tools=reader.tools, label=reader.label),
    kind.AgentChanged: _plain("was", "now"),
    kind.MessageAppended: _plain("source", "operations", "blobs", label=reader.label, wording=reader.size),
    kind.ModelRequested: _plain(
        "turn", "attempt", "model", "reserved_tokens", "reserved_usd_micros", "operation", label=reader.label
    ),
    kind.Replied: _plain(
        *("turn", "attempt", "stop", "latency_ms"),
        calls=reader.calls,
        usage=reader.usage,
        mends=reader.kinds,
        label=reader.label,
        unresolved=reader.count,
    ),
    kind.RequestFailed: _plain("turn", "attempt", "retryable", "retry_after_s", "started", code=reader.code),
    kind.CallConsidered: _plain(
        *_CONSIDERED.split(),
        tool=reader.resolved_tool,
        step=reader.code,
        code=reader.code,
        label=reader.label,
        coercions=reader.count,
        resources=reader.count,
    ),
    kind.ApprovalRequested: _plain("approval", "call", "operation", "ask", "digest", "expires_ms"),
    kind.ApprovalDecided: _plain("approval", "call", "verdict", "by", "edited", "trusted"),
    kind.OperationMoved: _plain(*_MOVED.split(), outcome=reader.outcome),
    kind.CallEnded: _plain(
        "call", "changed", "operation", "latency_ms", tool=reader.resolved_tool, outcome=reader.outcome, label=reader.label
    ),
    kind.ResultsAppended: _plain("turn", "receipts"),
    kind.AnswerChecked: _plain("turn", "valid", "done", code=reader.code),
    kind.CancelRequested: _plain("by"),
    kind.Waiting: _plain("approvals"),
    kind.ChildStarted: _plain("call", "child"),
    kind.ChildWaiting: _plain("call", "child", "approvals", "expires_ms"),
    kind.ChildReturned: _plain("call", "child"),
    kind.UndoBegun: _plain("step", "stuck", reason=reader.code, undos=reader.undos),
    kind.Resumed: _plain("owner", "scopes", "scopes_from", "agent_digest", "models"),
    kind.Settled: _plain("operation", "happened", "by"),
    kind.Contradicted: _plain("operation", "newer"),
    kind.Forgotten: _plain("by"),
    kind.RunEnded: _plain("how", "verified", "open_operations", reason=reader.code),
}
"""What leaves always."""

CONTENT: Mapping[type[Event], Mapping[str, Reader]] = {
    kind.RunStarted: _words(
        label=reader.sources, budget=reader.document, conversation_budget=reader.document, shares=reader.shares
    ),
    kind.AgentChanged: {},
    kind.MessageAppended: _words(label=reader.sources, wording=reader.spoken_words),
    kind.ModelRequested: _words(label=reader.sources),
    kind.Replied: _words("text", "refusal", "raw_stop", "model", "response_id", calls=reader.proposals, label=reader.sources),
    kind.RequestFailed: _words("message"),
    kind.CallConsidered: _words("tool", "coercions", "resources", "detail", arguments=reader.document, label=reader.sources),
    kind.ApprovalRequested: _words("preview"),
    kind.ApprovalDecided: _words("reason", answer=reader.document),
    kind.OperationMoved: _words("evidence", outcome=reader.outcome_words),
    kind.CallEnded: _words("tool", "detail", outcome=reader.outcome_words, label=reader.sources),
    kind.ResultsAppended: {},
    kind.AnswerChecked: _words("message", "detail"),
    kind.CancelRequested: _words("reason"),
    kind.Waiting: _words("text"),
    kind.ChildStarted: {},
    kind.ChildWaiting: {},
    kind.ChildReturned: {},
    kind.UndoBegun: _words("message"),
    kind.Resumed: {},
    kind.Settled: _words("reason"),
    kind.Contradicted: _words("evidence"),
    kind.Forgotten: _words("reason"),
    kind.RunEnded: _words("text", "explanation", answer=reader.document),
}
"""What leaves beside it, or in its place, where words are asked for."""
