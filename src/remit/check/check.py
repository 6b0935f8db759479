"""Checking a file: its documents read, every rule run over each.

Invariant: whatever the file holds, nothing is raised; what could not be read is a finding.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from remit.check.rule import RULES, Case, Finding, Memory, Rule, Severity
from remit.check.source import Document, documents, read
from remit.check.transcript import Form

__all__ = ["SOURCE", "Checked", "check", "check_documents", "wanted"]

_SAVE = "save what the client library sent or got, as JSON in UTF-8; NaN is none, nor is nesting without end"

SOURCE: dict[str, tuple[Severity, str, str, str]] = {
    "source.not_json": ("error", "The file is no JSON", "this is no JSON", _SAVE),
    "source.unknown": (
        "note",
        "No transcript of a known protocol",
        "no transcript of Anthropic Messages, OpenAI Chat or OpenAI Responses is in here",
        "name the protocol with --format, or leave it out",
    ),
    "source.stream": (
        "warning",
        "A stream ends before its reply does",
        "the stream did not say that its reply is whole",
        "treat it as if nothing had come: run no call of it",
    ),
}
"""Code -> severity, title, message and mend of what cannot be read."""


@dataclass(frozen=True, slots=True)
class Checked:
    """A file's documents, and what was found in them."""

    documents: tuple[Document, ...]
    findings: tuple[Finding, ...]


def check(text: str, *, form: Form | None = None, rules: Sequence[Rule] = RULES) -> Checked:
    """Check the text of a file.

    Args:
        text: of the file.
        form: the protocol, where it is known; else it is recognized.
        rules: those that are run.
    """
    found = documents(text, form=form)
    return Checked(tuple(found), tuple(check_documents(found, rules)))


def check_documents(found: Iterable[Document], rules: Sequence[Rule] = RULES) -> list[Finding]:
    """What is found in documents of one file; earlier ones are what was said before."""
    memory = Memory()
    findings: list[Finding] = []
    for document in found:
        if document.fault:
            severity, _, message, mend = SOURCE[document.fault]
            place = "/response" if document.what == "exchange" else ""
            findings.append(
                Finding(code=document.fault, severity=severity, place=place, message=message, mend=mend, line=document.line)
            )
        transcript = read(document)
        if transcript is not None:
            findings += _run(Case(transcript, memory), rules, document.line)
            memory.keep(transcript)
    return findings


def _run(case: Case, rules: Sequence[Rule], line: int) -> list[Finding]:
    found: list[Finding] = []
    for one in rules:
        for breach in one.check(case):
            severity = breach.severity or one.severity
            finding = Finding(
                code=one.code, severity=severity, place=breach.place, message=breach.message, mend=breach.mend, line=line
            )
            found.append(finding)
    return found


def wanted(select: Sequence[str], ignore: Sequence[str]) -> tuple[Rule, ...]:
    """The rules whose codes, or beginnings of them, are selected and not ignored; nothing selected is all."""
    return tuple(one for one in RULES if (not select or _among(one.code, select)) and not _among(one.code, ignore))


def _among(code: str, named: Sequence[str]) -> bool:
    return any(code == one or code.startswith(one.rstrip(".") + ".") for one in named)
