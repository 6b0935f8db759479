"""What other processes hear of this one, at once and not durably: that something was written, and what models are writing.

Knows one session and one thread. What is queued while the last of it was sent goes together. Invariant: nobody waits
for it and nothing depends on it; what cannot be sent is not heard elsewhere until somebody looks, and that is all.
"""

from __future__ import annotations

import json
import logging
import queue
import threading
from collections.abc import Callable, Iterable, Sequence

from remit.errors import RemitError
from remit.ledger.delta_file import delta_of, line_of
from remit.ledger.postgres.database import Again, Gone, PostgresDatabase
from remit.ledger.postgres.owner import alive_in, channel_of
from remit.ledger.sql import execute, one, rows
from remit.types.ident import OwnerId, RunId
from remit.types.stream import Delta

__all__ = ["Teller", "read_deltas"]

_log = logging.getLogger("remit.ledger")

_PAUSE_S = 0.02
"""Between two notes: listeners on all machines are woken by each."""
_MOST_BYTES = 7000
"""A note is of less than 8000 bytes; where the runs do not fit, listeners look at all inboxes."""

Job = set[RunId] | list[Delta] | RunId


class Teller:
    """Tells for one owner until it is closed; never raises.

    Args:
        connect: opens a session, also again after a failure.
    """

    def __init__(self, connect: Callable[[], PostgresDatabase], owner: OwnerId) -> None:
        self._connect = connect
        self._owner = owner
        self._db: PostgresDatabase | None = None
        self._jobs: queue.SimpleQueue[Job | None] = queue.SimpleQueue()
        self._over = threading.Event()
        self._said = False
        self._thread = threading.Thread(target=self._serve, name="remit-postgres-teller", daemon=True)
        self._thread.start()

    def tell(self, posted: Iterable[RunId]) -> None:
        """Something was committed, and the inboxes of these runs grew."""
        self._jobs.put(set(posted))

    def write(self, deltas: Sequence[Delta]) -> None:
        """Let the others read these."""
        self._jobs.put(list(deltas))

    def drop(self, run: RunId) -> None:
        """Take the run's deltas away, unless they are another's who lives."""
        self._jobs.put(run)

    def close(self) -> None:
        """Send what is queued, take our deltas away, end. Blocks."""
        self._over.set()
        self._jobs.put(None)
        self._thread.join()

    def _serve(self) -> None:
        open_ = True
        while open_:
            jobs = [self._jobs.get()]
            while not self._jobs.empty():
                jobs.append(self._jobs.get())
            open_ = None not in jobs
            try:
                self._send([job for job in jobs if job is not None], last=not open_)
            except (Gone, Again, RemitError, OSError, ValueError) as error:
                self._fail(error)
            self._over.wait(_PAUSE_S)
        if self._db is not None:
            self._db.close()

    def _send(self, jobs: Sequence[Job], *, last: bool) -> None:
        if self._db is None:
            self._db = self._connect()
            execute(self._db, "SET synchronous_commit TO off")
            _sweep(self._db)
        told: set[RunId] = set()
        for job in jobs:
            match job:
                case set():
                    told |= job
                case list():
                    _write(self._db, job, self._owner)
                case _:
                    _drop(self._db, job, self._owner)
        if last:
            execute(self._db, "DELETE FROM remit_delta WHERE owner = ?", (self._owner,))
        if jobs:
            one(self._db, "SELECT pg_notify(?, ?)", channel_of(self._db.schema), _note(self._owner, told))

    def _fail(self, error: Exception) -> None:
        db, self._db = self._db, None
        if db is not None:
            db.close()
        if not self._said:
            self._said = True
            _log.warning("other processes cannot be told at once of what is written (%s)", type(error).__name__)


def _note(owner: OwnerId, told: set[RunId]) -> str:
    note = json.dumps([owner, sorted(told)])
    return note if len(note) < _MOST_BYTES else json.dumps([owner, None])


def _write(db: PostgresDatabase, deltas: Sequence[Delta], owner: OwnerId) -> None:
    last = deltas[-1]
    execute(db, "DELETE FROM remit_delta WHERE run = ? AND after < ?", (last.run, last.after))
    for delta in deltas:
        execute(
            db,
            "INSERT INTO remit_delta (run, after, place, owner, text) VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
            (delta.run, delta.after, delta.index, owner, line_of(delta).decode()),
        )


def _sweep(db: PostgresDatabase) -> None:
    """Take away what the dead have left."""
    for (owner,) in list(rows(db, "SELECT DISTINCT owner FROM remit_delta")):
        if not alive_in(db, OwnerId(owner)):
            execute(db, "DELETE FROM remit_delta WHERE owner = ?", (owner,))


def _drop(db: PostgresDatabase, run: RunId, owner: OwnerId) -> None:
    owners = [OwnerId(found) for (found,) in rows(db, "SELECT DISTINCT owner FROM remit_delta WHERE run = ?", (run,))]
    for one_owner in owners:
        if one_owner == owner or not alive_in(db, one_owner):
            execute(db, "DELETE FROM remit_delta WHERE run = ? AND owner = ?", (run, one_owner))


def read_deltas(db: PostgresDatabase, run: RunId, after: int, index: int, *, but: OwnerId) -> list[Delta]:
    """What others have written of the answer to the request `after`, from `index` on."""
    found = rows(
        db,
        "SELECT text FROM remit_delta WHERE run = ? AND after = ? AND place >= ? AND owner <> ? ORDER BY place, owner",
        (run, after, index, but),
    )
    deltas = (delta_of(run, after, text.encode()) for (text,) in found)
    return [delta for delta in deltas if delta is not None]
