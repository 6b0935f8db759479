"""The thread that writes: shared commits, errors that stay with their own, and commits that fail."""

from __future__ import annotations

import asyncio
import os
import resource
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import apsw
import pytest

from ledger.support import RUN, Pen, Store, said, start
from remit.errors import Conflict, LedgerError, NotFound
from remit.ledger import SqliteLedger
from remit.ledger.schema import connect, migrate
from remit.ledger.sql import execute, one
from remit.ledger.transaction import Transaction
from remit.ledger.writer import Writer
from remit.types.delivery import CancelRun
from remit.types.ident import OwnerId, RunId

ME = OwnerId("owner_me")


def test_eight_appenders_share_commits(file: Store) -> None:
    async def story() -> None:
        ledger = await file.open()
        assert isinstance(ledger, SqliteLedger)
        pens = [Pen(ledger, RunId(f"run_{number}")) for number in range(8)]

        async def appends(pen: Pen) -> None:
            await pen.start()
            for _ in range(24):
                await pen.write(said())

        await asyncio.gather(*(appends(pen) for pen in pens))
        assert ledger.commits <= 8 * 25 / 2
        assert await ledger.verify() == []
        before = ledger.commits
        await asyncio.gather(*(ledger.post(RunId("run_0"), CancelRun(by="bob")) for _ in range(100)))
        assert ledger.commits <= before + 2

    file.tell(story)


def test_each_appends_error_is_its_own(file: Store) -> None:
    async def story() -> None:
        ledger = await file.open()
        assert isinstance(ledger, SqliteLedger)
        before = ledger.commits
        done = await asyncio.gather(
            start(ledger, RUN),
            start(ledger, RUN),
            ledger.post(RunId("no"), CancelRun(by="bob")),
            start(ledger, RunId("run_2")),
            return_exceptions=True,
        )
        assert [type(one).__name__ for one in done] == ["Committed", "Conflict", "NotFound", "Committed"]
        assert ledger.commits - before <= 2
        assert [one.id for one in await ledger.runs()] == ["run_2", RUN]

    file.tell(story)


def test_nothing_is_synced_when_everything_is_refused(file: Store) -> None:
    async def story() -> None:
        ledger = await file.open()
        assert isinstance(ledger, SqliteLedger)
        await start(ledger)
        before = ledger.commits
        with pytest.raises(Conflict):
            await start(ledger)
        with pytest.raises(NotFound):
            await ledger.post(RunId("no"), CancelRun(by="bob"))
        assert ledger.commits == before

    file.tell(story)


def test_a_caller_whose_loop_is_gone_harms_nobody(file: Store) -> None:
    async def story() -> None:
        ledger = await file.open()
        await start(ledger)

        def elsewhere() -> None:
            loop = asyncio.new_event_loop()
            task = loop.create_task(ledger.post(RUN, CancelRun(by="bob")))
            loop.call_soon(loop.stop)
            loop.run_forever()
            task.cancel()
            loop.run_until_complete(asyncio.gather(task, return_exceptions=True))
            loop.close()

        thread = threading.Thread(target=elsewhere)
        thread.start()
        await asyncio.to_thread(thread.join)
        await ledger.post(RUN, CancelRun(by="carol"))
        by = [one.delivery.by for one in await ledger.inbox(RUN) if isinstance(one.delivery, CancelRun)]
        assert by[-1] == "carol"

    file.tell(story)


