"""Rows and standings as JSON documents: the field names that `--json` promises.

Words in them are redacted. It knows the nouns and no ledger. Invariant: what a person may not see in
an approval, its document does not hold.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterable, Iterator
from typing import cast

from remit.canonical import decode, to_plain
from remit.errors import InputError
from remit.trace import Redactor
from remit.types.approval import Approval
from remit.types.budget import Usage
from remit.types.ident import Json
from remit.types.operation import Operation
from remit.types.run import Cancelled, Escalated, Finished, ModelRefused, Paused, RunRow, Standing, Submitted
from remit.types.secret import MASK, SHORTEST

__all__ = ["approval", "hidden", "is_reported", "operation", "run", "shared", "standing", "status_of"]

_RUN = (
    "id root parent agent tenant subject conversation request_id status host owner sequence head expires_ms created_ms "
    "updated_ms forgotten_ms"
)
_APPROVAL = (
    "id kind state tenant requester run call tool arguments_digest operation scope two_person policy label author "
    "expires_ms decided_by decided_ms created_ms"
)
_OPERATION = (
    "id state closed tool run root call conversation tenant subject author once_per key recovery atomic attempt attempts "
    "owner approval arguments_digest contract first_dispatched_ms not_after_ms settled_by created_ms updated_ms"
)
_WORDS = ("answer", "answer_so_far", "explanation")


def run(row: RunRow) -> dict[str, Json]:
    """A run's row."""
    return _fields(row, _RUN)


def approval(row: Approval) -> dict[str, Json]:
    """An approval or question; its arguments as the person may see them."""
    redactor = Redactor(hidden([row]))
    words: dict[str, Json] = {
        "preview": row.preview,
        "reasons": list(row.reasons),
        "arguments": _parsed(row.shown),
        "reason": row.reason,
        "answer": None if row.answer is None else _plain(row.answer),
    }
    if row.edited is not None:
        words["edited_arguments"] = _without(_plain(row.edited), _hidden_names(_plain(row.arguments), _parsed(row.shown)))
    return {**_fields(row, _APPROVAL), **cast(dict[str, Json], redactor.value(words)), "edited": row.edited is not None}


def operation(row: Operation, redactor: Redactor) -> dict[str, Json]:
    """An operation, with its arguments, its outcome and what late reports said."""
    words: dict[str, Json] = {
        "arguments": _plain(row.arguments),
        "outcome": None if row.outcome is None else _parsed(row.outcome),
        "evidence": [_parsed(text) for text in row.evidence],
    }
    return {**_fields(row, _OPERATION), **cast(dict[str, Json], redactor.value(words))}


def standing(stands: Standing | Submitted) -> dict[str, Json]:
    """How a run stands. The answer is the principal's, and stays as it is."""
    shown: dict[str, Json] = {
        "run": stands.id,
        "status": status_of(stands),
        "reason": stands.reason,
        "answer": stands.answer if isinstance(stands, Finished) else None,
        "verified": isinstance(stands, Finished) and stands.verified,
        "answer_so_far": stands.answer_so_far,
        "conversation": stands.conversation,
        "durable": stands.durable,
        "open_operations": [str(one) for one in stands.open_operations],
        "usage": {**cast(dict[str, Json], dataclasses.asdict(stands.usage)), "reported": is_reported(stands.usage)},
        "approvals": [],
        "questions": [],
        "queued": False,
    }
    if isinstance(stands, Paused):
        shown |= {"approvals": [approval(row) for row in stands.approvals], "queued": stands.queued}
        shown |= {"questions": [approval(row) for row in stands.questions]}
    if isinstance(stands, (Cancelled, Escalated, ModelRefused)):
        shown |= {"explanation": stands.explanation}
    return shown


def shared(stands: Standing | Submitted, redactor: Redactor, *, content: bool) -> dict[str, Json]:
    """How a run stands, for others than its principal: redacted, and without `content` no words at all."""
    shown = standing(stands)
    if content:
        return cast(dict[str, Json], redactor.value(shown))
    rows = (*stands.approvals, *stands.questions) if isinstance(stands, Paused) else ()
    for words in _WORDS:
        shown.pop(words, None)
    shown["approvals"] = [str(row.id) for row in rows if row.kind == "approval"]
    shown["questions"] = [str(row.id) for row in rows if row.kind == "question"]
    return shown


def is_reported(usage: Usage) -> bool:
    """Whether the provider said what was used: a reply takes at least a token."""
    return usage.input_tokens + usage.output_tokens + usage.cache_read_tokens + usage.cache_write_tokens > 0


def status_of(stands: Standing | Submitted) -> str:
    """One word: `finished`, `paused`, `stopped`, `escalated`, `model_refused`, `cancelled`, `submitted`."""
    return "model_refused" if isinstance(stands, ModelRefused) else type(stands).__name__.lower()


def hidden(rows: Iterable[Approval]) -> frozenset[str]:
    """The argument values that these approvals keep from the person who decides."""
    found = {value for row in rows for value in _masked(_plain(row.arguments), _parsed(row.shown))}
    return frozenset(value for value in found if len(value) >= SHORTEST)


def _masked(whole: Json, shown: Json) -> Iterator[str]:
    """The texts and numbers of `whole` that `shown` has something else for."""
    match whole, shown:
        case dict(), dict():
            for name, value in whole.items():
                yield from _masked(value, shown.get(name))
        case list(), list() if len(whole) == len(shown):
            for value, other in zip(whole, shown, strict=True):
                yield from _masked(value, other)
        case dict() | list(), _:
            for value in whole.values() if isinstance(whole, dict) else whole:
                yield from _masked(value, None)
        case ((str() | int() | float()), _) if whole != shown and not isinstance(whole, bool):
            yield whole if isinstance(whole, str) else json.dumps(whole)
        case _:
            return


def _hidden_names(whole: Json, shown: Json) -> frozenset[str]:
    """The names under which `shown` has a mask in place of the value in `whole`."""
    match whole, shown:
        case dict(), dict():
            masked = {name for name, value in whole.items() if shown.get(name) == MASK != value}
            return frozenset(masked).union(*(_hidden_names(value, shown.get(name)) for name, value in whole.items()))
        case list(), list():
            return frozenset[str]().union(*(_hidden_names(one, other) for one, other in zip(whole, shown, strict=False)))
        case _:
            return frozenset()


def _without(value: Json, names: frozenset[str]) -> Json:
    """The value with a mask under each of these names, at whatever depth."""
    match value:
        case dict():
            return {name: MASK if name in names else _without(one, names) for name, one in value.items()}
        case list():
            return [_without(one, names) for one in value]
        case _:
            return value


def _fields(row: RunRow | Approval | Operation, names: str) -> dict[str, Json]:
    return {name: cast(Json, getattr(row, name)) for name in names.split()}


def _plain(text: str) -> Json:
    """The value of a canonical text."""
    try:
        return to_plain(decode(text))
    except InputError:
        return text


def _parsed(text: str) -> Json:
    try:
        return cast(Json, json.loads(text))
    except (ValueError, RecursionError):
        return text
