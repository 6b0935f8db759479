"""This owner's own session: its lock for as long as it lives, and what others tell it.

Knows one session and one thread that listens on it; not what is written. Invariant: an owner whose
session is lost is gone for good: it is told so here, and none of its transactions can begin.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import selectors
import threading
from collections.abc import Callable

import psycopg

from remit import ambient
from remit.errors import LedgerError
from remit.ledger.postgres.connect import Place
from remit.ledger.postgres.database import Again, Gone, PostgresDatabase, lock_number
from remit.ledger.sql import one, rows
from remit.types.ident import Json, OwnerId, RunId

__all__ = ["OwnerSession", "alive_in", "channel_of", "lost", "owner_lock"]

_log = logging.getLogger("remit.ledger")

_BEAT_S = 3.0
"""How often the session is asked whether it lives, where nothing is heard on it."""


def owner_lock(schema: str, owner: OwnerId) -> int:
    """The number of an owner's lock."""
    return lock_number(schema, f"owner {owner}")


def alive_in(db: PostgresDatabase, owner: OwnerId) -> bool:
    """Whether somebody holds the owner's lock. (Shared, so that two who ask do not take each other for the owner.)"""
    found = one(db, "SELECT pg_try_advisory_xact_lock_shared(?)", owner_lock(db.schema, owner))
    return not (found and found[0])


def channel_of(schema: str) -> str:
    """Where the processes of a ledger tell each other that something was written."""
    return f"remit_{schema}"


def lost() -> LedgerError:
    """What everybody is told once the session is gone."""
    return LedgerError(
        "this owner's session with PostgreSQL ended, and its lock with it: what it was doing is taken up by others;"
        " close the ledger and open it again",
        code="ledger.unavailable",
    )


class OwnerSession:
    """An owner, from here on until it is closed or its session is lost.

    Args:
        db: a session of its own, whose schema has the tables.
        told: called in this session's thread with the runs whose inbox grew elsewhere, and when it is lost.
    """

    def __init__(self, db: PostgresDatabase, place: Place, now_ms: int, told: Callable[[list[RunId]], None]) -> None:
        self.lost = False
        self._db = db
        self._told = told
        self._closing = False
        self.owner = self._enter(now_ms)
        db.execute(f'LISTEN "{channel_of(place.schema)}"')
        self._ear, self._mouth = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        self._thread = threading.Thread(target=self._serve, name="remit-postgres-owner", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Let go of the lock."""
        if not self._closing:
            self._closing = True
            os.write(self._mouth, b".")
            self._thread.join()
            os.close(self._ear)
            os.close(self._mouth)
        with contextlib.suppress(psycopg.Error, Again, Gone, LedgerError):
            self._db.execute("SELECT pg_advisory_unlock_all()")  # else it is free a moment after the session is closed
        self._db.close()

    def _enter(self, now_ms: int) -> OwnerId:
        """A name that no owner of this ledger ever had; it is seen once its lock is held."""
        while True:
            owner = OwnerId(ambient.new_id("owner"))
            number = owner_lock(self._db.schema, owner)
            if one(self._db, "SELECT pg_try_advisory_lock(?)", number) != (True,):
                continue
            made = one(
                self._db,
                "INSERT INTO remit_owner (id, opened_ms) VALUES (?, ?) ON CONFLICT DO NOTHING RETURNING id",
                owner,
                now_ms,
            )
            if made is not None:
                return owner
            self._db.execute("SELECT pg_advisory_unlock(?)", (number,))

    def _serve(self) -> None:
        with selectors.DefaultSelector() as selector:
            selector.register(self._ear, selectors.EVENT_READ)
            selector.register(self._db.wire.fileno(), selectors.EVENT_READ)
            try:
                while not self._closing:
                    ready = selector.select(_BEAT_S)
                    if not self._closing:
                        self._hear() if ready else self._look()
            except (psycopg.Error, Again, Gone, LedgerError, OSError) as error:
                if not self._closing:
                    self._lose(error)

    def _hear(self) -> None:
        """Take in what was told on the channel."""
        wire = self._db.wire.pgconn
        wire.consume_input()
        told: set[RunId] = set()
        heard = everything = False
        while (note := wire.notifies()) is not None:
            owner, runs = _said(note.extra)
            if owner == self.owner:
                continue
            told.update(runs or ())
            everything = everything or runs is None
            heard = True
        if everything:
            self._look()
        elif heard:
            self._told(list(told))

    def _look(self) -> None:
        """Ask the tables, in case that something was not told; and see that the session lives."""
        found = list(rows(self._db, "SELECT DISTINCT run FROM remit_inbox"))
        if found:
            self._told([RunId(run) for (run,) in found])

    def _lose(self, error: Exception) -> None:
        _log.error("the owner %s has lost its session with PostgreSQL (%s)", self.owner, type(error).__name__)
        self.lost = True
        self._db.close()
        self._told([])


def _said(note: bytes) -> tuple[str, list[RunId] | None]:
    """Who tells, and of which runs' inboxes; None where it cannot be read, or were too many to say."""
    try:
        found: Json = json.loads(note)
    except ValueError:
        return "", None
    match found:
        case [str(owner), [*runs]]:
            return owner, [RunId(str(run)) for run in runs]
        case [str(owner), None]:
            return owner, None
        case _:
            return "", None
