"""Statements and their rows: the one place that meets the database library's types.

A statement is written once, in what both databases understand; the few functions here that differ between them say what
the law needs of a database beside statements: a row's number, a row's lock, a turn.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any, Self, TypeAlias

import apsw

__all__ = [
    "Database",
    "Row",
    "Served",
    "alone",
    "execute",
    "foreign_writes",
    "insert_numbered",
    "locked",
    "one",
    "pragma",
    "rows",
    "take_turn",
]

Row: TypeAlias = tuple[Any, ...]


class Served(ABC):
    """A session with a database that others write to at the same time."""

    @abstractmethod
    def execute(self, sql: str, values: Row = (), /) -> Sequence[Row]:
        """Run it, and return all of its rows."""

    @abstractmethod
    def changes(self) -> int:
        """How many rows the last statement changed."""

    @property
    @abstractmethod
    def in_transaction(self) -> bool:
        """Whether one is open, and can still be committed."""

    @abstractmethod
    def insert_numbered(self, sql: str, values: Row, column: str) -> int:
        """Insert a row that the database numbers; its number."""

    @abstractmethod
    def lock_row(self, sql: str, values: Row) -> Row | None:
        """The first row, which nobody else changes before this transaction is over."""

    @abstractmethod
    def take_turn(self, what: str) -> None:
        """Wait until nobody else has a transaction open that took this turn; ours lasts to the end of this one."""

    @abstractmethod
    def alone(self) -> None:
        """Wait until nobody else has changes open, and let nobody make any before this transaction is over."""

    @abstractmethod
    def __enter__(self) -> Self:
        """Read as of one moment from here on."""

    @abstractmethod
    def __exit__(self, *ended: object) -> None:
        """Read what is new again."""


Database: TypeAlias = apsw.Connection | Served


def execute(db: Database, sql: str, values: Row = ()) -> None:
    """Run what gives no rows, to its end."""
    db.execute(sql, values)  # pyright: ignore[reportUnknownMemberType]


def rows(db: Database, sql: str, values: Row = ()) -> Iterator[Row]:
    """Its rows, one after the other."""
    return iter(db.execute(sql, values))  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]


def one(db: Database, sql: str, *values: object) -> Row | None:
    """The first row, or None."""
    return next(rows(db, sql, values), None)


def locked(db: Database, sql: str, *values: object) -> Row | None:
    """The first row, or None; for a change that depends on what it says. Who writes to a file is alone anyway."""
    return one(db, sql, *values) if isinstance(db, apsw.Connection) else db.lock_row(sql, values)


def insert_numbered(db: Database, sql: str, values: Row, column: str) -> int:
    """Insert a row whose number, in that column, the database gives; the number."""
    if isinstance(db, apsw.Connection):
        db.execute(sql, values)  # pyright: ignore[reportUnknownMemberType]
        return db.last_insert_rowid()
    return db.insert_numbered(sql, values, column)


def take_turn(db: Database, what: str) -> None:
    """From here to the end of the transaction nobody else is in this turn. Who writes to a file is alone anyway."""
    if not isinstance(db, apsw.Connection):
        db.take_turn(what)


def alone(db: Database) -> None:
    """From here to the end of the transaction nobody else writes at all. Who writes to a file is alone anyway."""
    if not isinstance(db, apsw.Connection):
        db.alone()


def pragma(db: Database, name: str, value: str | int | None = None) -> int | str | None:
    """What the pragma says, after it was set if there is a value; None where there is no file to set it for."""
    if not isinstance(db, apsw.Connection):
        return None
    return db.pragma(name) if value is None else db.pragma(name, value)  # pyright: ignore[reportUnknownMemberType]


def foreign_writes(db: Database) -> int:
    """A number that differs whenever another connection has written. (The pragma: the library's own call does not
    look at the file.)"""
    return int(pragma(db, "data_version") or 0)
