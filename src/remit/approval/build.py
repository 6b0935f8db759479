"""Building the row that a person decides: bound to exactly what will run, shown without its secrets.

Knows no store. Invariant: `arguments_digest` covers the real arguments, `shown` and `preview` hold
no declared secret.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace

from remit import ambient
from remit.approval.preview import default_preview, mask
from remit.foreign import contained
from remit.types.approval import Approval
from remit.types.ident import ApprovalId, CallId, Digest, Json, OperationId, RunId
from remit.types.label import Label

__all__ = ["Subject", "build", "build_question"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """What would run, and for whom.

    Args:
        text: canonical JSON text of the arguments; `digest` is theirs.
        plain: the same as plain values.
        now_ms: store time.
        secret: names of parameters that are masked wherever the arguments are shown.
    """

    tenant: str
    requester: str
    run: RunId
    call: CallId
    tool: str
    contract: Digest
    text: str
    digest: Digest
    plain: Mapping[str, Json]
    secret: Collection[str] = ()
    label: Label
    policy: str = ""
    now_ms: int
    operation: OperationId | None = None
    author: str | None = None


def build(
    subject: Subject,
    *,
    scope: str,
    expires_s: float | None,
    two_person: bool = False,
    reasons: tuple[str, ...] = (),
    preview: Callable[[Mapping[str, Json]], str] | None = None,
) -> Approval:
    """A pending approval for `subject`.

    Args:
        preview: writes the sentence, given the masked arguments; a failure or an empty answer falls back to a default
            that names the tool and its arguments.
    """
    shown = mask(subject.plain, subject.secret)
    return Approval(
        id=ApprovalId(ambient.new_id("apr")),
        kind="approval",
        tenant=subject.tenant,
        requester=subject.requester,
        run=subject.run,
        call=subject.call,
        tool=subject.tool,
        contract=subject.contract,
        arguments=subject.text,
        arguments_digest=subject.digest,
        shown=json.dumps(shown, ensure_ascii=False),
        preview=_sentence(subject.tool, shown, preview),
        reasons=reasons,
        label=describe_label(subject.label),
        policy=subject.policy,
        operation=subject.operation,
        scope=scope,
        two_person=two_person,
        expires_ms=None if expires_s is None else subject.now_ms + round(expires_s * 1000),
        author=subject.author,
        created_ms=subject.now_ms,
    )


def build_question(subject: Subject, *, question: str, expires_s: float | None) -> Approval:
    """A pending question: the requester's side answers it, no scope is needed."""
    return replace(build(subject, scope="", expires_s=expires_s, preview=lambda _: question), kind="question")


def describe_label(label: Label) -> str:
    """A label as a person reads it: its integrity and what it came from."""
    word = "trusted" if label.trusted else "untrusted"
    return f"{word}: {', '.join(sorted(label.sources))}" if label.sources else word


def _sentence(tool: str, shown: Mapping[str, Json], preview: Callable[[Mapping[str, Json]], str] | None) -> str:
    if preview is not None:
        try:
            with contained():
                said = preview(shown)
        except Exception:  # the tool's author wrote it: a broken sentence must not stop a person from deciding
            said = ""
        if isinstance(said, str) and said.strip():  # pyright: ignore[reportUnnecessaryIsInstance]
            return said
    return default_preview(tool, shown)
