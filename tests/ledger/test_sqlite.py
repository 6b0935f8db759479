"""The file: its mode, its version, what it must not be, and what its errors say."""

from __future__ import annotations

import asyncio
import hashlib
import os
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import apsw
import pytest

from ledger.support import RUN, Pen, Store, said, start
from remit import ambient
from remit.errors import LedgerError
from remit.ledger import SqliteLedger
from remit.types.ident import RunId


def refusal(path: Path, *, create: bool = True) -> LedgerError:
    """Why the file cannot be opened."""

    async def story() -> None:
        ledger = SqliteLedger(path, create=create)
        try:
            await ledger.open()
        finally:
            await ledger.aclose()

    with pytest.raises(LedgerError) as refused:
        asyncio.run(story())
    assert str(path) in str(refused.value)
    return refused.value


def test_the_file_and_all_beside_it_are_for_their_owner_only(file: Store) -> None:
    async def story() -> None:
        ledger = await file.open()
        await start(ledger)
        modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in file.path.parent.rglob("*")}
        assert modes.pop("ledger.db-owners") == 0o700
        assert set(modes.values()) == {0o600}
        assert {"ledger.db", "ledger.db-wal", "ledger.db-shm"} < set(modes)

    file.tell(story)


def test_the_file_survives_and_is_read_by_the_next_owner(file: Store) -> None:
    async def first() -> None:
        pen = Pen(await file.open())
        await pen.start()
        await pen.write(said())

    async def second() -> None:
        ledger = await file.open()
        assert len(await ledger.read(RUN)) == 2
        assert await ledger.verify() == []
        assert [one.id for one in await ledger.claimable(["support"])] == [RUN]

    file.tell(first)
    Store("sqlite", file.path.parent).tell(second)


def test_the_file_is_in_wal_mode_and_synced_in_full(file: Store) -> None:
    seen: list[str] = []

    def hook(db: apsw.Connection) -> None:
        db.trace_v2(apsw.SQLITE_TRACE_STMT, lambda event: seen.append(str(event["sql"])))  # type: ignore[index]

    async def story() -> None:
        ledger = await file.open()
        await start(ledger)

    apsw.connection_hooks.append(hook)
    try:
        file.tell(story)
    finally:
        apsw.connection_hooks.remove(hook)
    assert len([one for one in seen if "synchronous" in one.lower() and "FULL" in one]) == 2
    assert apsw.Connection(str(file.path)).pragma("journal_mode") == "wal"


def test_each_migration_is_recorded_and_opening_again_changes_nothing(file: Store) -> None:
    async def story() -> None:
        await (await file.open()).aclose()
        before = tables(file.path)
        await file.open()
        assert tables(file.path) == before
        db = apsw.Connection(str(file.path))
        versions = [row[0] for row in db.execute("SELECT version FROM remit_migration ORDER BY version")]
        assert versions == list(range(1, db.pragma("user_version") + 1))

    file.tell(story)


def tables(path: Path) -> list[tuple[object, ...]]:
    return apsw.Connection(str(path)).execute("SELECT name, sql FROM sqlite_schema ORDER BY name").fetchall()


def test_a_newer_file_is_refused_untouched(file: Store) -> None:
    async def story() -> None:
        await start(await file.open())

    file.tell(story)
    db = apsw.Connection(str(file.path))
    db.execute("PRAGMA user_version = 99")
    db.close()
    before = hashlib.sha256(file.path.read_bytes()).hexdigest()
    error = refusal(file.path)
    assert (error.code, error.retryable) == ("ledger.newer", False)
    assert "upgrade" in str(error)
    assert hashlib.sha256(file.path.read_bytes()).hexdigest() == before


def test_another_programs_database_is_refused_untouched(tmp_path: Path) -> None:
    path = tmp_path / "books.db"
    db = apsw.Connection(str(path))
    db.execute("CREATE TABLE book (title); PRAGMA user_version = 1")
    db.close()
    before = path.read_bytes()
    assert refusal(path).code == "ledger.foreign"
    assert path.read_bytes() == before


@pytest.mark.parametrize("mode", [None, "delete", "wal"])
def test_where_none_is_to_be_made_a_file_without_a_ledger_is_refused_untouched(tmp_path: Path, mode: str | None) -> None:
    path = tmp_path / "books.db"
    path.touch()
    if mode is not None:
        db = apsw.Connection(str(path))
        db.pragma("journal_mode", mode)
        db.execute("CREATE TABLE book (title)")
        db.close()
    before = path.read_bytes()
    error = refusal(path, create=False)
    assert (error.code, error.retryable) == ("ledger.none", False)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_where_none_is_to_be_made_a_file_that_is_missing_stays_so(tmp_path: Path) -> None:
    refusal(tmp_path / "books.db", create=False)
    assert list(tmp_path.iterdir()) == []


def test_a_ledger_is_opened_also_where_none_is_to_be_made(file: Store) -> None:
    async def story() -> None:
        await start(await file.open())
        ledger = SqliteLedger(file.path, create=False)
        await ledger.open()
        assert [row.id for row in await ledger.runs()] == [RUN]
        await start(ledger, RunId("run_2"))
        await ledger.aclose()

    file.tell(story)


