"""What a transactional handler writes with: SQL in the transaction that holds its own outcome too.

Knows no database. Invariant: rows come back whole, so that nothing is left open when the handler returns.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol, TypeAlias

__all__ = ["Connection", "SqlRow", "SqlValue", "SqlValues"]

SqlValue: TypeAlias = int | float | str | bytes | None
"""What a column holds."""

SqlRow: TypeAlias = tuple[SqlValue, ...]
"""A row, in the order of its columns."""

SqlValues: TypeAlias = Sequence[SqlValue] | Mapping[str, SqlValue]
"""What is bound: to `?` in order, or to `:name` by name."""


class Connection(Protocol):
    """An open transaction. It is ended by whoever gave it: there is no commit here, and no rollback but by raising.

    What the database itself refuses is raised as its library's own error (`apsw.Error`).
    """

    def execute(self, sql: str, values: SqlValues = ()) -> list[SqlRow]:
        """Run it, and return all of its rows.

        Raises:
            InputError: it would touch the ledger's own tables, or is no business of a handler (`transaction.denied`).
            LedgerError: the transaction is over (`transaction.over`): its deadline has passed, or a statement ended it.
        """
        ...

    def execute_many(self, sql: str, rows: Iterable[SqlValues]) -> None:
        """Run it once for each of these. Raises as `execute`."""
        ...
