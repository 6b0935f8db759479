"""From what was measured to Markdown: minima and medians, and each row against the floor of its kind."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from subjects import PROTOCOLS, SUBJECTS, Subject

Taken = dict[str, Any]


@dataclass
class Measured:
    """All that one invocation took.

    Args:
        loops: subject -> number of turns -> one answer of its worker for each round.
        imports: what is imported -> (CPU seconds, megabytes).
        scale: label -> value, both as they are printed.
        missing: subject -> why it is not there.
    """

    loops: dict[str, dict[int, list[Taken]]] = field(default_factory=dict)
    imports: dict[str, tuple[float, float]] = field(default_factory=dict)
    scale: list[tuple[str, str]] = field(default_factory=list)
    missing: dict[str, str] = field(default_factory=dict)


def per_turn(taken: Sequence[Taken], turns: int, what: str) -> list[float]:
    """Microseconds of each turn, for each round: `cpu` of the subject's process, or `wall` less the fake model's own time."""
    if what == "cpu":
        return [one["cpu_us"] / turns for one in taken]
    return [(one["wall_us"] - one["server_us"]) / turns for one in taken]


def ratio(loops: dict[str, dict[int, list[Taken]]], subject: Subject, turns: int, what: str) -> float | None:
    """The subject's minimum over that of its floor."""
    own, floor = loops.get(subject.name, {}).get(turns), loops.get(subject.floor, {}).get(turns)
    if not own or not floor:
        return None
    return min(per_turn(own, turns, what)) / min(per_turn(floor, turns, what))


def markdown(measured: Measured) -> str:
    """All tables."""
    parts = [*_loops(measured), *_imports(measured), *_scale(measured)]
    if measured.missing:
        parts += ["", "Not measured here:", "", *(f"- {name}: {why}" for name, why in measured.missing.items())]
    return "\n".join(parts).strip() + "\n"


def _loops(measured: Measured) -> Iterable[str]:
    loops = measured.loops
    counts = sorted({turns for taken in loops.values() for turns in taken})
    for what, title in (("cpu", "CPU time"), ("wall", "Wall time without the model's")):
        if not counts:
            return
        yield from ("", f"### {title}, in microseconds per tool turn", "")
        yield "| subject | " + " | ".join(f"{turns} turns | of its floor" for turns in counts) + " |"
        yield "|---|" + "---:|---:|" * len(counts)
        for subject in _in_order(loops):
            cells: list[str] = []
            for turns in counts:
                taken = loops[subject.name].get(turns)
                if not taken:
                    cells += ["", ""]
                    continue
                values, against = per_turn(taken, turns, what), ratio(loops, subject, turns, what)
                cells.append(f"{min(values):,.0f} ({statistics.median(values):,.0f})")
                cells.append("" if against is None or subject.kind == "floor" else f"{against:.2f}")
            name = f"**{subject.name}**" if subject.kind == "own" else subject.name
            yield f"| {name} | " + " | ".join(cells) + " |"


def _in_order(loops: dict[str, Any]) -> list[Subject]:
    """By what they are held against, floors first, then us, then the peers."""
    kinds = ("floor", "own", "peer")
    there = [subject for name, subject in SUBJECTS.items() if name in loops]
    return sorted(there, key=lambda one: (one.durable, one.streamed, PROTOCOLS.index(one.protocol), kinds.index(one.kind)))


def _imports(measured: Measured) -> Iterable[str]:
    if not measured.imports:
        return
    yield from ("", "### Import", "", "| what | CPU, in seconds | memory, in MB |", "|---|---:|---:|")
    for what, (cpu_s, megabytes) in sorted(measured.imports.items(), key=lambda one: one[1]):
        yield f"| `{what}` | {cpu_s:.2f} | {megabytes:.0f} |"


def _scale(measured: Measured) -> Iterable[str]:
    if measured.scale:
        yield from ("", "### Many runs, and long ones", "", "| what | value |", "|---|---|")
        for label, value in measured.scale:
            yield f"| {label} | {value} |"
