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


def measure(measured: Measured, *, runs: int, waiting: int, length: int) -> None:
    """Add what many runs and long ones take.

    Args:
        runs: how many go at once.
        waiting: how many wait for a person.
        length: turns of the long run, messages of the long conversation.
    """
    with fake_model() as url:
        _many(measured, url, runs=runs, waiting=waiting)
        for name in ("floor anthropic", "remit anthropic", "floor anthropic journal", "remit anthropic sqlite write"):
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


def _many(measured: Measured, url: str, *, runs: int, waiting: int) -> None:
    for durable, where in ((False, "in memory"), (True, "on SQLite, a write a turn")):
        given: dict[str, Any] = {"runs": runs, "durable": durable}
        label = f"{runs} runs of 5 tool turns at once, {where}"
        _fresh(measured, url, label, _throughput, call="crowd", turns=5, **given)
        label = f"memory of a run while {runs} wait for the model, {where}"
        _fresh(measured, url, label, lambda taken: f"{taken['kb_per_run']:.0f} KB", call="active", think_ms=1500, **given)
    _fresh(measured, url, f"{waiting:,} runs that wait for a person, on SQLite", _waiting, call="idle", runs=waiting)


def _fresh(measured: Measured, url: str, label: str, say: Callable[[dict[str, Any]], str], **asked: Any) -> None:
    """One line from a process that has done nothing before."""
    worker = Worker(PLACE, url)
    _Book(measured, worker).note(label, say, **asked)
    worker.close()


def _throughput(taken: dict[str, Any]) -> str:
    share = taken["concurrent_wall_s"] / taken["sequential_cpu_s"]
    parts = [
        f"wall {taken['concurrent_wall_s']:.2f} s, which is {share:.2f} of the CPU time of as many one after the other",
        f"({taken['sequential_cpu_s']:.2f} s CPU, {taken['sequential_wall_s']:.2f} s wall);",
        f"{taken['concurrent_cpu_s']:.2f} s CPU",
    ]
    return " ".join(parts)


def _waiting(taken: dict[str, Any]) -> str:
    parts = [
        f"{taken['kb_per_run'] * 10_000 / 1024:.1f} MB of memory for each 10,000,",
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
