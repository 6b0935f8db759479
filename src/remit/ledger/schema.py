"""The tables, and how a file gets to them: numbered migrations, each in one transaction with its record.

Knows SQL and files; not what a run is. Invariant: a file of a newer version, or one that is no
ledger, is left as it was.
"""

from __future__ import annotations

import os
import threading
from functools import cache
from pathlib import Path

import apsw

from remit.errors import LedgerError
from remit.ledger.migration import MIGRATIONS
from remit.ledger.sql import execute, pragma

__all__ = ["BUSY_MS", "connect", "connect_memory", "migrate", "refuse_newer", "translate", "version_of"]

BUSY_MS = 10_000
"""How long a writer waits for another process's transaction."""


def connect(path: Path, *, create: bool = False) -> apsw.Connection:
    """Open a ledger's file as every connection of ours is set; a new file is readable by its owner only.

    Args:
        create: whether it may be a new file, or one whose tables are yet to be made.

    Raises:
        LedgerError: it cannot be opened, is no database, holds no ledger (`ledger.none`), or is a newer version's
            (`ledger.newer`); it is left as it was.
    """
    try:
        if create:
            _touch(path)
        db = _set(apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE))
        try:
            db.set_busy_timeout(BUSY_MS)
            refuse_foreign(db, path, create=create)
            _write_ahead(db)
            pragma(db, "synchronous", "FULL")
        except BaseException:
            db.close()
            raise
    except (apsw.Error, OSError) as error:
        raise translate(error, path) from error
    return db


def connect_memory() -> apsw.Connection:
    """A private database in memory, with the same tables: a copy of one that has them, as making them takes a while."""
    db = _set(apsw.Connection(":memory:"))
    with _copying, db.backup("main", _template(), "main") as backup:
        backup.step()
    return db


def _set(db: apsw.Connection) -> apsw.Connection:
    """Plan a statement once, whatever is bound: where a partial index might do, it is else planned again each time."""
    db.config(apsw.SQLITE_DBCONFIG_ENABLE_QPSG, 1)
    return db


_copying = threading.Lock()


@cache
def _template() -> apsw.Connection:
    db = apsw.Connection(":memory:")
    migrate(db, 0)
    return db


def migrate(db: apsw.Connection, now_ms: int) -> None:
    """Bring the tables to this version. Two processes may try at once: the second finds it done."""
    if version_of(db) == len(MIGRATIONS):
        return
    for number, (name, sql) in enumerate(MIGRATIONS, start=1):
        execute(db, "BEGIN IMMEDIATE")
        try:
            if version_of(db) < number:
                execute(
                    db,
                    "CREATE TABLE IF NOT EXISTS remit_migration"
                    " (version INTEGER PRIMARY KEY, name TEXT NOT NULL, at_ms INTEGER NOT NULL) STRICT",
                )
                execute(db, sql)
                execute(db, "INSERT INTO remit_migration VALUES (?, ?, ?)", (number, name, now_ms))
                execute(db, f"PRAGMA user_version = {number}")
            execute(db, "COMMIT")
        except BaseException:
            if db.in_transaction:
                execute(db, "ROLLBACK")
            raise


def refuse_foreign(db: apsw.Connection, path: Path, *, create: bool) -> None:
    """Raise `LedgerError` if the file is a newer version's, numbers its schema for another program, or holds no ledger
    and none is to be made."""
    version = version_of(db)
    if not version and not create:
        raise LedgerError(
            f"{path} holds no ledger; name the file of one (a new one is made where a run is started)",
            code="ledger.none",
            retryable=False,
        )
    if version and not db.table_exists("main", "remit_migration"):
        raise LedgerError(
            f"{path} is another program's database; name a file of its own for the ledger",
            code="ledger.foreign",
            retryable=False,
        )
    refuse_newer(db, path)


def refuse_newer(db: apsw.Connection, path: Path | None = None) -> None:
    """Raise `LedgerError` if the tables are a newer version's; asked in each transaction that writes, as another process
    may have migrated them since the file was opened."""
    version = version_of(db)
    if version > len(MIGRATIONS):
        raise LedgerError(
            f"{path or 'the ledger'} was written by a newer version (schema {version}, this one knows {len(MIGRATIONS)});"
            " upgrade remit",
            code="ledger.newer",
            retryable=False,
        )


def translate(error: Exception, path: Path | None = None) -> LedgerError:
    """What a failure of the database or the file system means to a program, with the mend."""
    name = str(path) if path else "the ledger"
    match error:
        case LedgerError():
            return error
        case apsw.NotADBError():
            return LedgerError(f"{name} is not a database; name another file", code="ledger.foreign", retryable=False)
        case apsw.CorruptError() | UnicodeDecodeError():  # or a text that is none
            return LedgerError(f"{name} is damaged; restore it from a backup", code="ledger.corrupt", retryable=False)
        case apsw.FullError():
            return LedgerError(f"{name} cannot grow: the disk is full; free some space and try again", code="ledger.full")
        case apsw.BusyError() | apsw.LockedError():
            return LedgerError(f"{name} is locked by another process for longer than {BUSY_MS // 1000} s; try again")
        case apsw.ReadOnlyError() | PermissionError():
            return LedgerError(f"{name} cannot be written; give this user the right to write the file and its directory")
        case FileNotFoundError():
            return LedgerError(f"the directory of {name} does not exist; make it first")
        case IsADirectoryError():
            return LedgerError(f"{name} is a directory; name a file in it")
        case apsw.CantOpenError():
            return LedgerError(f"{name} cannot be opened; see that it is a file, and that its directory can be written")
        case _:
            return LedgerError(f"{name} could not be read or written ({type(error).__name__}); see the disk")


def _touch(path: Path) -> None:
    if path.is_dir():
        raise IsADirectoryError(str(path))
    try:
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_CLOEXEC, 0o600))
    except FileExistsError:
        return


def version_of(db: apsw.Connection) -> int:
    """The number of the last migration that was made in the file."""
    return int(pragma(db, "user_version") or 0)


def _write_ahead(db: apsw.Connection) -> None:
    """WAL. Changing to it does not wait for another process that does so too, so ask again."""
    pause = threading.Event()
    for _ in range(100):
        try:
            if pragma(db, "journal_mode", "wal") == "wal":
                return
        except apsw.BusyError:
            pass
        pause.wait(0.02)
    raise apsw.BusyError("journal_mode")
