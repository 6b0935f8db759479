"""Transcripts that exist already: read, checked, mended, cut, converted.

Knows no run and no ledger. Invariant: whatever a file holds, nothing is raised; what is not mended stays byte for byte.
"""

from __future__ import annotations

from remit.check.check import SOURCE, Checked, check, wanted
from remit.check.convert import Converted, Loss, convert, neutral
from remit.check.cut import Kept, cut
from remit.check.mend import MENDS, Mended, mend
from remit.check.rule import RULES, Finding, Rule, Severity
from remit.check.source import Document, documents, read
from remit.check.transcript import Form, Transcript

__all__ = [
    "MENDS",
    "RULES",
    "SOURCE",
    "Checked",
    "Converted",
    "Document",
    "Finding",
    "Form",
    "Kept",
    "Loss",
    "Mended",
    "Rule",
    "Severity",
    "Transcript",
    "check",
    "convert",
    "cut",
    "documents",
    "mend",
    "neutral",
    "read",
    "wanted",
]
