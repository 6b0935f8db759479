"""Every code that a call can be answered with, in one table: what the model is told, and what may be tried.

The docs are generated from it. Knows nothing else of the gate. Invariant: a sentence here names no
argument, result, rule, host or person.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

from remit.types.ident import OperationId
from remit.types.outcome import Failed, FieldError, NotRun, Refused, Retry, Unknown

__all__ = ["CODES", "VERDICTS", "Code", "fail", "not_run", "refuse", "unknown"]

Kind = Literal["refused", "failed", "unknown", "not_run"]


@dataclass(frozen=True, slots=True)
class Code:
    """A stable reason: the outcomes that carry it, the sentence for the model, and what may be tried."""

    name: str
    kinds: tuple[Kind, ...]
    says: str
    retry: Retry = "no"


_Rows = tuple[tuple[str, str, Retry], ...]

_REFUSED: _Rows = (
    ("tool.unknown", "There is no tool of this name.", "corrected"),
    ("tool.gone", "This tool is no longer available.", "no"),
    ("arguments.truncated", "The call was cut off before it was complete; send it again, whole.", "corrected"),
    ("arguments.json", "The arguments are not valid JSON.", "corrected"),
    ("arguments.invalid", "The arguments do not fit the tool's schema.", "corrected"),
    ("identity.bound", "The call sets a parameter that only the application sets; leave it out.", "corrected"),
    ("scope.missing", "The requester does not have a permission that this tool needs.", "no"),
    ("owner.denied", "The requester has no access to the resource that the call names.", "no"),
    ("agent.absent", "The agent that answers this is not available here.", "no"),
    ("policy.denied", "This is not allowed.", "no"),
    ("policy.error", "It could not be decided whether this is allowed, so it is not.", "no"),
    ("policy.changed", "This had been approved, and is no longer allowed.", "no"),
    ("label.readers", "This tool would show what was read here to people who may not read it.", "no"),
    ("sandbox.absent", "This tool needs a sandbox that is not available here.", "no"),
    ("rate.limited", "This tool is being called too often.", "after"),
    ("retry.early", "The tool asked for a pause before this is tried again, and the pause is not over.", "after"),
    ("key.empty", "The argument that names the thing to change is empty.", "corrected"),
    ("call.id_missing", "This tool needs a caller that gives each call a stable id.", "no"),
    ("conflict", "This was already asked for with other arguments.", "no"),
    ("denied", "A person declined this; do not ask for it again.", "no"),
    ("expired", "Nobody decided in time; it may be asked for again.", "same_key"),
    ("dry_run.no_preview", "This is a dry run, and the tool cannot say what it would do; it was not done.", "no"),
    ("model.refused", "The reply that holds this call was declined; nothing of it runs.", "no"),
    ("model.not_stopped", "The reply did not end in order to call tools, so this did not run.", "corrected"),
    ("budget.calls", "The limit of tool calls is reached; answer with what there is.", "no"),
    ("budget.calls_per_tool", "The limit of calls of this tool is reached.", "no"),
    ("budget.errors", "Too many calls in a row went wrong; answer with what there is.", "no"),
    ("budget.repeats", "This exact call was made too often.", "no"),
    ("budget.approvals", "The limit of requests to people is reached.", "no"),
)
_FAILED: _Rows = (
    ("no_effect", "The tool could not do it.", "no"),
    ("tool.failed", "The tool failed.", "same_key"),
    ("tool.timeout", "The tool did not answer in time.", "same_key"),
    ("tool.lost", "The program ended each time that this was under way; it is not tried again.", "no"),
    ("tool.not_started", "The tool could not be started.", "no"),
    ("rolled_back", "The program ended before this was done, and nothing was changed.", "same_key"),
    ("agent.failed", "The agent did not finish, and nothing that it did had an effect.", "no"),
    ("not_recorded", "It had not run when this was recorded, so nothing is known of it; it was not run.", "no"),
    ("reconciled_no", "It was checked: it did not happen.", "same_key"),
    ("settled_no", "A person checked: it did not happen.", "same_key"),
)
_UNKNOWN: _Rows = (
    (
        "unknown",
        "It was tried, and it is not known whether it happened. Do not do it in another way.",
        "no",
    ),
    (
        "agent.unknown",
        "The agent did something of which it is not known whether it happened. Do not do it in another way.",
        "no",
    ),
    ("in_progress", "The same is being done right now, and its result is not known yet.", "same_key"),
)
_NOT_RUN: _Rows = (
    ("cancelled", "The run was cancelled before this started.", "no"),
    ("withdrawn", "This was withdrawn before it started.", "no"),
    ("waiting", "This was not started, because an earlier call waits for a person.", "same_key"),
    ("dry_run", "This is a dry run: it was not done.", "no"),
    ("held_back", "This was not started, because an earlier call did not succeed.", "same_key"),
    ("expired", "Nobody answered in time.", "same_key"),
)


def _table() -> Mapping[str, Code]:
    codes: dict[str, Code] = {}
    sources: tuple[tuple[Kind, _Rows], ...] = (
        ("refused", _REFUSED),
        ("failed", _FAILED),
        ("unknown", _UNKNOWN),
        ("not_run", _NOT_RUN),
    )
    for kind, rows in sources:
        for name, says, retry in rows:
            known = codes.get(name)
            codes[name] = Code(name, (*known.kinds, kind), known.says, retry) if known else Code(name, (kind,), says, retry)
    return MappingProxyType(codes)


CODES: Mapping[str, Code] = _table()
"""Every code of an outcome, by name."""


VERDICTS: Mapping[str, str] = MappingProxyType(
    {
        "allowed": "it may start",
        "held": "its key is held by an operation whose end is not known: it waits for that, or recovers it",
        "joined": "it shares the pending operation of an earlier call",
        "repeat": "it had happened before: the recorded result is the answer",
        "approval.needed": "a person is asked",
        "approval.granted": "a person said yes, and the gate of now allows it",
        "question.asked": "a person is asked a question",
    }
)
"""Codes of `CallConsidered` that are not outcomes' codes, and what they mean."""


def _say(code: str, more: str) -> str:
    says = CODES[code].says
    return f"{says} {more}" if more else says


def refuse(
    code: str,
    more: str = "",
    *,
    fields: tuple[FieldError, ...] = (),
    retry_after_s: float | None = None,
    operation: OperationId | None = None,
) -> Refused:
    """`Refused` with the code's own sentence, and `more` after it."""
    return Refused(
        code=code,
        message=_say(code, more),
        fields=fields,
        retry=CODES[code].retry,
        retry_after_s=retry_after_s,
        operation=operation,
    )


def fail(code: str, more: str = "", *, retry: Retry | None = None, operation: OperationId | None = None) -> Failed:
    """`Failed` with the code's own sentence, and `more` after it."""
    return Failed(code=code, message=_say(code, more), retry=retry or CODES[code].retry, operation=operation)


def unknown(code: str, more: str = "", *, retry_after_s: float | None = None, operation: OperationId | None = None) -> Unknown:
    """`Unknown` with the code's own sentence, and `more` after it."""
    return Unknown(
        code=code,
        message=_say(code, more),
        retry=CODES[code].retry,
        retry_after_s=retry_after_s,
        operation=operation,
    )


def not_run(code: str, more: str = "", *, operation: OperationId | None = None) -> NotRun:
    """`NotRun` with the code's own sentence, and `more` after it."""
    return NotRun(code=code, message=_say(code, more), retry=CODES[code].retry, operation=operation)
