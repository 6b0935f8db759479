"""What a handler returned as an outcome: JSON without secrets, attachments and long results kept apart.

Part of step 8. Knows no store. Invariant: the effect has happened, so nothing in here can make it
anything but `Succeeded`.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace

from remit.foreign import contained, origin
from remit.gate.render import text_of
from remit.gate.step.redact import Redaction
from remit.tool import Tool, to_result
from remit.types.change import Change, KeepBlob
from remit.types.ident import Digest, Json, OperationId
from remit.types.outcome import Attachment, Succeeded

__all__ = ["Shaped", "describe", "shape", "shorten", "whole"]


@dataclass(frozen=True, slots=True)
class Shaped:
    """A success, the blobs it names, and what the operator is told if its result could not be kept."""

    outcome: Succeeded
    changes: tuple[Change, ...] = ()
    detail: str | None = None


def shape(redaction: Redaction, tool: Tool, value: object, *, operation: OperationId | None) -> Shaped:
    """The success that a returned value is: redacted, and shortened for the model where it is too long."""
    found = whole(redaction, value, operation=operation)
    short = shorten(found.outcome, tool.max_result_chars)
    return Shaped(short.outcome, (*found.changes, *short.changes), found.detail)


def whole(redaction: Redaction, value: object, *, operation: OperationId | None) -> Shaped:
    """The success that a returned value is: redacted, and as long as it is."""
    try:
        with contained():
            plain, files = to_result(value)
        plain, attachments, blobs = _attach(redaction, redaction.value(plain), files)
        outcome = Succeeded(value=plain, attachments=attachments, operation=operation)
    except Exception as error:  # the value is the handler's, and its conversion runs the handler's classes
        return Shaped(Succeeded(available=False, operation=operation), detail=describe(redaction, error))
    return Shaped(outcome, blobs)


def shorten(outcome: Succeeded, limit: int) -> Shaped:
    """The same with a shorter text for the model, where it has more than `limit` characters; the whole is a blob."""
    text = text_of(outcome.value)
    if len(text) <= limit:
        return Shaped(outcome)
    data = text.encode("utf-8", "backslashreplace")
    digest = Digest(hashlib.sha256(data).hexdigest())
    note = f"[shortened: the whole has {len(text)} characters, of which these are the first {limit}; it is kept as {digest}]"
    return Shaped(replace(outcome, value=None, shown=f"{text[:limit]}\n{note}", blob=digest), (KeepBlob(digest, data),))


def _attach(
    redaction: Redaction, value: Json, files: list[tuple[Attachment, bytes]]
) -> tuple[Json, tuple[Attachment, ...], tuple[Change, ...]]:
    attachments: list[Attachment] = []
    blobs: list[Change] = []
    for attachment, data in files:
        clean = redaction.data(data)
        digest = Digest(hashlib.sha256(clean).hexdigest())
        if digest != attachment.digest:
            value = _renamed(value, attachment.digest, digest)
        attachments.append(replace(attachment, digest=digest, name=redaction.text(attachment.name)))
        blobs.append(KeepBlob(digest, clean))
    return value, tuple(attachments), tuple(blobs)


def _renamed(value: Json, was: str, now: str) -> Json:
    if isinstance(value, dict):
        return {key: _renamed(item, was, now) for key, item in value.items()}
    if isinstance(value, list):
        return [_renamed(item, was, now) for item in value]
    return now if value == was else value


def describe(redaction: Redaction, error: BaseException) -> str:
    """An error as the operator reads it: its class and text, without declared secrets."""
    error = origin(error)
    try:
        with contained():
            said = str(error)
    except Exception:  # a foreign class
        said = ""
    text = f"{type(error).__module__}.{type(error).__qualname__}: {said}"
    return redaction.text(text.encode("utf-8", "backslashreplace").decode())[:10_000]
