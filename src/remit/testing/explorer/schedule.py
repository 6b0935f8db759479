"""A schedule: what goes wrong, and when, as a short text that can be typed.

Knows the words and nothing of what they do. Invariant: reading a schedule's text gives the schedule, and writing it gives
the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, cast

from remit.errors import InputError

__all__ = ["ASKED", "CHECKED", "EFFECTS", "PEOPLE", "REPLIES", "SETTLES", "At", "Schedule", "Trouble", "plain_word"]

Kind = Literal[
    "crash",
    "unlock",
    "cancel",
    "again",
    "second",
    "clock",
    "world",
    "ask",
    "check",
    "model",
    "person",
    "settle",
    "order",
    "pause",
]

EFFECTS = ("lost", "hang", "fail", "refuse", "doubt", "late", "late-refuse", "after", "odd")
"""What may become of an attempt: done and the answer lost; done and no answer; not done and an error; declined; not known;
done after its time; declined after its time; sent, and done when nobody waits any more; done, with a result that is odd."""
ASKED = ("cannot", "fail", "hang")
"""How a system of record may answer in place of the truth."""
CHECKED = ("not", "fail", "hang")
"""What a workflow's check may find in place of that it is so."""
REPLIES = ("lost", "slow", "limited", "garbage")
"""What may become of a model's reply."""
PEOPLE = ("deny", "edit", "late", "twice", "withdraw", "cancel", "revoke", "stricter", "deploy", "alter")
"""What people may do in place of saying yes. `deploy` and `alter`: the process is replaced by one in which nothing, or the
tools' contracts, are changed."""
SETTLES = ("leave",)
"""What an operator may do about what is unknown, in place of looking in the books at the end."""

_TOKEN = re.compile(
    r"(?P<kind>crash|unlock|cancel|again|second|clock(?P<shift>[+-]\d+))@(?P<next>\+)?(?P<write>w)?(?P<number>\d+)(?P<side>[+-])?"
    r"|(?P<of>world|ask|check):(?P<tool>[A-Za-z0-9_.-]+?)(?:\#(?P<nth>\d+))?=(?P<mode>[a-z-]+)"
    r"|model\#(?P<turn>\d+)=(?P<reply>[a-z-]+)"
    r"|(?P<plain>person|settle)=(?P<said>[a-z-]+)"
    r"|(?P<count>order|pause)=(?P<amount>\d+)"
)


@dataclass(frozen=True, slots=True)
class At:
    """When: before a step or a write of the processes, counted from the beginning, or since the last one was started.

    Args:
        write: a write into the ledger is counted, not a step.
        since_start: counted from the start of the last process.
        after: of a write: it is durable, and nobody has seen that yet.
    """

    number: int
    write: bool = False
    since_start: bool = False
    after: bool = False

    def __str__(self) -> str:
        side = ("+" if self.after else "-") if self.write else ""
        return f"{'+' if self.since_start else ''}{'w' if self.write else ''}{self.number}{side}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Trouble:
    """One thing that goes wrong. `subject` is a tool or a check, `nth` the attempt, question or request that it befalls."""

    kind: Kind
    at: At | None = None
    subject: str = ""
    nth: int = 1
    mode: str = ""
    amount: int = 0

    def __str__(self) -> str:
        match self.kind:
            case "world" | "ask" | "check":
                nth = f"#{self.nth}" if self.nth > 1 else ""
                return f"{self.kind}:{self.subject}{nth}={self.mode}"
            case "model":
                return f"model#{self.nth}={self.mode}"
            case "person" | "settle":
                return f"{self.kind}={self.mode}"
            case "order" | "pause":
                return f"{self.kind}={self.amount}"
            case _:
                shift = f"{self.amount:+d}" if self.kind == "clock" else ""
                return f"{self.kind}{shift}@{self.at}"


@dataclass(frozen=True, slots=True)
class Schedule:
    """A scenario by its name, and what goes wrong in it."""

    scenario: str
    troubles: tuple[Trouble, ...] = ()

    def __str__(self) -> str:
        return " ".join([f"{self.scenario}:", *map(str, self.troubles)])

    @classmethod
    def read(cls, text: str) -> Schedule:
        """The schedule of a text such as `refund: crash@17 crash@+5`.

        Raises:
            InputError: a word in it is none (`explore.schedule`).
        """
        name, colon, rest = text.strip().partition(": ")
        if not colon:
            name, rest = name.removesuffix(":"), ""
        return cls(name, tuple(map(_trouble, rest.split())))

    def with_(self, *more: Trouble) -> Schedule:
        """The same and more."""
        return Schedule(self.scenario, (*self.troubles, *more))

    def of(self, kind: Kind) -> Iterable[Trouble]:
        """Its troubles of one kind."""
        return (one for one in self.troubles if one.kind == kind)

    def mode(self, kind: Kind) -> str:
        """The mode of the first trouble of a kind; empty if there is none."""
        return next((one.mode for one in self.of(kind)), "")

    def amount(self, kind: Kind) -> int:
        """The amount of the first trouble of a kind; 0 if there is none."""
        return next((one.amount for one in self.of(kind)), 0)


def _trouble(word: str) -> Trouble:
    found = _TOKEN.fullmatch(word)
    if found is None:
        raise _unknown(word)
    if found["of"]:
        kind = cast(Kind, found["of"])
        _known(word, found["mode"], {"world": EFFECTS, "ask": ASKED, "check": CHECKED}[found["of"]])
        return Trouble(kind=kind, subject=found["tool"], nth=int(found["nth"] or 1), mode=found["mode"])
    if found["turn"]:
        _known(word, found["reply"], REPLIES)
        return Trouble(kind="model", nth=int(found["turn"]), mode=found["reply"])
    if found["plain"]:
        kind = cast(Kind, found["plain"])
        _known(word, found["said"], PEOPLE if kind == "person" else SETTLES)
        return Trouble(kind=kind, mode=found["said"])
    if found["count"]:
        return Trouble(kind=cast(Kind, found["count"]), amount=int(found["amount"]))
    write, side = bool(found["write"]), found["side"]
    if write != bool(side):
        raise _unknown(word)
    at = At(int(found["number"]), write=write, since_start=bool(found["next"]), after=side == "+")
    kind = cast(Kind, found["kind"].rstrip("+-0123456789"))
    return Trouble(kind=kind, at=at, amount=int(found["shift"] or 0))


def plain_word(text: str) -> str:
    """The text as a word of a schedule."""
    return re.sub(r"[^A-Za-z0-9_.-]", "_", text)


def _known(word: str, mode: str, modes: tuple[str, ...]) -> None:
    if mode not in modes:
        raise InputError(f"{word!r} in the schedule: there is {', '.join(modes)}", code="explore.schedule")


def _unknown(word: str) -> InputError:
    return InputError(
        f"{word!r} in the schedule cannot be read; for example crash@17, crash@+w2-, world:TOOL=lost, person=deny",
        code="explore.schedule",
    )
