"""Warnings on their way to a terminal, where the application has configured no logging: one redacted line, no traceback."""

from __future__ import annotations

import contextlib
import logging
import sys
from collections.abc import Generator

from remit.cli.text import short
from remit.trace import Redactor, explain

__all__ = ["errors_only", "one_line_logging"]


class _OneLine(logging.Handler):
    """Writes the message, and of an exception its explanation."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self._redactor = Redactor()

    def emit(self, record: logging.LogRecord) -> None:
        error = record.exc_info[1] if record.exc_info else None
        said = record.getMessage().splitlines()[:1] if error is None else [f"{record.name}: {explain(error)}"]
        with contextlib.suppress(OSError, ValueError):
            sys.stderr.write(f"remit: {short(self._redactor.text(''.join(said)), 400)}\n")


@contextlib.contextmanager
def one_line_logging() -> Generator[None]:
    """Inside, what nobody else handles is written in one line each."""
    before, logging.lastResort = logging.lastResort, _OneLine()
    try:
        yield
    finally:
        logging.lastResort = before


def errors_only() -> None:
    """From here to the end of `one_line_logging`, warnings are not written."""
    if isinstance(logging.lastResort, _OneLine):
        logging.lastResort.setLevel(logging.ERROR)
