"""What models are writing in other processes, read from their files as they grow.

Knows the files and nobody who writes them. Invariant: what was read stands for as long as its file does, and is read
once, however many follow.
"""

from __future__ import annotations

import threading
from bisect import bisect_left
from dataclasses import dataclass, field
from operator import attrgetter
from pathlib import Path

from remit.ledger.delta_file import delta_of, open_file, owner_of, place_of
from remit.types.ident import RunId
from remit.types.stream import Delta

__all__ = ["DeltaFileReader"]

_IDLE_ROUNDS = 200
"""After so many rounds in which nobody asked for a run, its file is not looked at any more."""


@dataclass(slots=True)
class _Followed:
    """An attempt that is followed here, and how far its file was read; `size` is how it was last seen, -1 if not at all."""

    after: int
    place: Path
    size: int = -1
    offset: int = 0
    deltas: list[Delta] = field(default_factory=list[Delta])
    idle: int = 0


class DeltaFileReader:
    """The runs that are followed here and written elsewhere; used from any thread."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._followed: dict[RunId, _Followed] = {}
        self._lock = threading.Lock()

    def read(self, run: RunId, after: int, index: int) -> list[Delta]:
        """What answers the request `after`, from `index` on."""
        with self._lock:
            followed = self._followed.get(run)
            if followed is None or followed.after != after:
                followed = self._followed[run] = _Followed(after, place_of(self._folder, run, after))
            followed.idle = 0
            try:
                _read_on(run, followed)
            except OSError:
                self._followed[run] = _Followed(after, followed.place)
                return []
            return followed.deltas[bisect_left(followed.deltas, index, key=attrgetter("index")) :]

    def grown(self) -> bool:
        """Whether a file that is followed here changed since the last look at it."""
        grown = False
        with self._lock:
            for followed in self._followed.values():
                size = _size(followed.place)
                grown = grown or size != followed.size
                followed.size = size
        return grown

    def forget_idle(self) -> None:
        """A round is over: of the runs that are followed here, forget those that nobody asks for any more."""
        with self._lock:
            for run, followed in list(self._followed.items()):
                followed.idle += 1
                if followed.idle > _IDLE_ROUNDS:
                    del self._followed[run]


def _read_on(run: RunId, followed: _Followed) -> None:
    with open_file(followed.place) as file:
        if followed.offset == 0:
            if owner_of(file) is None:
                return
            followed.offset = file.tell()
        file.seek(followed.offset)
        data = file.read()
    followed.size = followed.offset + len(data)
    whole = data[: data.rfind(b"\n") + 1]  # the last line may be under way
    followed.offset += len(whole)
    found = (delta_of(run, followed.after, line) for line in whole.splitlines(keepends=True))
    followed.deltas += [delta for delta in found if delta is not None]


def _size(place: Path) -> int:
    try:
        return place.lstat().st_size
    except OSError:
        return -1
