"""Tool loops: warm processes, one for each subject, asked in rounds that are interleaved (A B C, A B C, ...)."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass

import environments
from fleet import Worker, fake_model
from subjects import Subject
from table import Measured


@dataclass(frozen=True)
class Course:
    """What every subject is asked for.

    Args:
        turns: how many tool turns, one length after the other.
        rounds: of each length.
        peer_rounds: rounds that the peers take part in; they are slow, and far from what they are held against.
        parallel: calls in a turn.
        pad: characters of text beside them.
    """

    turns: Sequence[int]
    rounds: int
    peer_rounds: int
    parallel: int
    pad: int


def measure(measured: Measured, subjects: Sequence[Subject], course: Course) -> None:
    """Add what these subjects take; one that fails is named as missing."""
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
                        if worker.subject.kind != "peer" or number < course.peer_rounds:
                            _once(measured, worker, count, parallel=course.parallel, pad=course.pad)
                    said = f"{count} turns, round {number + 1} of {course.rounds}, load {os.getloadavg()[0]:.1f}"
                    print(said, file=sys.stderr, flush=True)
        finally:
            for worker in workers:
                worker.close()


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


def _once(measured: Measured, worker: Worker, turns: int, *, parallel: int, pad: int) -> None:
    taken = worker.ask(turns=turns, parallel=parallel, pad=pad)
    name = worker.subject.name
    if taken.get("ran") == turns * parallel:
        measured.loops.setdefault(name, {}).setdefault(turns, []).append(taken)
    else:
        measured.missing[name] = f"{turns} turns: {taken.get('error', 'its tool ran another number of times')}"
