"""What models are writing just now, in files that other processes read as they grow.

One file per run in a folder beside the database: a first line that names the owner and the request
that is answered, then a line for each piece. Nothing here is synced or worth keeping: whatever
cannot be written is not heard elsewhere, and that is all. Invariant: a file appears with its first
line whole, and only its owner, or whoever finds that owner dead, takes it away.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, BinaryIO, cast

from remit.types.ident import OwnerId, RunId
from remit.types.stream import Delta

__all__ = ["DeltaFolder", "delta_folder"]

_log = logging.getLogger("remit.ledger")

_IDLE_ROUNDS = 200
"""After so many rounds in which nobody asked for a run, its file is not looked at any more."""

Place = tuple[int, int]
"""Which file it is, and how long."""


def delta_folder(database: Path) -> Path:
    """Where the deltas of this database's runs are."""
    return database.with_name(f"{database.name}-deltas")


@dataclass(slots=True)
class _Written:
    """A file of ours; without a handle nothing more is written to it."""

    after: int
    handle: int | None


@dataclass(slots=True)
class _Followed:
    """Somebody else's run that is followed here: how far it was read, and how the file was last seen."""

    seen: Place | None = None
    file: int = 0
    after: int = -1
    offset: int = 0
    index: int = 0
    idle: int = 0


