"""What a policy is asked, and the three things it may say."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from remit.types.ident import ConversationId, Json, RunId
from remit.types.label import Label
from remit.types.principal import Principal
from remit.types.quick import quick

__all__ = ["Allow", "Ask", "Deny", "Request", "Verdict"]


@dataclass(frozen=True, slots=True)
class Allow:
    """It may happen."""

    reason: str = ""


@dataclass(frozen=True, slots=True)
class Deny:
    """It may not happen. The reason is for the record, not for the model."""

    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """A person must approve it.

    Args:
        scope: what the approver must hold; several scopes, separated by spaces, are all needed.
        expires_s: how long the request stands.
        two_person: the requester may not approve.
        reason: shown to the approver.
    """

    scope: str = "remit:approve"
    expires_s: float = 86_400.0
    two_person: bool = False
    reason: str = ""


Verdict = Allow | Deny | Ask


@quick
@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """A call that asks to happen.

    Args:
        arguments: plain values, after validation, coercion and defaults.
        facts: what the tool's `owns=` answered about the resource that is named.
        label: of the context that the model saw when it proposed.
    """

    tool: str
    effect: Literal["read", "write"]
    arguments: Mapping[str, Json]
    principal: Principal
    facts: Json = None
    label: Label
    conversation: ConversationId | None = None
    run: RunId
