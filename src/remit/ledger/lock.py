"""Who is alive: an owner is, for as long as its lock is held.

A file lock beside the database, named by the owner's id; for a store in memory, a set in this
process. Knows nothing of runs. Invariant: a name becomes visible only when its lock is held, so an
owner that lives is never taken for dead.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import weakref
from pathlib import Path
from urllib.parse import quote

from remit.types.ident import OwnerId

__all__ = ["FileLock", "MemoryLock", "file_alive", "lock_directory", "sweep"]


def lock_directory(database: Path) -> Path:
    """Where the locks of this database's owners are."""
    return database.with_name(f"{database.name}-owners")


def file_alive(directory: Path, owner: OwnerId) -> bool:
    """Whether somebody holds the owner's lock."""
    try:
        handle = os.open(_place(directory, owner), os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    try:
        return not _share(handle)
    finally:
        os.close(handle)


def sweep(directory: Path) -> None:
    """Remove the locks of the dead."""
    for path in directory.glob("*.lock"):
        with contextlib.suppress(FileNotFoundError):
            handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
            try:
                if _share(handle):
                    path.unlink(missing_ok=True)
            finally:
                os.close(handle)


class FileLock:
    """An owner's lock file, held from here on.

    Raises:
        FileExistsError: there is an owner of that name.
        OSError: the directory cannot be written.
    """

    def __init__(self, directory: Path, owner: OwnerId) -> None:
        directory.mkdir(mode=0o700, exist_ok=True)
        self._path = _place(directory, owner)
        fresh = self._path.with_suffix(f".{os.getpid()}")
        self._handle: int | None = os.open(fresh, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(self._handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.link(fresh, self._path)
        except BaseException:
            self.drop()
            raise
        finally:
            fresh.unlink(missing_ok=True)
        _held.add(self)

    def release(self) -> None:
        """Let go and remove the file."""
        if self._handle is not None:
            self._path.unlink(missing_ok=True)
            self.drop()

    def drop(self) -> None:
        """Let go as a crash would: the file stays."""
        handle, self._handle = self._handle, None
        if handle is not None:
            os.close(handle)


class MemoryLock:
    """The same for a store in memory: the owners that live in this process."""

    def __init__(self, living: set[OwnerId], owner: OwnerId) -> None:
        self._living = living
        self._owner = owner
        living.add(owner)

    def release(self) -> None:
        """Let go."""
        self._living.discard(self._owner)

    drop = release


def _place(directory: Path, owner: OwnerId) -> Path:
    name = owner if re.fullmatch(r"[\w-]{1,100}", owner) else quote(owner, safe="")[:200]
    return directory / f"{name}.lock"


def _share(handle: int) -> bool:
    """Whether the lock could be taken. Shared, so that two who ask do not take each other for the owner."""
    try:
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


_held: weakref.WeakSet[FileLock] = weakref.WeakSet()


def _forget_in_child() -> None:
    """A forked child shares the lock: it must not keep a dead parent alive."""
    for lock in list(_held):
        lock.drop()


os.register_at_fork(after_in_child=_forget_in_child)