class DeltaFolder:
    """The files of one owner, and its view of the others'. Never raises for what a disk may do; says so once.

    Args:
        alive: whether an owner lives; files of the dead are removed when the folder is opened.
    """

    def __init__(self, path: Path, owner: OwnerId, alive: Callable[[OwnerId], bool]) -> None:
        self._path = path
        self._owner = owner
        self._alive = alive
        self._written: dict[RunId, _Written] = {}
        self._followed: dict[RunId, _Followed] = {}
        self._lock = threading.Lock()
        self._said = False
        self._there = False
        with contextlib.suppress(OSError):
            self._there = path.is_dir()
            for left in path.glob("*.jsonl*"):
                self._remove_dead(left)

    # the owner's side

    def write(self, deltas: Sequence[Delta]) -> None:
        """Append them to their run's file; the first of another attempt begins it anew."""
        with self._lock:
            for run in {delta.run for delta in deltas}:
                try:
                    self._write(run, [delta for delta in deltas if delta.run == run])
                except OSError as error:
                    self._mute(run)
                    self._say(error)

    def remove(self, run: RunId) -> None:
        """Take the run's file away, if it is ours or nobody's."""
        if self._there:
            with self._lock:
                self._mute(run)
                self._written.pop(run, None)
                self._remove_dead(self._place(run))

    def close(self) -> None:
        """Take all our files away."""
        for run in list(self._written):
            self.remove(run)

    def drop(self) -> None:
        """Let go as a crash would: the files stay."""
        for run in list(self._written):
            self._mute(run)
        self._written.clear()

    # the followers' side

    def read(self, run: RunId, after: int, index: int) -> list[Delta]:
        """What the run's file holds of the attempt that answers `after`, from `index` on."""
        with self._lock:
            followed = self._followed.setdefault(run, _Followed())
            followed.idle = 0
            try:
                return self._read(run, followed, after, index)
            except OSError:
                followed.seen = None
                return []

    def forget_idle(self) -> None:
        """A round is over: of the runs that are followed here, forget those that nobody asks for any more."""
        if self._followed:
            with self._lock:
                for run, followed in list(self._followed.items()):
                    followed.idle += 1
                    if followed.idle > _IDLE_ROUNDS:
                        del self._followed[run]

    def grown(self) -> bool:
        """Whether the file of a run that is followed here changed since the last look at it."""
        if not self._followed:
            return False
        grown = False
        with self._lock:
            for run, followed in self._followed.items():
                seen = _seen(self._place(run))
                grown = grown or seen != followed.seen
                followed.seen = seen
        return grown

    def _write(self, run: RunId, deltas: Sequence[Delta]) -> None:
        written = self._written.get(run)
        if written is None or written.after < deltas[0].after:
            self._mute(run)
            written = self._written[run] = _Written(deltas[0].after, None)
            if not self._surpassed(run, written.after):
                written.handle = self._begin(run, written.after)
        if written.handle is not None:
            lines = [[delta.turn, delta.attempt, delta.index, delta.kind, delta.text] for delta in deltas]
            data = b"".join(_line(line) for line in lines)
            if os.write(written.handle, data) < len(data):
                self._mute(run)  # the torn line is nobody's; whatever came after it would be part of it

    def _surpassed(self, run: RunId, after: int) -> bool:
        """Whether somebody took the run over, and a later attempt is heard already."""
        with contextlib.suppress(OSError), self._place(run).open("rb") as file:
            later = _head(file).get("after")
            return isinstance(later, int) and later > after
        return False

    def _begin(self, run: RunId, after: int) -> int:
        """A new file in the run's place; what reads the old one finds it ended."""
        if not self._there:
            self._path.mkdir(mode=0o700, exist_ok=True)
            self._there = True
        place = self._place(run)
        fresh = place.with_suffix(f".jsonl-{os.getpid()}-{threading.get_ident()}")
        handle = os.open(fresh, os.O_CREAT | os.O_TRUNC | os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC, 0o600)
        try:
            os.write(handle, _line({"owner": self._owner, "run": run, "after": after}))
            os.replace(fresh, place)
        except OSError:
            os.close(handle)
            with contextlib.suppress(OSError):
                fresh.unlink(missing_ok=True)
            raise
        return handle

    def _say(self, error: OSError) -> None:
        if not self._said:
            self._said = True
            _log.warning("other processes cannot follow what models are writing: %s", type(error).__name__)

    def _mute(self, run: RunId) -> None:
        written = self._written.get(run)
        if written is not None and written.handle is not None:
            handle, written.handle = written.handle, None
            os.close(handle)

    def _read(self, run: RunId, followed: _Followed, after: int, index: int) -> list[Delta]:
        with self._place(run).open("rb") as file:
            self._there = True
            status = os.fstat(file.fileno())
            followed.seen = (status.st_ino, status.st_size)
            head = _head(file)
            if (head.get("run"), head.get("after")) != (run, after):
                return []
            if (followed.file, followed.after, followed.index) == (status.st_ino, after, index):
                file.seek(followed.offset)
            else:
                followed.file, followed.after, followed.offset = status.st_ino, after, file.tell()
            data = file.read()
        whole = data[: data.rfind(b"\n") + 1]  # the last line may be under way
        found = [delta for line in whole.splitlines() if (delta := _delta(run, after, _parsed(line + b"\n"))) is not None]
        followed.offset += len(whole)
        wanted = [delta for delta in found if delta.index >= index]
        followed.index = found[-1].index + 1 if found else index
        return wanted

    def _remove_dead(self, place: Path) -> None:
        """Take a file away that is ours, or whose owner is dead, or that names no owner."""
        with contextlib.suppress(OSError):
            with place.open("rb") as file:
                owner = _head(file).get("owner")
            if owner == self._owner or not isinstance(owner, str) or not self._alive(OwnerId(owner)):
                place.unlink(missing_ok=True)

    def _place(self, run: RunId) -> Path:
        return self._path / f"{sha256(run.encode(errors='surrogatepass')).hexdigest()[:40]}.jsonl"


def _seen(place: Path) -> Place | None:
    try:
        status = place.stat()
    except OSError:
        return None
    return status.st_ino, status.st_size


def _head(file: BinaryIO) -> dict[str, Any]:
    """The first line; empty if it is none of ours."""
    head = _parsed(file.readline())
    return cast("dict[str, Any]", head) if isinstance(head, dict) else {}


def _line(value: object) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode() + b"\n"


def _parsed(line: bytes) -> Any:
    """The value of a whole line, or None."""
    try:
        return json.loads(line) if line.endswith(b"\n") else None
    except ValueError:
        return None


def _delta(run: RunId, after: int, line: Any) -> Delta | None:
    match line:
        case [int(turn), int(attempt), int(index), ("text" | "reasoning" | "call") as kind, str(text)]:
            return Delta(run=run, after=after, turn=turn, attempt=attempt, index=index, kind=kind, text=text)
        case _:
            return None
