"""The phases of a run and the statuses of its calls: names only.

Knows nothing else. Invariant: a run is in one phase, a call in one status, and both follow from the
recorded events alone.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Literal

__all__ = ["ACTIVE", "WAITING", "CallStatus", "Phase"]


class Phase(StrEnum):
    """Where a run is."""

    START = "Start"
    CHECK_BUDGETS = "CheckBudgets"
    ASK_MODEL = "AskModel"
    RECOVER_OR_STOP = "RecoverOrStop"
    INSPECT_STOP_REASON = "InspectStopReason"
    VALIDATE_CALLS = "ValidateCalls"
    AUTHORIZE_CALLS = "AuthorizeCalls"
    EXECUTE_CALLS = "ExecuteCalls"
    RECOVER_CALLS = "RecoverCalls"
    RETURN_DENIAL = "ReturnDenial"
    RETURN_RESULTS = "ReturnResults"
    APPEND_RESULTS = "AppendResults"
    WAIT = "Wait"
    VALIDATE_FINAL = "ValidateFinal"
    RETURN_CORRECTION = "ReturnCorrection"
    STOP = "Stop"
    ESCALATE = "Escalate"
    END = "End"


CallStatus = Literal[
    "proposed",
    "considering",
    "settling",
    "ready",
    "starting",
    "joined",
    "awaiting",
    "decided",
    "deciding",
    "in_doubt",
    "recovering",
    "denying",
    "ended",
]
"""`proposed` is to be considered, `settling` was answered by the gate and its `CallEnded` is to come, `starting` was
started (dispatched or not), `in_doubt` was dispatched by an owner that is gone."""

ACTIVE: frozenset[CallStatus] = frozenset(
    {"proposed", "considering", "settling", "starting", "decided", "deciding", "in_doubt", "recovering", "denying"}
)
"""Something happens, or is about to, without anybody's word."""

WAITING: frozenset[CallStatus] = frozenset({"awaiting", "joined"})
"""Nothing happens before a person decides, about this call or the one whose operation it shares. What is neither active nor
waiting nor ended is `ready`: the first that is starts, or is held back, as soon as nothing is active."""
