"""Outcomes: the exactly one answer that a proposal gets, and the words in which the model reads it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from remit.types.ident import ApprovalId, Json, OperationId
from remit.types.quick import quick

__all__ = ["Attachment", "Awaiting", "Failed", "FieldError", "NotRun", "Outcome", "Refused", "Retry", "Succeeded", "Unknown"]

Retry = Literal["no", "corrected", "after", "same_key"]
"""What may be tried: nothing; the call with corrected arguments; the same later (`retry_after_s`); the same
arguments, which the key makes harmless."""


@dataclass(frozen=True, slots=True)
class FieldError:
    """One thing wrong with the arguments: a JSON Pointer (`/amount_cents`) and what must be true there."""

    path: str
    message: str


@dataclass(frozen=True, slots=True)
class Attachment:
    """Bytes that a tool returned, stored under `digest`: an image or a file beside the value."""

    digest: str
    media_type: str
    name: str = "file"


@quick
@dataclass(frozen=True, slots=True, kw_only=True)
class Succeeded:
    """It happened.

    Args:
        value: what the tool returned, as JSON.
        shown: what the model reads in its place, where the whole is too long; None shows `value`.
        blob: digest of the whole, where `shown` is shorter.
        repeat: it had happened before this call; nothing ran now.
        available: False if the effect happened and its result could not be kept.
        incomplete: a child run ended early; the value lists the effects that did happen.
    """

    value: Json = None
    shown: str | None = None
    blob: str | None = None
    attachments: tuple[Attachment, ...] = ()
    repeat: bool = False
    available: bool = True
    incomplete: bool = False
    operation: OperationId | None = None
    kind: Literal["succeeded"] = "succeeded"
    retry: Retry = "no"


@dataclass(frozen=True, slots=True, kw_only=True)
class Refused:
    """It was not allowed, or not well formed; nothing ran."""

    code: str
    message: str
    fields: tuple[FieldError, ...] = ()
    retry: Retry = "no"
    retry_after_s: float | None = None
    operation: OperationId | None = None
    kind: Literal["refused"] = "refused"


@dataclass(frozen=True, slots=True, kw_only=True)
class Failed:
    """It was tried, and it is known that nothing changed."""

    code: str
    message: str
    fields: tuple[FieldError, ...] = ()
    retry: Retry = "no"
    retry_after_s: float | None = None
    operation: OperationId | None = None
    kind: Literal["failed"] = "failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Unknown:
    """It was tried, and it is not known whether it happened. It must not be tried under another name."""

    code: str
    message: str
    retry: Retry = "no"
    retry_after_s: float | None = None
    operation: OperationId | None = None
    kind: Literal["unknown"] = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class NotRun:
    """It was allowed and never started: cancelled, withdrawn, expired, or held back by another call."""

    code: str
    message: str
    retry: Retry = "no"
    retry_after_s: float | None = None
    operation: OperationId | None = None
    kind: Literal["not_run"] = "not_run"


Outcome = Succeeded | Refused | Failed | Unknown | NotRun


@dataclass(frozen=True, slots=True)
class Awaiting:
    """Not an outcome: a person must decide first. `gate.call` again with the same run and call after the decision."""

    approval: ApprovalId
    operation: OperationId | None
    preview: str
    kind: Literal["awaiting"] = "awaiting"
