"""Tool loops: warm processes, one for each subject, asked in rounds that are interleaved (A B C, A B C, ...)."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass

import environments
from fleet import Worker, fake_model
from subjects import Subject
from table import Loops, Measured


@dataclass(frozen=True)
class Course:
    """What every subject is asked for.

    Args:
        turns: how many tool turns, one length after the other.
        rounds: of each length.
        parallel: calls in a turn.
        pad: characters of text beside them.
    """

    turns: Sequence[int]
    rounds: int
    parallel: int
    pad: int


def measure(measured: Measured, subjects: Sequence[Subject], course: Course) -> Loops:
    """What these subjects take; one that fails is named as missing."""
    loops: Loops = {}
    with fake_model() as url:
        workers: list[Worker] = []
        try:
            for subject in subjects:
                worker = _warm(measured, subject, url)
                if worker is not None:
                    workers.append(worker)
            for count in course.turns:
                for number in range(course.rounds):
                    for worker in workers:
                        _once(measured, loops, worker, count, course)
                    load = os.getloadavg()[0]
                    said = f"{count} turns, {course.pad} characters, round {number + 1} of {course.rounds}, load {load:.1f}"
                    print(said, file=sys.stderr, flush=True)
        finally:
            for worker in workers:
                worker.close()
    return loops


def _warm(measured: Measured, subject: Subject, url: str) -> Worker | None:
    """A worker that has done everything once; None where it cannot."""
    trouble = None if subject.family is None else environments.make(subject.family)
    if trouble is not None:
        measured.missing[subject.name] = trouble
        return None
    worker = Worker(subject, url)
    for _ in range(2):
        taken = worker.ask(turns=10)
        if taken.get("ran") != 10:
            measured.missing[subject.name] = str(taken.get("error", f"its tool ran {taken.get('ran')} times, not 10"))
            worker.close()
            return None
    return worker


def _once(measured: Measured, loops: Loops, worker: Worker, turns: int, course: Course) -> None:
    taken = worker.ask(turns=turns, parallel=course.parallel, pad=course.pad)
    name = worker.subject.name
    if taken.get("ran") == turns * course.parallel:
        loops.setdefault(name, {}).setdefault(turns, []).append(taken)
    else:
        measured.missing[name] = f"{turns} turns: {taken.get('error', 'its tool ran another number of times')}"
