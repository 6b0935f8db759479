"""Where the ledger of a folder is: a file in it or, where the folder or the one above names a server, a schema there."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path

import psycopg

from database.server import server

NAME = "postgres"


def put(folder: Path, kind: str) -> None:
    """From here on the ledgers of this folder, and of those in it, are of this kind."""
    if kind == "postgres":
        (folder / NAME).write_text(server().address())
        server().run("DROP TABLE IF EXISTS entered; CREATE TABLE entered (operation TEXT, name TEXT)")


def ledger_of(folder: Path) -> str:
    """A file or an address."""
    for place in (folder, folder.parent):
        if (place / NAME).exists():
            return f"{(place / NAME).read_text()}&schema={schema_of(folder)}"
    return str(folder / "remit.db")


def schema_of(folder: Path) -> str:
    """A name for this folder alone."""
    return f"at_{sha256(str(folder.resolve()).encode()).hexdigest()[:16]}"


def transactions(folder: Path) -> psycopg.Connection[tuple[str, str]] | None:
    """Where the tables of `transactional` tools are, if it is a server."""
    return psycopg.connect((folder / NAME).read_text()) if (folder / NAME).exists() else None


def on_server(folder: Path) -> bool:
    return (folder / NAME).exists()
