"""The durable floor: the loop of a protocol with a journal written by hand, SQLite in WAL mode, every commit synced.

Three commits a turn: the reply, what is about to be done, what came of it. Only what is new is written.
"""

from __future__ import annotations

import importlib
import json
import sqlite3
import tempfile
import uuid
from pathlib import Path
from typing import Any

from task import Task

database: sqlite3.Connection | None = None


def _open() -> sqlite3.Connection:
    made = sqlite3.connect(Path(tempfile.mkdtemp(prefix="bench-journal-")) / "journal.db", isolation_level=None)
    made.execute("pragma journal_mode=wal")
    made.execute("pragma synchronous=full")
    made.execute("create table journal(run text, seq integer, kind text, body text, primary key(run, seq)) without rowid")
    return made


async def run(task: Task, *, protocol: str) -> None:
    global database
    into = database = database or _open()
    name, count = uuid.uuid4().hex, 0

    def put(kind: str, body: Any) -> None:
        nonlocal count
        into.execute("insert into journal values(?, ?, ?, ?)", (name, count, kind, json.dumps(body)))
        count += 1

    await importlib.import_module(f"floor.{protocol}").run(task, put=put)
