"""What a handler's statement may be, and how its values are bound.

Pure. The rest is asked of the server itself when the handler is done: see `session`. Invariant: what is not listed here
is denied.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import LiteralString, cast

__all__ = ["DENIED", "allowed", "placed"]

DENIED = (
    "a transactional handler reads and writes tables of its own: not the ledger's, and it neither begins nor ends a"
    " transaction, nor changes a setting or a role"
)

_FREE = frozenset(
    {
        *("select", "insert", "update", "delete", "merge", "with", "values", "table", "truncate"),
        *("create", "alter", "drop", "comment", "lock", "call", "explain"),
    }
)
_BEFORE = re.compile(r"(?:\s|\(|--[^\n]*|/\*.*?\*/)*", re.DOTALL)
_WORD = re.compile(r"[a-z]+", re.IGNORECASE)
_TOKEN = re.compile(
    r"""[eE]'(?:[^'\\]|''|\\.)*'|'(?:[^']|'')*'|"(?:[^"]|"")*"|--[^\n]*|/\*.*?\*/|(\$\w*\$).*?\1|::|:=|\?|:([a-zA-Z_]\w*)""",
    re.DOTALL,
)


def allowed(sql: str) -> bool:
    """Whether a handler may say this at all, by its first word."""
    start = _BEFORE.match(sql)
    word = _WORD.match(sql, start.end() if start else 0)
    return word is not None and word.group().lower() in _FREE


def placed(sql: str, values: object) -> LiteralString:
    """The statement with the library's places in place of `?` or `:name`, which are left alone within texts and comments."""
    named = isinstance(values, Mapping)

    def place(found: re.Match[str]) -> str:
        said = found.group()
        if said == "?" and not named:
            return "%s"
        if named and found.group(2):
            return f"%({found.group(2)})s"
        return said.replace("%", "%%")

    parts: list[str] = []
    last = 0
    for found in _TOKEN.finditer(sql):
        parts += [sql[last : found.start()].replace("%", "%%"), place(found)]
        last = found.end()
    return cast("LiteralString", "".join([*parts, sql[last:].replace("%", "%%")]))
