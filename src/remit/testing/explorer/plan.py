"""Which schedules are played: first one trouble each, then two, then mixes by the seed.

Knows how long a scenario is when nothing goes wrong. Invariant: equal scenarios, seeds and numbers give equal lists, and
what a list leaves out is spread over it evenly.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from random import Random
from typing import TypeVar

from remit.testing.explorer.schedule import ASKED, CHECKED, EFFECTS, PEOPLE, REPLIES, At, Schedule, Trouble
from remit.tool import Tool

__all__ = ["Length", "plan"]

T = TypeVar("T")

_FEW, _SINGLES, _PAIRS = 0.4, 0.6, 0.9
"""Up to which shares of all schedules those with one trouble of a kind that there are few of may go, those with one, and
those with two."""
_HOUR_S = 3_600
_DAYS_S = 40 * 86_400


@dataclass(frozen=True, slots=True, kw_only=True)
class Length:
    """A scenario, played without trouble.

    Args:
        tools, checks: how often each was tried.
        base: what goes wrong in each of its schedules.
        asked: how often a model was asked.
        waits: whether people were.
    """

    scenario: str
    base: tuple[Trouble, ...] = ()
    steps: int
    writes: int
    asked: int
    tools: Sequence[tuple[Tool, int]]
    checks: Sequence[tuple[str, int]] = ()
    waits: bool

    def with_(self, *troubles: Trouble) -> Schedule:
        """A schedule of it."""
        return Schedule(self.scenario, (*self.base, *troubles))

    @property
    def decides(self) -> Sequence[str]:
        """What people may do; nothing where that is said already."""
        return PEOPLE if self.waits and not any(one.kind == "person" for one in self.base) else ()


def plan(lengths: Sequence[Length], *, count: int, seed: int) -> list[Schedule]:
    """So many schedules; the first ones are the scenarios without trouble."""
    plain = [one.with_() for one in lengths]
    few = _braided([[one.with_(trouble) for trouble in _few(one)] for one in lengths])
    chosen = [*plain, *_spread(few, round(count * _FEW) - len(plain))]
    many = _braided([[one.with_(trouble) for trouble in _at_every_step(one)] for one in lengths])
    chosen += _spread(many, round(count * _SINGLES) - len(chosen))
    pairs = _braided([[one.with_(*pair) for pair in _pairs(one)] for one in lengths])
    chosen += _spread(pairs, round(count * _PAIRS) - len(chosen))
    chance = Random(seed)
    while len(chosen) < count:
        chosen.append(_mixed(chance.choice(lengths), chance))
    return chosen[: max(count, 1)]


def _braided(lists: Sequence[Sequence[T]]) -> list[T]:
    """One of each in turn, each list at its own pace, so that they end together."""
    placed = [((at + 1) / (len(one) + 1), number, item) for number, one in enumerate(lists) for at, item in enumerate(one)]
    return [item for _, _, item in sorted(placed, key=lambda place: place[:2])]


def _spread(items: Sequence[T], most: int) -> list[T]:
    """At most so many, evenly from the whole."""
    if most <= 0:
        return []
    if len(items) <= most:
        return [*items]
    return [items[at * len(items) // most] for at in range(most)]


# one trouble


def _few(length: Length) -> Iterator[Trouble]:
    """People, the world, the model, and every write."""
    yield from (Trouble(kind="person", mode=mode) for mode in length.decides)
    yield from _crashes(length)
    yield from _world(length)
    yield from (Trouble(kind="model", nth=nth, mode=mode) for nth in range(1, length.asked + 1) for mode in REPLIES)


def _at_every_step(length: Length) -> Iterator[Trouble]:
    yield from (Trouble(kind="crash", at=At(number)) for number in range(1, length.steps + 1))
    yield from (Trouble(kind="cancel", at=At(number)) for number in range(1, length.steps + 1))
    yield from (Trouble(kind="again", at=At(number)) for number in range(1, length.steps + 1, 2))
    yield from (Trouble(kind="second", at=At(number)) for number in range(1, length.steps + 1, 2))
    for shift in (_HOUR_S, -_HOUR_S, _DAYS_S, -_DAYS_S):
        yield from (Trouble(kind="clock", amount=shift, at=At(number)) for number in range(1, length.steps + 1, 7))


def _crashes(length: Length, *, since_start: bool = False) -> Iterator[Trouble]:
    for number in range(1, length.writes + 1):
        for after in (False, True):
            yield Trouble(kind="crash", at=At(number, write=True, after=after, since_start=since_start))


def _world(length: Length) -> Iterator[Trouble]:
    for tool, tried in length.tools:
        for nth in range(1, tried + 1):
            yield from (Trouble(kind="world", subject=tool.name, nth=nth, mode=mode) for mode in EFFECTS)
    for name, tried in length.checks:
        for nth in range(1, tried + 1):
            yield from (Trouble(kind="check", subject=name, nth=nth, mode=mode) for mode in CHECKED)


def _questions(length: Length) -> Iterator[Trouble]:
    for tool, _ in length.tools:
        recovery = tool.effect.recovery
        if recovery is not None and recovery.kind == "reconcile":
            yield from (Trouble(kind="ask", subject=tool.name, mode=mode) for mode in ASKED)


# two troubles


def _pairs(length: Length) -> Iterator[tuple[Trouble, ...]]:
    crashes, world = [*_crashes(length)], [*_world(length)]
    again = [*_crashes(length, since_start=True)]
    people = [Trouble(kind="person", mode=mode) for mode in length.decides]
    beside = [Trouble(kind="second", at=At(number, since_start=True)) for number in (1, 9)]
    cancels = [Trouble(kind="cancel", at=At(number)) for number in range(1, length.steps + 1, 5)]
    late = [Trouble(kind="pause", amount=amount) for amount in (3, _HOUR_S)]
    yield from _both(world, [*_questions(length), Trouble(kind="settle", mode="leave")])
    yield from _both(world, crashes)
    yield from _both(crashes, again)
    yield from _both(people, crashes)
    yield from _both(crashes, [*beside, *late])
    yield from _both(world, [one for one in world if one.nth > 1])
    yield from _both(world, cancels)
    yield from _both(people, cancels)
    yield from _both(world, people)
    yield from _both(crashes, cancels)
    ahead = [Trouble(kind="clock", amount=_HOUR_S, at=At(number)) for number in range(1, length.steps + 1, 5)]
    yield from _both([one for one in world if one.mode == "after"], ahead)


def _both(first: Iterable[Trouble], then: Sequence[Trouble]) -> Iterator[tuple[Trouble, ...]]:
    return ((one, other) for one in first for other in then if _goes_with(one, other))


def _goes_with(one: Trouble, other: Trouble) -> bool:
    return (one.kind, one.subject, one.nth) != (other.kind, other.subject, other.nth) or one.at is not None


# any number


def _mixed(length: Length, chance: Random) -> Schedule:
    troubles: list[Trouble] = []
    pool = [*_world(length), *_questions(length)]
    for _ in range(chance.randint(0, 2)):
        if pool:
            troubles.append(chance.choice(pool))
    if length.decides and chance.random() < 0.3:
        troubles.append(Trouble(kind="person", mode=chance.choice(length.decides)))
    for since_start in (False, True, True)[: chance.randint(0, 3)]:
        troubles.append(_at_random(length, chance, "crash", since_start=since_start))
    for kind in ("cancel", "again", "second"):
        if chance.random() < 0.15:
            troubles.append(_at_random(length, chance, kind, since_start=False))
    if chance.random() < 0.15:
        at = At(chance.randint(1, length.steps))
        lands_late = any(one.mode == "after" for one in troubles)  # nobody can know that after a crash, and a clock put ahead
        ahead = () if lands_late else (_HOUR_S, _DAYS_S)
        troubles.append(Trouble(kind="clock", amount=chance.choice((*ahead, -_HOUR_S, -_DAYS_S)), at=at))
    if chance.random() < 0.15:
        troubles.append(Trouble(kind="model", nth=chance.randint(1, max(length.asked, 1)), mode=chance.choice(REPLIES)))
    troubles.append(Trouble(kind="order", amount=chance.randint(1, 999)))
    return length.with_(*troubles)


def _at_random(length: Length, chance: Random, kind: str, *, since_start: bool) -> Trouble:
    if kind == "crash" and chance.random() < 0.4:
        number = chance.randint(1, max(length.writes, 1))
        at = At(number, write=True, after=chance.random() < 0.5, since_start=since_start)
    else:
        at = At(chance.randint(1, length.steps), since_start=since_start)
    return Trouble(kind=kind, at=at)  # type: ignore[arg-type]
