"""Where the command writes: results to standard output, progress and errors to standard error.

It does not know what it prints. Invariant: with `--json`, standard output holds one JSON document and
nothing else, whatever handlers print; text of others is shown as text, never read as markup; no secret that
an agent at hand declares is in either.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import sys
from collections.abc import Generator, Iterable, Sequence
from functools import cached_property
from typing import IO, TYPE_CHECKING

from remit.cli.exit import PIPE
from remit.cli.text import clean, short
from remit.trace import Redactor
from remit.types.ident import Json

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["Screen", "quiet_pipe"]

_WIDEST = 60
"""Of a cell in a table, in characters."""


class Screen:
    """Standard output and standard error, as they were when the command began."""

    def __init__(self, *, as_json: bool = False) -> None:
        self.as_json = as_json
        self._stdout: IO[str] = _or_nothing(sys.stdout)
        self._stderr: IO[str] = _or_nothing(sys.stderr)
        self._closed = getattr(sys, "stdout", None) is None
        self.lost = ""
        """Why a result could not be written; empty where all was."""
        self.tells_end = False
        """Whether the result is how a run stands, which the exit code says as well."""
        self.redactor = Redactor()
        """What masks the words of people, models and tools."""
        self._declared = Redactor(rules=())

    def hide(self, secrets: Iterable[str]) -> None:
        """From now on these are in nothing that is written here."""
        known = tuple(secrets)
        self.redactor, self._declared = Redactor(known), Redactor(known, rules=())

    @cached_property
    def out(self) -> Console:
        """For results that people read."""
        return _console(self._stdout)

    @cached_property
    def err(self) -> Console:
        """For progress and errors."""
        return _console(self._stderr)

    @contextlib.contextmanager
    def alone(self) -> Generator[None]:
        """Inside, what anybody else prints goes to standard error."""
        with contextlib.redirect_stdout(self._stderr):
            yield

    @contextlib.contextmanager
    def _result(self) -> Generator[None]:
        """Inside, a result is written; where it cannot be, the command goes on, and says so at its end."""
        try:
            if self._closed:
                self.lost = "it is closed"
            with quiet_pipe(self._stdout):
                yield
        except OSError as error:
            self.lost = error.strerror or type(error).__name__
            _point_at_nothing(self._stdout)

    def line(self, text: str = "", *, style: str = "") -> None:
        """One or more lines of a result."""
        with self._result():
            _print(self.out, self._declared.text(text), style)

    def note(self, text: str, *, style: str = "dim") -> None:
        """One or more lines beside the result."""
        _print(self.err, self._declared.text(text), style)

    @property
    def is_live(self) -> bool:
        """Whether a person looks on while it is written beside the result."""
        return not self.as_json and self._stderr.isatty()

    def words(self, text: str, *, style: str = "") -> None:
        """A part of a line beside the result, as it is: whoever writes in parts masks the whole."""
        _print(self.err, text, style, end="")

    def record(self, value: Json) -> None:
        """One of several JSON documents, on one line."""
        with self._result():
            self._stdout.write(json.dumps(self._declared.value(value), ensure_ascii=True, separators=(",", ":")) + "\n")
            self._stdout.flush()

    def verbatim(self, text: str) -> None:
        """A document of the user's own, as it is: for a file or another program, not for a terminal."""
        with self._result():
            self._stdout.write(text if text.endswith("\n") else text + "\n")
            self._stdout.flush()

    def document(self, value: Json) -> None:
        """The JSON document of a command run with `--json`; all ASCII, so that no terminal obeys it."""
        with self._result():
            self._stdout.write(json.dumps(self._declared.value(value), indent=2, ensure_ascii=True) + "\n")
            self._stdout.flush()

    def table(self, headings: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
        """Rows under headings, each on one line however narrow the terminal is: ids are there to be copied."""
        from rich.cells import cell_len

        lines = [headings, *[[short(self._declared.text(cell), _WIDEST) for cell in row] for row in rows]]
        widths = [max(cell_len(line[column]) for line in lines) for column in range(len(headings))]
        for number, line in enumerate(lines):
            cells = [cell + " " * (width - cell_len(cell)) for cell, width in zip(line, widths, strict=True)]
            self.line("  ".join(cells).rstrip(), style="bold" if number == 0 else "")


def _print(console: Console, text: str, style: str, *, end: str = "\n") -> None:
    from rich.text import Text

    console.print(Text(clean(text), style=style), soft_wrap=True, end=end)


def _console(stream: IO[str]) -> Console:
    from rich.console import Console

    class Quiet(Console):
        def on_broken_pipe(self) -> None:
            self.quiet = True
            _leave(stream)

    return Quiet(file=stream, highlight=False, markup=False, emoji=False)


@contextlib.contextmanager
def quiet_pipe(stream: IO[str]) -> Generator[None]:
    """Inside, a reader that has gone ends the command without a word."""
    try:
        yield
    except BrokenPipeError:
        _leave(stream)


def _leave(stream: IO[str]) -> None:
    """Point the stream at nothing, so that closing it does not fail as well, and end."""
    _point_at_nothing(stream)
    raise SystemExit(PIPE)


def _point_at_nothing(stream: IO[str]) -> None:
    with contextlib.suppress(OSError, ValueError):
        nothing = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nothing, stream.fileno())
        os.close(nothing)


def _or_nothing(stream: IO[str] | None) -> IO[str]:
    """The stream; a process that was begun without it writes nowhere."""
    return io.StringIO() if stream is None else stream
