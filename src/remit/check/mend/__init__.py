"""Mending what is certain.

Invariant: a document without faults that can be mended comes back byte for byte; each step removes a fault.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping
from dataclasses import dataclass

from remit.canonical import item_spans
from remit.check.mend.bench import Bench
from remit.check.mend.pair import duplicate_id, duplicate_result, misplaced, missing_id, missing_result, wrong_id
from remit.check.mend.shape import double_encoded, empty_calls, empty_message, not_text, schema_key, wrong_role
from remit.check.source import Document, documents, read
from remit.check.transcript import Form
from remit.check.value import Page, load
from remit.errors import InputError

__all__ = ["MENDS", "Mended", "mend"]

MENDS: Mapping[str, Callable[[Bench], str | None]] = {
    "tool.schema_key": schema_key,
    "arguments.not_text": not_text,
    "arguments.double_encoded": double_encoded,
    "calls.empty": empty_calls,
    "result.role": wrong_role,
    "message.empty": empty_message,
    "id.wrong": wrong_id,
    "id.missing": missing_id,
    "id.duplicate": duplicate_id,
    "result.duplicate": duplicate_result,
    "result.place": misplaced,
    "call.without_result": missing_result,
}
"""Code -> its mend, in the order in which they are made."""

_MOST = 10_000


@dataclass(frozen=True, slots=True)
class Mended:
    """A file's new text, and the codes of what was mended in it, each as often as it was."""

    text: str
    codes: tuple[str, ...]


def mend(text: str, *, form: Form | None = None, codes: Container[str] = frozenset(MENDS)) -> Mended:
    """Mend what is certain in the text of a file.

    Args:
        text: of the file.
        form: the protocol, where it is known; else it is recognized.
        codes: what is mended.
    """
    found = documents(text, form=form)
    layouts = {one.layout for one in found}
    if layouts == {"json"}:
        return _settled(text, form, codes)
    if layouts == {"lines"}:
        return _lines_of_one(text, found[0], form, codes)
    if layouts == {"line"}:
        return _lines(text, form, codes, {one.line for one in found})
    return Mended(text, ())


def _lines(text: str, form: Form | None, codes: Container[str], which: set[int]) -> Mended:
    lines = text.split("\n")
    mended: list[str] = []
    for number in sorted(which):
        one = _settled(lines[number - 1], form, codes)
        lines[number - 1] = one.text
        mended += one.codes
    return Mended("\n".join(lines), tuple(mended))


def _lines_of_one(text: str, document: Document, form: Form | None, codes: Container[str]) -> Mended:
    """A message a line: mended as one array, and written with a line for each again."""
    one = _settled(document.text, form or document.form, codes)
    if not one.codes:
        return Mended(text, ())
    new = [one.text[start:end] for start, end in item_spans(one.text, 0)]
    return Mended("\n".join(new) + ("\n" if text.endswith("\n") else ""), one.codes)


def _settled(text: str, form: Form | None, codes: Container[str]) -> Mended:
    """One mend after the other, until there is none left."""
    mended: list[str] = []
    seen = {text}
    while len(mended) < _MOST:
        step = _step(text, form, codes)
        if step is None or step[0] in seen:
            break
        text = step[0]
        seen.add(text)
        mended.append(step[1])
    return Mended(text, tuple(mended))


def _step(text: str, form: Form | None, codes: Container[str]) -> tuple[str, str] | None:
    for document in documents(text, form=form):
        transcript, whole = read(document), document.whole
        if transcript is None or whole is None or document.what not in ("request", "messages", "exchange"):
            continue
        page = Page(text, document.value) if not text.startswith("\ufeff") else Page(text[1:], document.value)
        bench = Bench(page, transcript, whole.place, whole.request_place)
        for code, mender in MENDS.items():
            if code in codes and (new := _made(mender, bench)) is not None and new != page.text:
                return "\ufeff" * text.startswith("\ufeff") + new, code
    return None


def _made(mender: Callable[[Bench], str | None], bench: Bench) -> str | None:
    """What a mend gives; None where the text cannot be cut, or would be no JSON behind it."""
    try:
        new = mender(bench)
        if new is not None:
            load(new)
        return new
    except (InputError, LookupError, ValueError):
        return None
