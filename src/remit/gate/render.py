"""An outcome in the words that the model reads: what failed, whether anything changed, what may be tried.

Pure; knows no protocol. Invariant: the words come from the outcome alone, so a transcript can be
written again from the journal.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import assert_never

from remit.types.ident import Json, OperationId
from remit.types.outcome import Failed, FieldError, NotRun, Outcome, Refused, Retry, Succeeded, Unknown

__all__ = ["Rendered", "receipt", "render", "text_of"]


@dataclass(frozen=True, slots=True)
class Rendered:
    """Text for the wire; `error` is sent as a flag where the protocol has one."""

    text: str
    error: bool


def text_of(value: Json) -> str:
    """A result as text: a string as it is, everything else as JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def receipt(tool: str, operation: OperationId | None) -> Rendered:
    """What the model is told about a call that waits for a person, if it is not to wait with it."""
    name = f" as operation {operation}" if operation is not None else ""
    text = f"{tool}: submitted{name}, not done. A person must decide first; do not claim that it is done, and do not ask again."
    return Rendered(text, error=False)


def render(outcome: Outcome, tool: str) -> Rendered:
    """What the model is told about a call of `tool` that ended so."""
    match outcome:
        case Succeeded():
            return Rendered(_succeeded(outcome), error=False)
        case Refused():
            return Rendered(_parts(tool, "not done", "Nothing changed.", outcome), error=True)
        case Failed():
            return Rendered(_parts(tool, "failed", "Nothing changed.", outcome), error=True)
        case NotRun():
            return Rendered(_parts(tool, "not run", "Nothing changed.", outcome), error=True)
        case Unknown():
            return Rendered(_parts(tool, "unknown", "It may have happened.", outcome), error=True)
        case _:
            assert_never(outcome)


def _succeeded(outcome: Succeeded) -> str:
    shown = outcome.shown if outcome.shown is not None else text_of(outcome.value)
    if not outcome.available:
        shown = outcome.shown or "It was done; its result could not be kept."
    if outcome.incomplete:
        shown = f"Done in part. {shown}"
    return f"Done before; nothing ran now. The recorded result: {shown}" if outcome.repeat else shown


def _parts(tool: str, word: str, changed: str, outcome: Refused | Failed | NotRun | Unknown) -> str:
    fields = outcome.fields if isinstance(outcome, Refused | Failed) else ()
    head = f"{tool}: {word} ({outcome.code}). {outcome.message} {changed}"
    return "\n".join([head, *map(_field, fields), _advice(outcome.retry, outcome.retry_after_s)])


def _field(error: FieldError) -> str:
    return f"- {error.path or '(the whole)'}: {error.message}"


def _advice(retry: Retry, after_s: float | None) -> str:
    match retry:
        case "no":
            return "Do not try it again."
        case "corrected":
            return "It may be tried again, corrected."
        case "after":
            return "It may be tried again later." if after_s is None else f"It may be tried again in {after_s:g} seconds."
        case "same_key":
            return "It may be tried again with the same arguments."
        case _:
            assert_never(retry)
