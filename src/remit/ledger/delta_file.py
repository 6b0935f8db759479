"""The files through which other processes hear what models are writing: where they are, and what is in them.

One file for each attempt, in a folder beside the database: a first line that names its owner, then a line for each
delta. Invariant: a file appears with its first line whole, then only grows, and is never written anew.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import BinaryIO

from remit.types.ident import Json, OwnerId, RunId
from remit.types.stream import Delta

__all__ = ["delta_folder", "delta_of", "line_of", "owner_line", "owner_of", "place_of", "places_of"]


def delta_folder(database: Path) -> Path:
    """Where the deltas of this database's runs are."""
    return database.with_name(f"{database.name}-deltas")


def place_of(folder: Path, run: RunId, after: int) -> Path:
    """The file of the attempt that answers the request `after`."""
    return folder / f"{_name(run)}-{after}.jsonl"


def places_of(folder: Path, run: RunId) -> Iterator[Path]:
    """The files of all attempts of a run."""
    return folder.glob(f"{_name(run)}-*.jsonl")


def owner_line(owner: OwnerId) -> bytes:
    """The first line."""
    return _line(owner)


def owner_of(file: BinaryIO) -> OwnerId | None:
    """Whom the first line names; None if it is none of ours."""
    found = _parsed(file.readline())
    return OwnerId(found) if isinstance(found, str) else None


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
    except ValueError:
        return None
