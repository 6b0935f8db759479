"""From what was measured to Markdown: minima and medians, and each row against the floor of its kind."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from subjects import PROTOCOLS, SUBJECTS, Subject

Taken = dict[str, Any]
"""What a worker answers."""
Loops = dict[str, dict[int, list[Taken]]]
"""Subject -> number of turns -> one answer of its worker for each round."""

CLOCKS = (("cpu", "CPU time"), ("wall", "Wall time without the model's"))
KINDS = ("floor", "lean", "own", "peer")


@dataclass
class Measured:
    """All that one invocation took.

    Args:
        loops: with replies of a few words.
        padded: with longer ones; so many characters of them are in `pad`.
        imports: what is done in a fresh process -> (CPU seconds, megabytes).
        scale: label -> value, both as they are printed.
        missing: subject -> why it is not there.
    """

    loops: Loops = field(default_factory=dict)
    padded: Loops = field(default_factory=dict)
    pad: int = 0
    imports: dict[str, tuple[float, float]] = field(default_factory=dict)
    scale: list[tuple[str, str]] = field(default_factory=list)
    missing: dict[str, str] = field(default_factory=dict)


def per_turn(taken: Sequence[Taken], turns: int, what: str) -> list[float]:
    """Microseconds of each turn, for each round: `cpu` of the subject's process, or `wall` less the fake model's own time."""
    if what == "cpu":
        return [one["cpu_us"] / turns for one in taken]
    return [(one["wall_us"] - one["server_us"]) / turns for one in taken]


def ratio(loops: Loops, subject: str, floor: str, turns: int, what: str) -> float | None:
    """The subject's minimum over that of a floor; None where either was not measured."""
    own, under = loops.get(subject, {}).get(turns), loops.get(floor, {}).get(turns)
    if not own or not under:
        return None
    return min(per_turn(own, turns, what)) / min(per_turn(under, turns, what))


def markdown(measured: Measured) -> str:
    """All tables."""
    parts = [*_loops(measured.loops, "")]
    if measured.padded:
        parts += _loops(measured.padded, f", replies of {measured.pad:,} characters")
    parts += [*_imports(measured), *_scale(measured), *_missing(measured)]
    return "\n".join(parts).strip() + "\n"


def peers_markdown(measured: Measured) -> str:
    """The peers' tables: each row with its ratio."""
    return "\n".join([*_against(measured.loops), *_imports(measured), *_missing(measured)]).strip() + "\n"


def _loops(loops: Loops, which: str) -> Iterable[str]:
    yield from _ratios(loops, which)
    counts = _counts(loops)
    for what, title in CLOCKS if loops else ():
        yield from ("", f"### {title}, in microseconds per tool turn{which}", "")
        yield "| subject | " + " | ".join(f"{turns} turns" for turns in counts) + " |"
        yield "|---|" + "---:|" * len(counts)
        for subject in _in_order(loops):
            cells = [_cell(loops, subject, turns, what) for turns in counts]
            yield f"| {_name(subject)} | " + " | ".join(cells) + " |"


def _ratios(loops: Loops, which: str) -> Iterable[str]:
    """What Remit takes of what each of its floors takes."""
    rows = [(one, floor) for one in _in_order(loops) if one.kind == "own" for floor in one.floors if loops.get(floor)]
    if not rows:
        return
    counts = _counts(loops)
    heads = [f"{'CPU' if what == 'cpu' else 'wall'}, {turns} turns" for what, _ in CLOCKS for turns in counts]
    yield from ("", f"### Remit as a multiple of its floors{which}", "")
    yield "| subject | against | " + " | ".join(heads) + " |"
    yield "|---|---|" + "---:|" * len(heads)
    for subject, floor in rows:
        found = [ratio(loops, subject.name, floor, turns, what) for what, _ in CLOCKS for turns in counts]
        cells = ["failed" if one is None else f"{one:.2f}" for one in found]
        yield f"| **{subject.name}** | {floor} | " + " | ".join(cells) + " |"


def _against(loops: Loops) -> Iterable[str]:
    counts = _counts(loops)
    for what, title in CLOCKS if loops else ():
        yield from ("", f"### {title}, in microseconds per tool turn, and how many times its floor's", "")
        yield "| subject | " + " | ".join(f"{turns} turns | times" for turns in counts) + " |"
        yield "|---|" + "---:|---:|" * len(counts)
        for subject in _in_order(loops):
            cells: list[str] = []
            for turns in counts:
                against = ratio(loops, subject.name, subject.floor, turns, what)
                cells += [_cell(loops, subject, turns, what), "" if against is None else f"{against:.2f}"]
            yield f"| {_name(subject)} | " + " | ".join(cells) + " |"


def _cell(loops: Loops, subject: Subject, turns: int, what: str) -> str:
    taken = loops[subject.name].get(turns)
    if not taken:
        return "failed"
    values = per_turn(taken, turns, what)
    return f"{min(values):,.0f} ({statistics.median(values):,.0f})"


def _name(subject: Subject) -> str:
    return f"**{subject.name}**" if subject.kind == "own" else subject.name


def _counts(loops: Loops) -> list[int]:
    return sorted({turns for taken in loops.values() for turns in taken})


def _in_order(loops: Loops) -> list[Subject]:
    """By what they are held against, floors first, then us, then the peers."""
    there = [subject for name, subject in SUBJECTS.items() if name in loops]
    return sorted(there, key=lambda one: (one.durable, one.streamed, PROTOCOLS.index(one.protocol), KINDS.index(one.kind)))


def _imports(measured: Measured) -> Iterable[str]:
    if not measured.imports:
        return
    yield from ("", "### In a fresh process", "", "| what | CPU, in seconds | memory, in MB |", "|---|---:|---:|")
    for what, (cpu_s, megabytes) in sorted(measured.imports.items(), key=lambda one: one[1]):
        yield f"| {what} | {cpu_s:.2f} | {megabytes:.0f} |"


def _scale(measured: Measured) -> Iterable[str]:
    if measured.scale:
        yield from ("", "### Many runs, and long ones", "", "| what | value |", "|---|---|")
        for label, value in measured.scale:
            yield f"| {label} | {value} |"


def _missing(measured: Measured) -> Iterable[str]:
    if measured.missing:
        yield from ("", "Not measured here:", "", *(f"- {name}: {why}" for name, why in measured.missing.items()))
