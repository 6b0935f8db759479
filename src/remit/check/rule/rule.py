"""A rule about transcripts, what it looks at, and what it finds.

Knows no protocol. Invariant: a rule is pure; its findings name places and ids, never what arguments and results hold.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

from remit.check.pair import Pairs, pairs_of
from remit.check.transcript import Call, Declared, Item, Message, Result, Transcript

__all__ = ["Case", "Check", "Finding", "Found", "Memory", "Rule", "Severity", "found", "named", "rule"]

Severity = Literal["error", "warning", "note"]
"""`error`: the provider refuses it, or something was lost. `warning`: it is accepted, and looks wrong. `note`: to know."""


@dataclass(frozen=True, slots=True)
class Found:
    """A breach: where, what is wrong there, and how to mend it."""

    place: str
    message: str
    mend: str
    severity: Severity | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """A breach with its rule's code.

    Args:
        place: a JSON Pointer into the document.
        line: of the file, 0 where the document is the whole of it.
    """

    code: str
    severity: Severity
    place: str
    message: str
    mend: str
    line: int = 0


class Memory:
    """What stands before a transcript in the same file, by its calls: which response made one, and with which tools."""

    def __init__(self) -> None:
        self._heard: dict[tuple[str, str, str], Message] = {}
        self._tooled: set[tuple[str, str, str]] = set()

    def keep(self, transcript: Transcript) -> None:
        """Remember one."""
        for message in transcript.messages:
            for call in message.calls:
                if call.id and message.received:
                    self._heard[_key(call)] = message
                if call.id and transcript.tools:
                    self._tooled.add(_key(call))

    def heard(self, call: Call) -> Message | None:
        """The response that made a call, None where it is not in the file."""
        return self._heard.get(_key(call))

    def had_tools(self, call: Call) -> bool:
        """Whether an earlier document of the conversation declared tools."""
        return _key(call) in self._tooled


def _key(call: Call) -> tuple[str, str, str]:
    """Ids alone are used again in other conversations."""
    return call.id, call.name, call.asked


class Case:
    """A transcript with its pairs, and what stands before it in the same file."""

    def __init__(self, transcript: Transcript, memory: Memory | None = None) -> None:
        self.transcript = transcript
        self.memory = memory or Memory()

    @cached_property
    def pairs(self) -> Pairs:
        """Which result answers which call."""
        return pairs_of(self.transcript)

    @property
    def form(self) -> str:
        """The protocol."""
        return self.transcript.form

    def items(self) -> Iterator[tuple[Message, Item]]:
        """All that is said, with the message it is said in."""
        for message in self.transcript.messages:
            for item in message.said:
                yield message, item

    def results(self) -> Iterator[Result]:
        """All results."""
        for message in self.transcript.messages:
            yield from message.results


Check = Callable[[Case], Iterator[Found]]
"""Yields the breaches in a transcript, in their order."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """What is looked for.

    Args:
        code: stable; the name of its page.
        severity: of its findings, where they do not say otherwise.
        title: one line.
        check: looks for breaches.
        mended: whether `--fix` can mend one.
    """

    code: str
    severity: Severity
    title: str
    check: Check = field(repr=False)
    mended: bool = False


def rule(code: str, severity: Severity, title: str, *, mended: bool = False) -> Callable[[Check], Rule]:
    """Make the check below it a rule."""
    return lambda check: Rule(code=code, severity=severity, title=title, check=check, mended=mended)


def found(where: Item | Declared | str, message: str, mend: str, severity: Severity | None = None) -> Found:
    """A breach at the place of an item."""
    return Found(where if isinstance(where, str) else where.place, message, mend, severity)


_LONGEST = 80


def named(call: Call | str) -> str:
    """A tool or an id, as it can be printed."""
    text = call if isinstance(call, str) else call.name
    short = text if len(text) <= _LONGEST else text[:_LONGEST] + "..."
    return f"`{short}`" if short.isprintable() else ascii(short)
