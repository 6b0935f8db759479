"""Two versions on one ledger: what is to be done is said before, and the older one refuses what it does not know."""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path

import apsw
import pytest

from database.server import server
from ledger.support import RUN, Pen, Store, said
from remit.errors import LedgerError
from remit.ledger import upgrade


@pytest.fixture(params=["sqlite", "postgres"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Generator[Store]:
    """A store of its own: its tables are made and changed here."""
    made = Store(request.param, tmp_path)
    if made.kind == "postgres":
        made.schema = server().new_schema()
    yield made
    if made.kind == "postgres":
        server().run(f"DROP SCHEMA IF EXISTS {made.schema} CASCADE")


def migrate_by_a_newer_version(store: Store) -> None:
    """A column that this version does not know, and the number of it."""
    if store.kind == "postgres":
        server().run(
            f"BEGIN; ALTER TABLE {store.schema}.remit_run ADD COLUMN more TEXT;"
            f" INSERT INTO {store.schema}.remit_migration VALUES (99, 'more', 0); COMMIT"
        )
    else:
        db = apsw.Connection(str(store.path))
        db.execute("BEGIN; ALTER TABLE remit_run ADD COLUMN more TEXT; PRAGMA user_version = 99; COMMIT")
        db.close()


def test_a_dry_run_says_what_is_to_be_made_and_makes_nothing(store: Store) -> None:
    async def story() -> None:
        if store.kind == "postgres":
            would = upgrade(store.address, dry_run=True)
            assert (would.before, len(would.steps) > 0, would.done) == (0, True, False)
            assert server().run(f"SELECT 1 FROM pg_namespace WHERE nspname = '{store.schema}'") == []
            assert upgrade(store.address).steps == would.steps
        else:
            with pytest.raises(LedgerError) as missing:
                upgrade(store.address)
            assert missing.value.code == "ledger.missing"
        ledger = await store.open()
        await Pen(ledger).start()
        again = upgrade(store.address)
        assert (again.before > 0, again.steps, again.done) == (True, (), True)
        assert len(await ledger.read(RUN)) == 1

    store.tell(story)


def test_an_older_version_that_is_at_work_writes_nothing_once_the_tables_are_newer(store: Store) -> None:
    async def story() -> None:
        ledger = await store.open()
        pen = Pen(ledger)
        await pen.start()
        migrate_by_a_newer_version(store)
        with pytest.raises(LedgerError) as refused:
            await pen.write(said())
        assert (refused.value.code, refused.value.retryable) == ("ledger.newer", False)
        with pytest.raises(LedgerError) as no_transaction:
            await ledger.transact(lambda connection: connection.execute("SELECT 1"), lambda _: None, timeout_s=5)
        assert no_transaction.value.code == "ledger.newer"
        assert len(await ledger.read(RUN)) == 1

    store.tell(story)


def test_an_older_version_neither_opens_nor_migrates_what_is_newer(store: Store) -> None:
    async def story() -> None:
        ledger = await store.open()
        await Pen(ledger).start()
        migrate_by_a_newer_version(store)
        with pytest.raises(LedgerError) as refused:
            await store.open()
        assert refused.value.code == "ledger.newer"
        for dry_run in (True, False):
            with pytest.raises(LedgerError) as newer:
                upgrade(store.address, dry_run=dry_run)
            assert newer.value.code == "ledger.newer"

    store.tell(story)


def test_two_that_migrate_at_once_leave_the_tables_once(store: Store) -> None:
    import asyncio

    async def story() -> None:
        first = [await asyncio.gather(*(store.open() for _ in range(4)))]
        assert len({one.owner for one in first[0]}) == 4
        await Pen(first[0][0]).start()
        assert len(await first[0][3].read(RUN)) == 1

    store.tell(story)
