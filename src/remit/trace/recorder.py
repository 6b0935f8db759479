"""The one way in which anything of a run leaves for a log.

A record carries one line for people and, as the attribute `remit`, the described event for machines
(a JSON formatter finds it there). It does not know handlers or formats; those are the application's.
"""

from __future__ import annotations

import logging
import traceback
from collections.abc import Callable

from remit.foreign import contained, origin
from remit.trace.describe import describe
from remit.trace.explain import explain
from remit.trace.redact import Redactor
from remit.types.event import CallEnded, Contradicted, Recorded, RequestFailed
from remit.types.ident import CallId, Json, RunId
from remit.types.outcome import Unknown

__all__ = ["Recorder", "log_traceback"]

_WORDS = 1_000
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
        """One record: a warning where a person should look (a failed request, doubt that stayed, contradiction).

        Else information: a doubt that recovery settles before the call is answered concerns nobody.
        """
        level = _level(recorded)
        if not self._logger.isEnabledFor(level):
            return
        shown = describe(recorded, content=self._content, redactor=self._redactor)
        self._logger.log(level, "%s", _line(shown), extra={"remit": shown})

    def log_progress(self, run: RunId, call: CallId, fraction: float, note: str) -> None:
        """One information record of how far a handler says that it is; its words only where words are asked for."""
        if not self._logger.isEnabledFor(logging.INFO):
            return
        shown: dict[str, Json] = {"kind": "progress", "run": run, "call": call, "fraction": fraction}
        said = f" {self._redactor.text(note)}" if self._content and note else ""
        self._logger.info("progress run=%s call=%s %.0f%%%s", run, call, fraction * 100, said, extra={"remit": shown})

    def log_error(self, error: BaseException, **ids: str) -> None:
        """One error record; `ids` say where (`run=`, `call=`). No traceback, no foreign message."""
        if not self._logger.isEnabledFor(logging.ERROR):
            return
        shown: dict[str, Json] = {"kind": "error", **ids, "code": getattr(error, "code", "unexpected")}
        text = explain(error, redactor=self._redactor)
        self._logger.error("%s", " ".join([text, *(f"{name}={value}" for name, value in ids.items())]), extra={"remit": shown})

    def log_hook(self, name: str, error: BaseException, **ids: str) -> None:
        """One error record of a function of the application that failed: the class of what it raised, and its words,
        redacted."""
        if not self._logger.isEnabledFor(logging.ERROR):
            return
        error = origin(error)
        try:
            with contained():
                said = self._redactor.text(str(error))[:_WORDS]
        except Exception:  # a foreign class
            said = ""
        kind = type(error)
        text = f"{name} failed: {kind.__module__}.{kind.__qualname__}" + (f": {said}" if said else "")
        shown: dict[str, Json] = {"kind": "error", **ids, "code": "hook.failed", "hook": name}
        self._logger.error("%s", " ".join([text, *(f"{one}={value}" for one, value in ids.items())]), extra={"remit": shown})


def log_traceback(error: BaseException, *, mask: Callable[[str], str], **ids: str) -> None:
    """One debug record with the traceback of what an application's own code raised, for whoever wrote that code.

    Args:
        mask: takes declared secrets out; what looks like a secret is masked after it.
        ids: where it was raised (`run=`, `call=`, `tool=`).
    """
    logger = logging.getLogger("remit")
    if not logger.isEnabledFor(logging.DEBUG):
        return
    where = " ".join(f"{name}={value}" for name, value in ids.items())
    told = Redactor().text(mask("".join(traceback.format_exception(error)).encode("utf-8", "replace").decode()))
    logger.debug("raised %s\n%s", where, told, extra={"remit": {"kind": "raised", **ids}})


def _level(recorded: Recorded) -> int:
    match recorded.event:
        case RequestFailed() | Contradicted() | CallEnded(outcome=Unknown()):
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
