"""The files through which other processes hear what models are writing: where they are, and what is in them.

One file for each attempt, in a folder beside the database: a first line that names its owner, then a line for each
delta. Invariant: a file appears with its first line whole, then only grows, and is never written anew; whatever else
lies there is not followed, not waited for and not taken away.
"""

from __future__ import annotations

import json
import os
import re
import stat
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from typing import BinaryIO

from remit.types.ident import Json, OwnerId, RunId
from remit.types.stream import Delta

__all__ = [
    "delta_folder",
    "delta_of",
    "is_folder",
    "line_of",
    "open_file",
    "owner_line",
    "owner_of",
    "place_of",
    "places_in",
    "places_of",
]

_NAME = re.compile(r"[0-9a-f]{40}-[0-9]{1,20}\.jsonl")
_OWNER_BYTES = 4096
"""More than any first line has."""


def delta_folder(database: Path) -> Path:
    """Where the deltas of this database's runs are."""
    return database.with_name(f"{database.name}-deltas")


def place_of(folder: Path, run: RunId, after: int) -> Path:
    """The file of the attempt that answers the request `after`."""
    return folder / f"{_name(run)}-{after}.jsonl"


def places_in(folder: Path) -> Sequence[Path]:
    """The files of all attempts, by their names; none where the folder is none of ours, or cannot be read."""
    try:
        return [folder / name for name in os.listdir(folder) if _NAME.fullmatch(name)] if is_folder(folder) else []
    except OSError:
        return []


def places_of(folder: Path, run: RunId) -> Sequence[Path]:
    """The files of all attempts of a run."""
    name = _name(run)
    return [place for place in places_in(folder) if place.name.startswith(name)]


def is_folder(folder: Path) -> bool:
    """Whether it is a folder itself, and no link to one that may be anybody's."""
    try:
        return stat.S_ISDIR(folder.lstat().st_mode)
    except OSError:
        return False


def open_file(place: Path) -> BinaryIO:
    """Open an attempt's file to read; nothing but a file is opened, and nobody is waited for.

    Raises:
        OSError: there is none.
    """
    if not is_folder(place.parent):
        raise NotADirectoryError
    handle = os.open(place, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise FileNotFoundError
    return os.fdopen(handle, "rb")


def owner_line(owner: OwnerId) -> bytes:
    """The first line."""
    return _line(owner)


def owner_of(file: BinaryIO) -> OwnerId | None:
    """Whom the first line names; None if it is none of ours."""
    found = _parsed(file.readline(_OWNER_BYTES))
    return OwnerId(found) if isinstance(found, str) and found.isascii() and found.isprintable() else None


def line_of(delta: Delta) -> bytes:
    """A delta's line."""
    return _line([delta.turn, delta.attempt, delta.index, delta.kind, delta.text])


def delta_of(run: RunId, after: int, line: bytes) -> Delta | None:
    """The delta that a line holds, if it is one."""
    match _parsed(line):
        case [int(turn), int(attempt), int(index), ("text" | "reasoning" | "call") as kind, str(text)]:
            return Delta(run=run, after=after, turn=turn, attempt=attempt, index=index, kind=kind, text=text)
        case _:
            return None


def _name(run: RunId) -> str:
    return sha256(run.encode(errors="surrogatepass")).hexdigest()[:40]


def _line(value: Json) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode() + b"\n"


def _parsed(line: bytes) -> Json:
    """The value of a whole line, or None."""
    try:
        return json.loads(line) if line.endswith(b"\n") else None
    except (ValueError, RecursionError):
        return None
