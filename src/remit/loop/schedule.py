"""Which calls of one turn may start now, and which will not start at all.

Pure; knows statuses, effects and what calls touch, not what they do. Invariant: two writes that are
not disjoint never run at once and never out of the model's order, and every decision depends on
earlier calls only, so a turn cannot block itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from remit.loop.phase import ACTIVE
from remit.loop.state import CallState
from remit.types.ident import CallId, Digest
from remit.types.outcome import Failed, NotRun, Unknown

__all__ = ["HELD_BACK", "WAITING", "Moves", "schedule"]

HELD_BACK = "held_back"
"""An earlier write failed, or it is unknown whether it happened."""

WAITING = "waiting"
"""An earlier call waits for a person, and the model is answered without it."""


_GOING = frozenset({"start", "runs", "later"})
"""Fates of what goes on without anybody's word."""


@dataclass(frozen=True, slots=True)
class Moves:
    """Calls to start now, and calls that are answered `NotRun` with a code."""

    start: tuple[CallId, ...] = ()
    hold_back: tuple[tuple[CallId, str], ...] = ()

    def __bool__(self) -> bool:
        return bool(self.start or self.hold_back)


@dataclass(slots=True)
class _Writes:
    """Fates of a tool's earlier writes: of all, of those that declare nothing, and by what they share with others."""

    all: set[str] = field(default_factory=set[str])
    undeclared: set[str] = field(default_factory=set[str])
    by_resource: dict[str, set[str]] = field(default_factory=dict[str, set[str]])
    by_key: dict[Digest, set[str]] = field(default_factory=dict[Digest, set[str]])

    def add(self, call: CallState, fate: str) -> None:
        self.all.add(fate)
        if call.key is not None:
            self.by_key.setdefault(call.key, set()).add(fate)
        if call.resources is None:
            self.undeclared.add(fate)
        for resource in call.resources or ():
            self.by_resource.setdefault(resource, set()).add(fate)

    def sharing(self, resources: tuple[str, ...] | None) -> set[str]:
        if resources is None:
            return self.all
        return self.undeclared.union(*[self.by_resource[one] for one in resources if one in self.by_resource])


class _Earlier:
    """The calls before one: a look at them costs the same however many they are.

    The order of two writes cannot matter (they are disjoint) if they declare what they touch and share nothing of it, or are
    the same tool's with different business keys. What asks a person is disjoint from nothing. What another agent does is not
    known before: such calls are disjoint from one another alone.
    """

    def __init__(self) -> None:
        self.reads = False
        self._agents: set[str] = set()
        self._asks: set[str] = set()
        self._writes: dict[tuple[str, bool], _Writes] = {}

    def add(self, call: CallState, fate: str) -> None:
        if fate == "done":
            return
        if call.effect == "read":
            self.reads = self.reads or fate in _GOING
        elif call.effect == "ask":
            self._asks.add(fate)
        elif call.effect == "agent":
            self._agents.add(fate)
        elif call.effect == "write":
            self._writes.setdefault((call.name, call.key is not None), _Writes()).add(call, fate)

    def fates(self, call: CallState) -> set[str]:
        """Of the writes and questions that are not disjoint from `call`."""
        found = {*self._asks}
        if call.effect != "agent":
            found |= self._agents
        for (name, keyed), writes in self._writes.items():
            if call.effect in ("ask", "agent"):
                found |= writes.all
            elif keyed and call.key is not None and name == call.name:
                found |= writes.by_key.get(call.key, set())
            else:
                found |= writes.sharing(call.resources)
        return found


def schedule(
    calls: Sequence[CallState], *, on_wait: Literal["hold", "answer"] = "hold", running: Sequence[CallState] = ()
) -> Moves:
    """Decide for every ready call of a turn.

    Args:
        calls: all calls of the turn, in the model's order.
        running: calls of earlier turns that have no outcome yet.
    """
    before = _Earlier()
    for call in running:
        if call.status in ACTIVE and call.effect in ("write", "agent"):
            before.add(call, "runs")
    start: list[CallId] = []
    hold_back: list[tuple[CallId, str]] = []
    for call in calls:
        fate = _fate(call, before, on_wait)
        if call.status == "ready" and fate == "start":
            start.append(call.id)
        elif call.status == "ready" and fate in (HELD_BACK, WAITING):
            hold_back.append((call.id, fate))
        before.add(call, fate)
    return Moves(tuple(start), tuple(hold_back))


def _fate(call: CallState, before: _Earlier, on_wait: Literal["hold", "answer"]) -> str:
    """What an earlier call means to later ones, or what becomes of a ready one.

    `done`, `runs` (or is about to), `blocked` (until a person decides), `later` (after earlier calls), `start`,
    or the code with which it is held back.
    """
    if call.status == "ended":
        return _ended(call)
    if call.status in ("awaiting", "joined"):
        return "blocked"
    if call.status != "ready":
        return "runs"
    if call.effect == "read":
        return "later" if before.fates(call) & _GOING else "start"
    return _fate_of_write(call, before, on_wait) if call.effect in ("write", "agent") else "start"


def _ended(call: CallState) -> str:
    outcome = call.outcome
    if call.effect not in ("write", "agent"):
        return "done"
    if isinstance(outcome, (Failed, Unknown)):
        return HELD_BACK
    if isinstance(outcome, NotRun) and outcome.code in (HELD_BACK, WAITING):
        return outcome.code
    return "done"


def _fate_of_write(call: CallState, before: _Earlier, on_wait: Literal["hold", "answer"]) -> str:
    fates = before.fates(call)
    if HELD_BACK in fates:
        return HELD_BACK
    if WAITING in fates or ("blocked" in fates and on_wait == "answer"):
        return WAITING
    if "blocked" in fates:
        return "blocked"
    return "later" if before.reads or fates & _GOING else "start"
