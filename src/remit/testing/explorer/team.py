"""Sharing the work among processes of this machine, in order.

Knows how to fork; nothing of the work. Invariant: results come in the order of the tasks, whoever did them.
"""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Iterator, Sequence
from multiprocessing.pool import Pool
from types import TracebackType
from typing import Generic, TypeVar, cast

__all__ = ["Team"]

T = TypeVar("T")
R = TypeVar("R")

_CHUNK = 25
_work: list[Callable[[Sequence[object]], object]] = []
"""What a forked process does; set before it is forked."""


def _do(some: Sequence[object]) -> object:
    return _work[-1](some)


class Team(Generic[T, R]):
    """Processes that do one kind of work.

    Args:
        work: does some tasks, in order.
        jobs: how many processes; 1, or a machine that cannot fork, does the work here.
    """

    def __init__(self, work: Callable[[Sequence[T]], R], jobs: int) -> None:
        self._work = work
        self._jobs = jobs if "fork" in multiprocessing.get_all_start_methods() else 1
        self._pool: Pool | None = None

    def __enter__(self) -> Team[T, R]:
        if self._jobs > 1:
            _work.append(cast("Callable[[Sequence[object]], object]", self._work))
            self._pool = multiprocessing.get_context("fork").Pool(self._jobs)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._pool is not None:
            self._pool.terminate()
            self._pool.join()
            _work.pop()

    def share(self, tasks: Sequence[T], told: Callable[[int, int], None] | None = None) -> Iterator[R]:
        """The results of chunks of the tasks, in order."""
        chunks = [tasks[start : start + _CHUNK] for start in range(0, len(tasks), _CHUNK)]
        results = map(self._work, chunks) if self._pool is None else self._pool.imap(_do, chunks)
        done = 0
        for chunk, result in zip(chunks, results, strict=True):
            done += len(chunk)
            if told is not None:
                told(done, len(tasks))
            yield cast(R, result)
