"""Tool loops: warm processes, one for each subject, asked in rounds that are interleaved (A B C, A B C, ...)."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

import environments
from fleet import Worker, fake_model
from subjects import Subject
from table import Measured


def measure(
    measured: Measured, subjects: Sequence[Subject], *, turns: Sequence[int], rounds: int, parallel: int, pad: int
) -> None:
    """Add what these subjects take; one that fails is named as missing."""
    with fake_model() as url:
        workers: list[Worker] = []
        try:
            for subject in subjects:
                worker = _warm(measured, subject, url)
                if worker is not None:
                    workers.append(worker)
            for count in turns:
                for number in range(rounds):
                    for worker in workers:
                        _once(measured, worker, count, parallel=parallel, pad=pad)
                    said = f"{count} turns, round {number + 1} of {rounds}, load {os.getloadavg()[0]:.1f}"
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
