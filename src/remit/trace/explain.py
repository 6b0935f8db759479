"""An error as one sentence that may be shown to anybody: never a traceback, never a foreign message."""

from __future__ import annotations

from remit.errors import RemitError
from remit.trace.redact import Redactor

__all__ = ["explain"]

_REDACTOR = Redactor()


def explain(error: BaseException, *, redactor: Redactor = _REDACTOR) -> str:
    """One line for a person.

    Our own errors say what is wrong and how to mend it, and end with their stable code. Of any other, whose
    message may hold arguments or secrets, only the class and the place in the code are told.
    """
    if isinstance(error, RemitError):
        return f"{redactor.text(error.message)} [{error.code}]"
    return f"something unexpected happened: {type(error).__name__}{_place(error)} [unexpected]"


def _place(error: BaseException) -> str:
    trace = error.__traceback__
    if trace is None:
        return ""
    while trace.tb_next is not None:
        trace = trace.tb_next
    module = trace.tb_frame.f_globals.get("__name__", "?")
    return f" at {module}:{trace.tb_lineno}"
