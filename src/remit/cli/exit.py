"""What the command's exit codes mean: one number for each way a run can stand, and for each kind of error."""

from __future__ import annotations

from collections.abc import Mapping

from remit.errors import Conflict, DefinitionError, Denied, InputError, LedgerError, ModelError, NotFound, RemitError, RunOwned
from remit.types.run import Cancelled, Escalated, Finished, ModelRefused, Paused, Stopped, Submitted

__all__ = [
    "BROKEN",
    "EXIT_CODES",
    "DIFFERENT",
    "FOUND",
    "INTERRUPTED",
    "NOT_VERIFIED",
    "PIPE",
    "UNASKED",
    "UNCOMPARED",
    "UNEXPECTED",
    "UNSETTLED",
    "USAGE",
    "of_error",
    "of_standing",
]

UNEXPECTED = 1
USAGE = 2
NOT_VERIFIED = 12
UNASKED = 13
UNSETTLED = 14
DIFFERENT = 15
UNCOMPARED = 16
BROKEN = 17
FOUND = 18
INTERRUPTED = 130
PIPE = 141

EXIT_CODES: Mapping[int, str] = {
    0: "done; a run that was waited for has finished, and its end is verified",
    UNEXPECTED: "something unexpected happened",
    USAGE: "the command, an argument or the agent's module cannot be used",
    3: "the run is paused: a person must decide, or it goes on elsewhere",
    4: "the run stopped at a limit",
    5: "the run escalated: its end is not what was promised",
    6: "the model refused",
    7: "the run was cancelled",
    8: "there is no such run, approval, operation or agent",
    9: "somebody else has the run, or what was seen is no longer so",
    10: "the ledger cannot be read or written",
    11: "this person may not do that",
    NOT_VERIFIED: "the audit found something altered, removed or reordered, or not as a head says",
    UNASKED: "the model could not be asked; or its key is missing, and nothing was started",
    UNSETTLED: "done, but not verified: an operation is still open, see `remit operations --unknown`",
    DIFFERENT: "the replay was decided otherwise, or could not follow the record",
    UNCOMPARED: "the replay cannot be compared: the run was recorded over a crash, and they part over what that left",
    BROKEN: "the explorer found a schedule in which a promise is broken",
    FOUND: "the check found errors or warnings, or a conversion could not carry everything",
    INTERRUPTED: "interrupted (Ctrl-C)",
    PIPE: "whoever read the output has gone",
}
"""Exit code -> what it means. They are stable."""

_STANDINGS: tuple[tuple[type, int], ...] = (
    (Finished, 0),
    (Paused, 3),
    (Submitted, 3),
    (Stopped, 4),
    (Escalated, 5),
    (ModelRefused, 6),
    (Cancelled, 7),
)
_ERRORS: tuple[tuple[type, int], ...] = (
    (InputError, USAGE),
    (DefinitionError, USAGE),
    (NotFound, 8),
    (Conflict, 9),
    (RunOwned, 9),
    (LedgerError, 10),
    (Denied, 11),
    (ModelError, UNASKED),
)


_ANSWERED = frozenset({"model.length", "model.no_calls", "model.stop_unknown"})
"""Reasons of an escalation after the model did answer; the other `model.` reasons name a request that failed."""


def of_standing(standing: object) -> int:
    """The exit code of a command that waited for a run."""
    if isinstance(standing, Finished) and not standing.verified:
        return UNSETTLED
    if isinstance(standing, Escalated) and standing.reason.startswith("model.") and standing.reason not in _ANSWERED:
        return UNASKED
    return next(code for kind, code in _STANDINGS if isinstance(standing, kind))


def of_error(error: BaseException) -> int:
    """The exit code of a command that ended in an error."""
    if isinstance(error, RemitError) and error.code == "model.key":
        return UNASKED
    return next((code for kind, code in _ERRORS if isinstance(error, kind)), UNEXPECTED)
