"""An event as it may leave the vault.

Nothing leaves that is not on the lists in `field`: a field that somebody adds to an event stays inside
until it is listed. Ids, codes, digests, counts, latencies and usage leave always; words leave only where
they are asked for, and then redacted.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

from remit.trace.field import ALWAYS, CONTENT
from remit.trace.reader import Reader
from remit.trace.redact import Redactor
from remit.types.event import Recorded
from remit.types.ident import Json

__all__ = ["describe"]

_REDACTOR = Redactor()
_NO_WORDS: Mapping[str, Reader] = {}


def describe(recorded: Recorded, *, content: bool = False, redactor: Redactor | None = None) -> dict[str, Json]:
    """What may be shown of an event: `run`, `sequence`, `at_ms`, `kind`, and the listed fields of its kind.

    Args:
        content: with the words too: messages, arguments, results, reasons, answers.
        redactor: for the words; by default what looks like a secret is masked.
    """
    event = recorded.event
    always = ALWAYS[type(event)]
    words = CONTENT[type(event)] if content else _NO_WORDS
    masked = redactor or _REDACTOR
    shown: dict[str, Json] = {"run": recorded.run, "sequence": recorded.sequence, "at_ms": recorded.at_ms, "kind": event.kind}
    for field in dataclasses.fields(event):
        value: object = getattr(event, field.name)
        if field.name in words:
            shown[field.name] = masked.value(words[field.name](value, event))
        elif field.name in always:
            shown[field.name] = always[field.name](value, event)
    return shown
