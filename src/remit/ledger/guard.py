"""What a handler's statements may do in the ledger's own file: anything with its own tables, and nothing else.

Pure: the rule that the database asks of every statement, also of what triggers and views of it do.
Invariant: what is not listed here is denied.
"""

from __future__ import annotations

import apsw

__all__ = ["allowed"]

_RESERVED = "remit_"
_SCHEMA = frozenset({"sqlite_master", "sqlite_schema", "sqlite_temp_master", "sqlite_temp_schema"})
"""Written by the database itself for a CREATE, DROP or ALTER; a statement cannot. (To rename a table it writes
`sqlite_sequence` as well, which is closed, as the ledger's own counters are in it.)"""
_READABLE = _SCHEMA | {"sqlite_sequence"}
_HIDDEN = ("pragma_", "sqlite_", "dbstat")
"""Tables that are not the application's: views into the file, or switches."""

_FREE = frozenset({apsw.SQLITE_SELECT, apsw.SQLITE_RECURSIVE})
_READS = frozenset({apsw.SQLITE_READ})
_WRITES = frozenset({apsw.SQLITE_INSERT, apsw.SQLITE_UPDATE, apsw.SQLITE_DELETE})
_SHAPES = frozenset(
    {
        apsw.SQLITE_CREATE_TABLE,
        apsw.SQLITE_CREATE_INDEX,
        apsw.SQLITE_CREATE_TRIGGER,
        apsw.SQLITE_CREATE_VIEW,
        apsw.SQLITE_DROP_TABLE,
        apsw.SQLITE_DROP_INDEX,
        apsw.SQLITE_DROP_TRIGGER,
        apsw.SQLITE_DROP_VIEW,
        apsw.SQLITE_ALTER_TABLE,
        apsw.SQLITE_REINDEX,
    }
)
"""Both names that these bring (a table's, and that of what belongs to it) are looked at."""


def allowed(action: int, one: str | None, two: str | None, schema: str | None = None) -> bool:
    """Whether a statement may take this action; `one` and `two` are what it is about, as the database says it.

    `schema` is where that is. What is temporary is told by it alone: CREATE TABLE temp.x comes as any other table.
    """
    first, second = (one or "").lower(), (two or "").lower()
    if action in _FREE:
        return True
    if action == apsw.SQLITE_FUNCTION:
        return second != "load_extension"
    if action in _READS:
        return first in _READABLE or not _closed(first)
    if action == apsw.SQLITE_INSERT and schema == "temp":
        return False
    if action in _WRITES:
        return first in _SCHEMA or not _closed(first)
    return action in _SHAPES and not first.startswith(_RESERVED) and not second.startswith(_RESERVED)


def _closed(table: str) -> bool:
    return table.startswith((_RESERVED, *_HIDDEN))