@contextmanager
def no_room(size: int) -> Iterator[None]:
    """No file of this process may grow beyond `size` bytes."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_a_disk_that_takes_no_more_is_an_error_for_who_waits_and_leaves_nothing_half_done(file: Store) -> None:
    async def story() -> None:
        ledger = await file.open()
        pen = Pen(ledger)
        await pen.start()
        before = await ledger.run(RUN)
        room = os.stat(f"{file.path}-wal").st_size
        with no_room(room):
            for _ in range(2):
                with pytest.raises(LedgerError) as failed:
                    await pen.write(said("x" * 10_000))
                assert failed.value.retryable
            assert await ledger.run(RUN) == before
        await pen.write(said("after"))
        assert [one.sequence for one in await ledger.read(RUN)] == [1, 2]
        assert await ledger.verify() == []

    file.tell(story)


class Flaky(apsw.Connection):
    """A connection whose COMMIT can say that it failed: before it did anything, or after it did."""

    lies: list[str]

    def execute(self, statements: str, *rest: object, **named: object) -> apsw.Cursor:  # type: ignore[override]
        if statements == "COMMIT" and self.lies:
            lie = self.lies.pop(0)
            if lie == "after":
                super().execute(statements)
            raise apsw.IOError("disk I/O error")
        return super().execute(statements, *rest, **named)  # type: ignore[arg-type]


def prepared(path: Path) -> None:
    db = connect(path, create=True)
    migrate(db, 0)
    execute(db, "INSERT INTO remit_owner (id, opened_ms) VALUES (?, 0)", (ME,))
    db.close()


def flaky(path: Path, lies: list[str]) -> apsw.Connection:
    db = Flaky(str(path))
    db.lies = lies
    return db


def keep(name: str, tx: Transaction) -> str:
    execute(tx.db, "INSERT INTO remit_spent (scope) VALUES (?)", (name,))
    return name


def refuse(tx: Transaction) -> None:
    execute(tx.db, "INSERT INTO remit_spent (scope) VALUES ('refused')")
    raise Conflict("no")


@pytest.mark.parametrize("lie", ["before", "after"])
def test_after_a_failed_commit_the_store_says_what_each_is_told(tmp_path: Path, lie: str) -> None:
    path = tmp_path / "ledger.db"
    prepared(path)
    lies = [lie]
    told: list[set[RunId]] = []
    writer = Writer(lambda: flaky(path, lies), owner=ME, alive=lambda _: False, told=told.append)

    async def story() -> None:
        done = await asyncio.gather(
            writer.write(partial(keep, "a")), writer.write(refuse), writer.write(partial(keep, "b")), return_exceptions=True
        )
        assert isinstance(done[1], Conflict)
        kept = [scope for (scope,) in connect(path).execute("SELECT scope FROM remit_spent ORDER BY scope")]
        for name, answer in (("a", done[0]), ("b", done[2])):
            if name in kept:
                assert answer == name
            else:
                assert isinstance(answer, LedgerError)
        assert (lie == "after") == (done[0] == "a")
        assert "refused" not in kept
        assert await writer.write(partial(keep, "c")) == "c"

    asyncio.run(story())
    writer.close()
    assert lies == []


def test_a_store_that_is_full_refuses_and_takes_on_when_there_is_room(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    prepared(path)
    limit: list[int | None] = [60]

    def small() -> apsw.Connection:
        db = connect(path)
        if limit[0]:
            db.pragma("max_page_count", limit[0])
        return db

    writer = Writer(small, owner=ME, alive=lambda _: False, told=lambda _: None)

    async def story() -> None:
        with pytest.raises(LedgerError) as full:
            await writer.write(partial(keep, "x" * 4_000_000))
        assert full.value.code == "ledger.full"
        assert "free some space" in str(full.value)
        assert await writer.write(partial(keep, "small")) == "small"

    asyncio.run(story())
    writer.close()


def test_work_that_goes_wrong_in_an_unforeseen_way_answers_its_caller_and_nobody_hangs(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    prepared(path)
    writer = Writer(partial(connect, path), owner=ME, alive=lambda _: False, told=lambda _: None)

    def wrong(tx: Transaction) -> None:
        execute(tx.db, "INSERT INTO remit_spent (scope) VALUES ('wrong')")
        raise KeyError("a mistake of ours")

    async def story() -> None:
        done = await asyncio.gather(writer.write(wrong), writer.write(partial(keep, "right")), return_exceptions=True)
        assert isinstance(done[0], KeyError)
        assert done[1] == "right"

    asyncio.run(story())
    writer.close()
    assert one(connect(path), "SELECT 1 FROM remit_spent WHERE scope = 'wrong'") is None


def test_a_closed_writer_refuses_and_what_was_queued_before_is_written(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    prepared(path)
    writer = Writer(partial(connect, path), owner=ME, alive=lambda _: False, told=lambda _: None)
    for number in range(50):
        assert writer.write_late(partial(keep, f"late {number}"), what="a test")
    writer.close()
    writer.close()
    assert not writer.write_late(partial(keep, "too late"), what="a test")
    with pytest.raises(LedgerError):
        asyncio.run(writer.write(partial(keep, "too late")))
    assert one(connect(path), "SELECT count(*) FROM remit_spent") == (50,)
