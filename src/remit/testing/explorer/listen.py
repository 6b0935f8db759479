"""What is logged while a schedule is played: kept for the checks, and heard by nobody else.

Knows the logger `remit`. Invariant: afterwards the logger is as it was.
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Generator

__all__ = ["heard"]


class _Sink(logging.Handler):
    """Keeps what is logged."""

    def __init__(self, log: list[str]) -> None:
        super().__init__(logging.INFO)
        self._log = log

    def emit(self, record: logging.LogRecord) -> None:
        self._log.append(self.format(record))


@contextlib.contextmanager
def heard(log: list[str]) -> Generator[None]:
    """Inside, what is logged goes there and nowhere else."""
    logger, sink = logging.getLogger("remit"), _Sink(log)
    before = (logger.level, logger.propagate, logger.handlers[:])
    place = logging._srcfile  # pyright: ignore
    logging._srcfile = None  # type: ignore[attr-defined]  # where a line was logged is not asked for here, and costs most
    logger.handlers[:] = [sink]
    logger.setLevel(logging.INFO)
    logger.propagate = False
    try:
        yield
    finally:
        logger.level, logger.propagate, logger.handlers[:] = before
        logging._srcfile = place  # type: ignore[attr-defined]
