"""The one way in which anything of a run leaves for a log.

A record carries one line for people and, as the attribute `remit`, the described event for machines
(a JSON formatter finds it there). It does not know handlers or formats; those are the application's.
"""

from __future__ import annotations

import logging

from remit.trace.describe import describe
from remit.trace.explain import explain
from remit.trace.redact import Redactor
from remit.types.event import Contradicted, OperationMoved, Recorded, RequestFailed
from remit.types.ident import Json

__all__ = ["Recorder"]

_LINE = ("run", "call", "tool", "turn", "operation", "approval", "verdict", "on", "state", "code", "how", "reason")


class Recorder:
    """Writes events and errors to the standard library's logging, described and redacted.

    Args:
        logger: where to; by default the logger `remit`.
        redactor: what to mask; by default what looks like a secret.
        content: with the words of people, model and tools; by default without.
    """

    def __init__(
        self, logger: logging.Logger | None = None, *, redactor: Redactor | None = None, content: bool = False
    ) -> None:
        self._logger = logger or logging.getLogger("remit")
        self._redactor = redactor or Redactor()
        self._content = content

    def log_event(self, recorded: Recorded) -> None:
        """One record: a warning where a person should look (a failed request, doubt, contradiction), else information."""
        level = _level(recorded)
        if not self._logger.isEnabledFor(level):
            return
        shown = describe(recorded, content=self._content, redactor=self._redactor)
        self._logger.log(level, "%s", _line(shown), extra={"remit": shown})

    def log_error(self, error: BaseException, **ids: str) -> None:
        """One error record; `ids` say where (`run=`, `call=`). No traceback, no foreign message."""
        if not self._logger.isEnabledFor(logging.ERROR):
            return
        shown: dict[str, Json] = {"kind": "error", **ids, "code": getattr(error, "code", "unexpected")}
        text = explain(error, redactor=self._redactor)
        self._logger.error("%s", " ".join([text, *(f"{name}={value}" for name, value in ids.items())]), extra={"remit": shown})


def _level(recorded: Recorded) -> int:
    match recorded.event:
        case RequestFailed() | Contradicted() | OperationMoved(state="unknown"):
            return logging.WARNING
        case _:
            return logging.INFO


def _line(shown: dict[str, Json]) -> str:
    facts = [f"{name}={shown[name]}" for name in _LINE if shown.get(name) is not None]
    outcome = shown.get("outcome")
    if isinstance(outcome, dict):
        facts.append(f"outcome={outcome['kind']}")
        facts += [f"outcome_code={outcome['code']}"] if outcome.get("code") else []
    return " ".join([str(shown["kind"]), *facts])
