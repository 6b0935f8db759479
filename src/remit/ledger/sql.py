"""Statements and their rows: the one place that meets the database library's types."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeAlias

import apsw

__all__ = ["Row", "execute", "foreign_writes", "one", "pragma", "rows"]

Row: TypeAlias = tuple[Any, ...]


def execute(db: apsw.Connection, sql: str, values: Row = ()) -> None:
    """Run what gives no rows, to its end."""
    db.execute(sql, values)  # pyright: ignore[reportUnknownMemberType]


def rows(db: apsw.Connection, sql: str, values: Row = ()) -> Iterator[Row]:
    """Its rows, one after the other."""
    return iter(db.execute(sql, values))  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]


def one(db: apsw.Connection, sql: str, *values: object) -> Row | None:
    """The first row, or None."""
    return next(rows(db, sql, values), None)


def pragma(db: apsw.Connection, name: str, value: str | int | None = None) -> int | str | None:
    """What the pragma says, after it was set if there is a value."""
    return db.pragma(name) if value is None else db.pragma(name, value)  # pyright: ignore[reportUnknownMemberType]


def foreign_writes(db: apsw.Connection) -> int:
    """A number that differs whenever another connection has written. (The pragma: the library's own call does not
    look at the file.)"""
    return int(pragma(db, "data_version") or 0)