def test_a_file_that_is_no_database_is_refused_untouched(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("dear diary " * 1000)
    error = refusal(path)
    assert (error.code, error.retryable) == ("ledger.foreign", False)
    assert "not a database" in str(error)
    assert path.read_text() == "dear diary " * 1000
    assert not path.with_name("notes.txt-owners").exists()


def test_a_damaged_ledger_is_named_as_damaged(file: Store) -> None:
    async def story() -> None:
        pen = Pen(await file.open())
        await pen.start()
        for _ in range(50):
            await pen.write(said("x" * 2_000))

    file.tell(story)
    data = bytearray(file.path.read_bytes())
    data[4096:] = b"\xff" * (len(data) - 4096)
    file.path.write_bytes(data)
    assert refusal(file.path).code == "ledger.corrupt"


def test_a_directory_and_a_place_that_is_not_there_are_refused_with_the_mend(tmp_path: Path) -> None:
    assert "is a directory" in str(refusal(tmp_path))
    assert "does not exist; make it first" in str(refusal(tmp_path / "no" / "ledger.db"))
    assert list(tmp_path.iterdir()) == []


@contextmanager
def unprivileged() -> Iterator[None]:
    """Be a user whom modes bind."""
    root = os.geteuid() == 0
    if root:
        os.seteuid(65534)
    try:
        yield
    finally:
        if root:
            os.seteuid(0)


@pytest.fixture
def closed(file: Store) -> Iterator[Path]:
    """A directory that this user may read and not write."""
    place = Path(tempfile.mkdtemp(prefix="remit-test-"))
    yield place
    place.chmod(0o755)
    shutil.rmtree(place)


@pytest.mark.parametrize("made", [False, True], ids=["no file yet", "a file that is there"])
def test_a_place_that_cannot_be_written_is_refused_with_the_mend(closed: Path, made: bool) -> None:
    path = closed / "ledger.db"
    if made:
        asyncio.run(start_in(path))
        path.chmod(0o444)
    closed.chmod(0o555)
    with unprivileged():
        error = refusal(path)
    assert error.code == "ledger.unavailable"
    assert "right to write" in str(error) or "can be written" in str(error)
    assert sorted(one.name for one in closed.iterdir()) == (["ledger.db", "ledger.db-owners"] if made else [])


async def start_in(path: Path) -> None:
    ledger = SqliteLedger(path)
    await ledger.open()
    await start(ledger)
    await ledger.aclose()


def test_tables_of_an_application_stay_beside_ours(tmp_path: Path) -> None:
    path = tmp_path / "app.db"
    db = apsw.Connection(str(path))
    db.execute("CREATE TABLE book (title); INSERT INTO book VALUES ('Emma')")
    db.close()
    asyncio.run(start_in(path))
    assert apsw.Connection(str(path)).execute("SELECT title FROM book").fetchall() == [("Emma",)]


def test_opening_twice_is_opening_once(file: Store) -> None:
    async def story() -> None:
        ledger = await file.open()
        owner = ledger.owner
        await ledger.open()
        assert ledger.owner == owner

    file.tell(story)


def test_owners_differ_even_where_their_ids_come_from_one_seed(file: Store) -> None:
    async def story() -> None:
        owners: list[str] = []
        for _ in range(3):
            with ambient.use(ambient.Seeded(1)):
                ledger = await file.open()
            owners.append(ledger.owner)
        await ledger.aclose()
        with ambient.use(ambient.Seeded(1)):
            owners.append((await file.open()).owner)
        assert len(set(owners)) == 4

    file.tell(story)


def test_locks_of_the_dead_are_removed_and_of_the_living_are_not(file: Store) -> None:
    async def story() -> None:
        locks = file.path.with_name("ledger.db-owners")
        living, dead = await file.open(), await file.open()
        names = {f"{living.owner}.lock", f"{dead.owner}.lock"}
        assert {path.name for path in locks.iterdir()} == names
        dead.abandon()
        assert {path.name for path in locks.iterdir()} == names
        third = await file.open()
        assert {path.name for path in locks.iterdir()} == {f"{living.owner}.lock", f"{third.owner}.lock"}
        assert await third.alive(living.owner)
        assert not await third.alive(dead.owner)
        await third.aclose()
        assert {path.name for path in locks.iterdir()} == {f"{living.owner}.lock"}

    file.tell(story)


def test_a_forked_child_neither_uses_the_ledger_nor_keeps_its_owner_alive(file: Store) -> None:
    async def story() -> None:
        ledger, other = await file.open(), await file.open()
        await start(ledger)
        owner = ledger.owner
        told, tell = os.pipe()
        end, ending = os.pipe()
        child = os.fork()
        if child == 0:
            try:
                os.close(ending)
                os.write(tell, str(code_of(ledger)).encode() + b"\n")
                os.read(end, 1)
            finally:
                os._exit(0)
        os.close(end)
        assert await asyncio.to_thread(os.read, told, 100) == b"ledger.forked\n"
        assert await other.alive(owner)
        ledger.abandon()
        assert not await other.alive(owner)
        os.close(ending)
        await asyncio.to_thread(os.waitpid, child, 0)
        os.close(told)
        os.close(tell)

    def code_of(ledger: object) -> str:
        assert isinstance(ledger, SqliteLedger)
        try:
            print(ledger.owner)
        except LedgerError as error:
            return error.code
        return "usable"

    file.tell(story)
