"""What models are writing in this process, written down for the others.

Knows the files of one owner and nobody who reads them. Nothing here is synced or worth keeping: what cannot be written
is not heard elsewhere, and that is all. Invariant: of a run only the latest attempt has a file of ours; a file of
another is taken away once its owner is dead.
"""

from __future__ import annotations

import contextlib
import logging
import os
import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import attrgetter
from pathlib import Path

from remit.ledger.delta_file import is_folder, line_of, open_file, owner_line, owner_of, place_of, places_in, places_of
from remit.types.ident import OwnerId, RunId
from remit.types.stream import Delta

__all__ = ["DeltaFileWriter"]

_log = logging.getLogger("remit.ledger")

_CANNOT = (
    "other processes cannot follow what models are writing (%s at %s): remove it, or make it a folder that this process "
    "may write to"
)
_NEW = os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC


@dataclass(slots=True)
class _Written:
    """The file of a run's latest attempt; without a handle nothing more is written to it."""

    after: int
    place: Path
    handle: int | None = None

    def end(self) -> None:
        handle, self.handle = self.handle, None
        if handle is not None:
            os.close(handle)


class DeltaFileWriter:
    """The files of one owner; used from any thread. Never raises for what a disk may do; says so once.

    Args:
        alive: whether an owner lives; files of the dead are removed at the beginning.
    """

    def __init__(self, folder: Path, owner: OwnerId, alive: Callable[[OwnerId], bool]) -> None:
        self._folder = folder
        self._owner = owner
        self._alive = alive
        self._written: dict[RunId, _Written] = {}
        self._lock = threading.Lock()
        self._said = False
        self._sweep(places_in(folder))

    def write(self, deltas: Sequence[Delta]) -> None:
        """Append them to their attempt's file; the first of another attempt takes the last one's away."""
        with self._lock:
            for _, some in groupby(deltas, attrgetter("run", "after")):
                self._write(list(some))

    def drop(self, run: RunId) -> None:
        """Take the run's files away: our own; if we never wrote any, those of the dead."""
        with self._lock:
            if run in self._written:
                self._remove(run)
            else:
                self._sweep(places_of(self._folder, run))

    def close(self) -> None:
        """Take all our files away."""
        with self._lock:
            for run in list(self._written):
                self._remove(run)

    def abandon(self) -> None:
        """Let go as a crash would: the files stay."""
        for written in self._written.values():
            written.end()
        self._written.clear()

    def _write(self, deltas: Sequence[Delta]) -> None:
        run, after = deltas[0].run, deltas[0].after
        written = self._written.get(run)
        if written is None or written.after != after:
            written = self._begin(run, after)
        if written.handle is None:
            return
        data = b"".join(map(line_of, deltas))
        try:
            if os.write(written.handle, data) < len(data):
                written.end()  # the torn line is nobody's; whatever came after it would be part of it
        except OSError as error:
            written.end()
            self._say(error)

    def _begin(self, run: RunId, after: int) -> _Written:
        """The file of another attempt; without a handle where it cannot be made."""
        self._remove(run)
        written = self._written[run] = _Written(after, place_of(self._folder, run, after))
        fresh = written.place.with_suffix(".jsonl-new")
        try:
            self._folder.mkdir(mode=0o700, exist_ok=True)
            if not is_folder(self._folder):
                raise NotADirectoryError
            fresh.unlink(missing_ok=True)  # of a process that died here
            written.handle = os.open(fresh, _NEW, 0o600)
            os.write(written.handle, owner_line(self._owner))
            fresh.rename(written.place)
        except OSError as error:
            written.end()
            self._say(error)
        return written

    def _remove(self, run: RunId) -> None:
        written = self._written.pop(run, None)
        if written is not None:
            written.end()
            with contextlib.suppress(OSError):
                written.place.unlink(missing_ok=True)

    def _sweep(self, places: Iterable[Path]) -> None:
        """Of these files take those away that are ours, or whose owner is dead, or that name none."""
        for place in places:
            with contextlib.suppress(OSError):
                with open_file(place) as file:
                    owner = owner_of(file)
                if owner is None or owner == self._owner or not self._alive(owner):
                    place.unlink(missing_ok=True)

    def _say(self, error: OSError) -> None:
        if not self._said:
            self._said = True
            _log.warning(_CANNOT, type(error).__name__, self._folder)
