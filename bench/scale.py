"""One process with many runs, and long runs: throughput, memory, and whether the last turn costs what the first did."""

from __future__ import annotations

import itertools
import statistics
import sys
from collections.abc import Callable, Sequence
from typing import Any

from fleet import Worker, fake_model
from subjects import SUBJECTS, Subject
from table import Measured

LONG = (
    "floor anthropic",
    "lean floor anthropic",
    "remit anthropic",
    "floor anthropic journal",
    "remit anthropic sqlite write",
)
"""Subjects of which one long run is measured."""

PLACE = Subject("scale", "own", "anthropic", "own.scale")


class _Book:
    """Writes down what a worker answers; an error too."""

    def __init__(self, measured: Measured, worker: Worker) -> None:
        self._measured = measured
        self._worker = worker

    def note(self, label: str, say: Callable[[dict[str, Any]], str], **asked: Any) -> None:
        """Ask, and write one line."""
        print(label, file=sys.stderr, flush=True)
        taken = self._worker.ask(**asked)
        self._measured.scale.append((label, f"failed: {taken['error']}" if "error" in taken else say(taken)))


def measure(measured: Measured, *, runs: int, rounds: int, waiting: int, length: int) -> None:
    """Add what many runs and long ones take.

    Args:
        runs: how many go at once, and as many one after the other.
        rounds: of both.
        waiting: how many wait for a person.
        length: turns of the long run, messages of the long conversation.
    """
    with fake_model() as url:
        _many(measured, url, runs=runs, rounds=rounds, waiting=waiting)
        for name in LONG:
            worker = Worker(SUBJECTS[name], url)
            worker.ask(turns=10)
            book = _Book(measured, worker)
            book.note(
                f"one run of {length:,} tool turns, {name}", lambda taken: _ends(taken["marks"]), turns=length, marks=True
            )
            worker.close()
        for durable, where in ((False, "in memory"), (True, "on SQLite")):
            label = f"one conversation of {length:,} messages, a run each, {where}"
            asked = {"call": "conversation", "messages": length, "durable": durable}
            _fresh(measured, url, label, lambda taken: _grown(taken["taken_s"]), **asked)


def _many(measured: Measured, url: str, *, runs: int, rounds: int, waiting: int) -> None:
    few, many = runs // 2, runs // 2 + runs
    for durable, where in ((False, "in memory"), (True, "on SQLite, a write a turn")):
        label = f"{runs} runs of 5 tool turns, one after the other and all at once, {where}"
        _fresh(measured, url, label, _throughput, call="crowd", runs=runs, turns=5, rounds=rounds, durable=durable)
        label = f"memory of a run that waits for its model, {where}"
        given: dict[str, Any] = {"few": few, "many": many, "think_ms": 4_000, "durable": durable}
        _fresh(measured, url, label, lambda taken: f"{taken['kb_per_run']:.0f} KB", call="active", **given)
    _fresh(measured, url, f"{waiting:,} runs that wait for a person, on SQLite", _waiting, call="idle", runs=waiting)


def _fresh(measured: Measured, url: str, label: str, say: Callable[[dict[str, Any]], str], **asked: Any) -> None:
    """One line from a process that has done nothing before."""
    worker = Worker(PLACE, url)
    _Book(measured, worker).note(label, say, **asked)
    worker.close()


def _throughput(taken: dict[str, Any]) -> str:
    cpu, wall = (taken[f"concurrent_{what}_s"] / taken[f"sequential_{what}_s"] for what in ("cpu", "wall"))
    parts = [
        f"one after the other {taken['sequential_cpu_s']:.2f} s CPU, {taken['sequential_wall_s']:.2f} s wall;",
        f"at once {taken['concurrent_cpu_s']:.2f} s CPU ({cpu:.2f} times),",
        f"{taken['concurrent_wall_s']:.2f} s wall ({wall:.2f} times)",
    ]
    return " ".join(parts)


def _waiting(taken: dict[str, Any]) -> str:
    parts = [
        f"{taken['kb_per_run']:.2f} KB of memory each,",
        f"{taken['disk_kb_per_run']:.1f} KB on disk each; CPU while nothing happens {taken['calm']:.2%} of a core",
    ]
    return " ".join(parts)


def _ends(marks: Sequence[float]) -> str:
    """CPU time of a turn at the beginning and at the end, as medians of a twentieth of the run each."""
    return _grown([later - earlier for earlier, later in itertools.pairwise(marks)])


def _grown(taken_s: Sequence[float]) -> str:
    some = max(2, len(taken_s) // 20)
    first, last = statistics.median(taken_s[1 : some + 1]) * 1e6, statistics.median(taken_s[-some:]) * 1e6
    return f"{first:,.0f} µs CPU at first, {last:,.0f} µs at last: {last / first:.2f} times"
