"""Which calls of one turn may start now, and which will not start at all.

Pure; knows statuses, effects and what calls touch, not what they do. Invariant: two writes that are
not disjoint never run at once and never out of the model's order, and every decision depends on
earlier calls only, so a turn cannot block itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from remit.loop.phase import ACTIVE
from remit.loop.state import CallState
from remit.types.ident import CallId
from remit.types.outcome import Failed, NotRun, Unknown

__all__ = ["HELD_BACK", "WAITING", "Moves", "disjoint", "schedule"]

HELD_BACK = "held_back"
"""An earlier write failed, or it is unknown whether it happened."""

WAITING = "waiting"
"""An earlier call waits for a person, and the model is answered without it."""


@dataclass(frozen=True, slots=True)
class Moves:
    """Calls to start now, and calls that are answered `NotRun` with a code."""

    start: tuple[CallId, ...] = ()
    hold_back: tuple[tuple[CallId, str], ...] = ()

    def __bool__(self) -> bool:
        return bool(self.start or self.hold_back)


def disjoint(one: CallState, other: CallState) -> bool:
    """Whether the order of two writes cannot matter: they declare what they touch and share nothing of it, or are
    the same tool's with different business keys. What asks a person is disjoint from nothing."""
    if "ask" in (one.effect, other.effect):
        return False
    if one.name == other.name and one.key is not None and other.key is not None:
        return one.key != other.key
    if one.resources is None or other.resources is None:
        return False
    return not set(one.resources) & set(other.resources)


def schedule(
    calls: Sequence[CallState], *, on_wait: Literal["hold", "answer"] = "hold", running: Sequence[CallState] = ()
) -> Moves:
    """Decide for every ready call of a turn.

    Args:
        calls: all calls of the turn, in the model's order.
        running: calls of earlier turns that have no outcome yet.
    """
    before = [(call, "runs") for call in running if call.status in ACTIVE and call.effect == "write"]
    start: list[CallId] = []
    hold_back: list[tuple[CallId, str]] = []
    for call in calls:
        fate = _fate(call, before, on_wait)
        if call.status == "ready" and fate == "start":
            start.append(call.id)
        elif call.status == "ready" and fate in (HELD_BACK, WAITING):
            hold_back.append((call.id, fate))
        before.append((call, fate))
    return Moves(tuple(start), tuple(hold_back))


def _fate(call: CallState, before: Sequence[tuple[CallState, str]], on_wait: Literal["hold", "answer"]) -> str:
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
        waits = any(fate in ("start", "runs", "later") for fate in _of_writes(call, before))
        return "later" if waits else "start"
    return _fate_of_write(call, before, on_wait) if call.effect == "write" else "start"


def _ended(call: CallState) -> str:
    outcome = call.outcome
    if call.effect != "write":
        return "done"
    if isinstance(outcome, (Failed, Unknown)):
        return HELD_BACK
    if isinstance(outcome, NotRun) and outcome.code in (HELD_BACK, WAITING):
        return outcome.code
    return "done"


def _fate_of_write(call: CallState, before: Sequence[tuple[CallState, str]], on_wait: Literal["hold", "answer"]) -> str:
    fates = _of_writes(call, before)
    if HELD_BACK in fates:
        return HELD_BACK
    if WAITING in fates or ("blocked" in fates and on_wait == "answer"):
        return WAITING
    if "blocked" in fates:
        return "blocked"
    if fates & {"start", "runs", "later"}:
        return "later"
    reads = any(one.effect == "read" and fate in ("start", "runs", "later") for one, fate in before)
    return "later" if reads else "start"


def _of_writes(call: CallState, before: Sequence[tuple[CallState, str]]) -> set[str]:
    """The fates of the earlier writes and questions that are not disjoint from `call`."""
    return {fate for one, fate in before if one.effect in ("write", "ask") and not disjoint(one, call)}
