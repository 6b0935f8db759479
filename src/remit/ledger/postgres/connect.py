"""Where a ledger is, and sessions with it: each is set alike, whatever the server's defaults are.

Knows the connection string and a session's settings; not the tables. Invariant: a session of ours
waits for the disk before it answers a commit, and is alone behind its connection.
"""

from __future__ import annotations

import os
import re
import weakref
from dataclasses import dataclass, field

import psycopg
from psycopg import conninfo

from remit.errors import InputError, LedgerError
from remit.ledger.postgres.database import Gone, PostgresDatabase, Wire, translate
from remit.ledger.sql import one

__all__ = ["LOCK_MS", "Place", "connect", "place_of", "refuse_pooler"]

_SCHEMA = "remit"

LOCK_MS = 10_000
"""How long a statement waits for another process's transaction."""

_IDLE_MS = 30_000
"""How long a process that is held up within a transaction may hold up others."""

_WAY = {
    "connect_timeout": "10",
    "keepalives_idle": "5",
    "keepalives_interval": "2",
    "keepalives_count": "3",
    "tcp_user_timeout": "10000",
    "target_session_attrs": "read-write",
}
"""A way that is dead is found out here after about ten seconds, and there, see `_SET`, after thirty: whoever has lost
its server knows it before the server gives its lock away."""

_SET = f"""
SET standard_conforming_strings TO on; SET client_encoding TO 'UTF8';
SET lock_timeout TO {LOCK_MS}; SET statement_timeout TO 0;
SET idle_session_timeout TO 0; SET default_transaction_read_only TO off;
SET default_transaction_isolation TO 'read committed';
SET tcp_keepalives_idle TO 15; SET tcp_keepalives_interval TO 5; SET tcp_keepalives_count TO 3;
SET tcp_user_timeout TO 30000;
SELECT set_config('idle_in_transaction_session_timeout', '{_IDLE_MS}', false) FROM pg_settings
    WHERE name = 'idle_in_transaction_session_timeout' AND setting::int NOT BETWEEN 1 AND {_IDLE_MS};
SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') <> 'remote_apply'
"""


@dataclass(frozen=True, slots=True)
class Place:
    """A schema of a database.

    Args:
        url: as libpq takes it; may hold a password, so it is never shown.
        name: what may be shown of it.
    """

    url: str = field(repr=False)
    schema: str
    name: str


def place_of(url: str, schema: str | None) -> Place:
    """The place, with a name for messages. The address may name the schema too: `?schema=`.

    Raises:
        InputError: it names no place.
    """
    url, named = _without_schema(url)
    schema = schema or named or _SCHEMA
    if not re.fullmatch(r"[a-z_][a-z0-9_]{0,40}", schema):
        raise InputError("a schema's name is of small letters, digits and _, at most 41", code="ledger.schema")
    try:
        parts = conninfo.conninfo_to_dict(url)
    except psycopg.ProgrammingError as error:
        raise InputError(
            "the ledger's address cannot be read; it is postgresql://user@host/database", code="ledger.url"
        ) from error
    parts = {**{name: value for name, value in _WAY.items() if name not in parts}, **parts}
    host, database = parts.get("host") or "localhost", parts.get("dbname") or parts.get("user") or ""
    return Place(conninfo.make_conninfo("", **parts), schema, f"postgresql://{host}/{database}")


def _without_schema(url: str) -> tuple[str, str | None]:
    """The address as libpq takes it, which knows no schema, and the schema in it."""
    if "://" not in url or "schema=" not in url:
        return url, None
    front, _, query = url.partition("?")
    terms = [term for term in query.split("&") if term]
    named = [term.removeprefix("schema=") for term in terms if term.startswith("schema=")]
    kept = "&".join(term for term in terms if not term.startswith("schema="))
    return f"{front}?{kept}" if kept else front, named[-1] if named else None


def connect(place: Place, purpose: str) -> PostgresDatabase:
    """A session with the ledger's tables in its path.

    Raises:
        LedgerError: the server cannot be reached, refuses us, or is none that a ledger can be in.
    """
    try:
        wire = psycopg.connect(place.url, autocommit=True, application_name=f"remit {purpose}")
    except psycopg.Error as error:
        raise translate(error, place.name) from error
    db = PostgresDatabase(wire, place.schema)
    try:
        _refuse_unfit(db, place)
        db.execute(f'{_SET}; SET search_path TO "{place.schema}", pg_temp')
    except BaseException as error:
        wire.close()
        if isinstance(error, Gone):
            raise translate(error, place.name) from error
        raise
    _held.add(wire)
    return db


def _refuse_unfit(db: PostgresDatabase, place: Place) -> None:
    encoding = db.wire.info.parameter_status("server_encoding")
    if db.wire.info.server_version < 140000 or encoding != "UTF8":
        raise LedgerError(
            f"{place.name}: a ledger needs PostgreSQL 14 or newer, and a database in UTF8 (it is in {encoding})",
            code="ledger.unfit",
            retryable=False,
        )


def refuse_pooler(db: PostgresDatabase, place: Place) -> None:
    """Raise `LedgerError` (`ledger.pooler`) if what is behind this connection changes from one transaction to the next.

    A pooler answers in the server's place, so the process number that it gave us is not the server's. One that keeps a
    session for as long as we are connected does no harm: two connections are then never in one session, and a session
    stays the same while another is at work.
    """
    mine = _process(db)
    if mine == db.wire.info.backend_pid:
        return
    with connect_beside(place) as other:
        beside = PostgresDatabase(other, place.schema)
        for _ in range(3):
            beside.execute("BEGIN")
            theirs = _process(beside)
            now = _process(db)
            beside.execute("ROLLBACK")
            if theirs == mine or now != mine:
                raise LedgerError(
                    f"{place.name} is behind a pooler that gives each transaction another session; a ledger keeps its"
                    " lock in one: name the server itself, or a pool in session mode",
                    code="ledger.pooler",
                    retryable=False,
                )


def connect_beside(place: Place) -> Wire:
    """A session without any settings of ours."""
    return psycopg.connect(place.url, autocommit=True, application_name="remit")


def _process(db: PostgresDatabase) -> int:
    found = one(db, "SELECT pg_backend_pid()")
    return int(found[0]) if found else 0


_held: weakref.WeakSet[Wire] = weakref.WeakSet()


def _forget_in_child() -> None:
    """A forked child shares the sockets: it must neither speak on them nor keep a dead parent's lock."""
    for wire in list(_held):
        if not wire.closed:
            nowhere = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
            os.dup2(nowhere, wire.fileno(), inheritable=False)
            os.close(nowhere)


os.register_at_fork(after_in_child=_forget_in_child)
