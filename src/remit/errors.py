"""Every error that Remit raises to a program, drawn as one tree.

A model never sees these: what a model is told is an `Outcome`. Messages name the place and the
mend, and never hold a tool's arguments or results.
"""

from __future__ import annotations

__all__ = [
    "BudgetExceeded",
    "Conflict",
    "DefinitionError",
    "Denied",
    "InputError",
    "KeyTaken",
    "LedgerError",
    "ModelError",
    "NotFound",
    "ProtocolError",
    "RemitError",
    "RunOwned",
]


class RemitError(Exception):
    """The root. `code` is stable and dotted; `retryable` says if the same call may succeed later.

    Further facts are keyword attributes, listed in `details`; they survive pickling.
    """

    code: str = "remit"
    retryable: bool = False

    def __init__(self, message: str, *, code: str | None = None, retryable: bool | None = None, **details: object) -> None:
        super().__init__(message)
        self.message = message
        self.details: dict[str, object] = details
        if code is not None:
            self.code = code
        if retryable is not None:
            self.retryable = retryable

    def __reduce__(self) -> tuple[object, ...]:
        return (_rebuild, (type(self), self.message, self.code, self.retryable, self.details))


def _rebuild(kind: type[RemitError], message: str, code: str, retryable: bool, details: dict[str, object]) -> RemitError:
    return kind(message, code=code, retryable=retryable, **details)


class DefinitionError(RemitError, TypeError):
    """A tool, agent or policy is written wrongly; raised when it is defined or bound, never in a run."""

    code = "definition"


class InputError(RemitError, ValueError):
    """What the application passed cannot be used; the message names the place and the mend."""

    code = "input"


class NotFound(RemitError, LookupError):
    """No such run, approval, operation, tool or agent, or not for this principal."""

    code = "not_found"


class Denied(RemitError):
    """The person or principal may not do this: a scope is missing, or two people are needed."""

    code = "denied"


class Conflict(RemitError):
    """The row is no longer in the state that the caller saw, or a request id names another request."""

    code = "conflict"


class KeyTaken(Conflict):
    """The operation's key is held by another operation; `details["operation"]` names it."""

    code = "operation.key_taken"


class BudgetExceeded(RemitError):
    """A reservation does not fit; `details["budget"]` names which."""

    code = "budget"


class RunOwned(RemitError):
    """The run belongs to a live process, or is no longer owned by this one."""

    code = "run.owned"
    retryable = True


class LedgerError(RemitError):
    """The ledger could not be read or written (`ledger.unavailable`, `ledger.newer`, ...)."""

    code = "ledger.unavailable"
    retryable = True


class ModelError(RemitError):
    """A model request failed; `details["retry_after_s"]` may say when to ask again."""

    code = "model.unavailable"
    retryable = True


class ProtocolError(RemitError):
    """A provider's reply, or an imported history, is not of the shape its protocol has."""

    code = "protocol"
