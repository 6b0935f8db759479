"""An owner lives for as long as its session: where that is lost, it can write nothing, and others take over."""

from __future__ import annotations

import asyncio
from pathlib import Path

import psycopg
import pytest

from database.server import server
from ledger.support import RUN, Pen, Store, said, stamped
from remit.errors import Conflict, LedgerError, RunOwned
from remit.ledger.postgres import PostgresLedger
from remit.types.delivery import LateReport
from remit.types.ident import OperationId
from remit.types.ledger import Append
from remit.types.outcome import Failed


@pytest.fixture
def store() -> Store:
    return Store("postgres", Path())


def kill_owners() -> None:
    """End the sessions that keep owners' locks, as a lost network would."""
    server().end_sessions("remit owner")


async def gone(ledger: PostgresLedger) -> LedgerError:
    """Wait until the ledger knows that its session is lost; what it says then."""
    while True:
        try:
            await ledger.changed(await ledger.changed(-1, timeout_s=0), timeout_s=5)
        except LedgerError as error:
            return error


def test_a_lost_session_ends_the_owner_for_good_and_another_opening_is_a_new_one(store: Store) -> None:
    async def story() -> None:
        ledger = await store.open()
        assert isinstance(ledger, PostgresLedger)
        pen, was = Pen(ledger), ledger.owner
        await pen.start()
        kill_owners()
        error = await gone(ledger)
        assert (error.code, error.retryable) == ("ledger.unavailable", True)
        with pytest.raises(LedgerError):
            await pen.write(said())
        with pytest.raises(LedgerError):
            await ledger.read(RUN)
        await ledger.aclose()
        await ledger.open()
        assert ledger.owner != was
        assert not await ledger.alive(was)
        assert [one.id for one in await ledger.claimable(["support"])] == [RUN]
        await ledger.commit(Append(run=RUN, sequence=1, events=stamped(said()), claim=True))
        assert await ledger.verify() == []

    store.tell(story)


def test_a_commit_that_begins_after_the_session_was_lost_writes_nothing(store: Store) -> None:
    async def story() -> None:
        ledger, other = await store.open(), await store.open()
        pen = Pen(ledger)
        await pen.start()
        kill_owners()
        with pytest.raises(LedgerError):  # whether or not it has heard of it by now
            await pen.write(said())
        assert isinstance(other, PostgresLedger)
        await gone(other)
        fresh = await store.open()
        row = await fresh.run(RUN)
        assert row is not None
        assert (row.sequence, row.owner) == (1, row.owner)
        assert not await fresh.alive(row.owner or "")

    store.tell(story)


def test_a_session_lost_while_a_commit_is_under_way_leaves_one_order_of_the_two_owners(store: Store) -> None:
    async def story() -> None:
        ledger = await store.open()
        pen = Pen(ledger)
        await pen.start()
        heir = await store.open()
        with psycopg.connect(server().url()) as holding:
            holding.execute(f"LOCK TABLE {store.schema}.remit_payload IN EXCLUSIVE MODE")  # a commit stops half-way
            writing = asyncio.create_task(pen.write(said("the last word")))
            await _waits_for("remit writer")
            server().run(
                "SELECT pg_terminate_backend(pid) FROM pg_locks JOIN pg_stat_activity USING (pid)"
                " WHERE locktype = 'advisory' AND mode = 'ExclusiveLock' AND application_name = 'remit owner'"
                " ORDER BY backend_start LIMIT 1"
            )
            claiming = asyncio.create_task(heir.commit(Append(run=RUN, sequence=1, events=stamped(said()), claim=True)))
            await _waits_for("remit writer", 2)  # behind the run's row
            holding.rollback()
        written, claimed = await asyncio.gather(writing, claiming, return_exceptions=True)
        assert not isinstance(written, BaseException)  # it began while its owner lived, and the heir waited for it
        assert isinstance(claimed, Conflict)
        assert claimed.code == "journal.sequence"
        await heir.commit(Append(run=RUN, sequence=2, events=stamped(said()), claim=True))
        with pytest.raises((LedgerError, RunOwned)):
            await pen.write(said())
        assert len(await heir.read(RUN)) == 3
        assert await heir.verify() == []

    store.tell(story)


def test_what_a_handler_did_is_posted_by_an_owner_that_was_lost(store: Store) -> None:
    async def story() -> None:
        ledger, other = await store.open(), await store.open()
        await Pen(ledger).start()
        kill_owners()
        assert isinstance(ledger, PostgresLedger)
        await gone(ledger)
        report = LateReport(
            operation=OperationId("op_1"), attempt=1, outcome=Failed(code="tool.failed", message="no", retry="no")
        )
        await asyncio.to_thread(ledger.post_late, RUN, report)
        fresh = await store.open()
        assert [one.delivery for one in await fresh.inbox(RUN)] == [report]
        del other

    store.tell(story)


async def _waits_for(purpose: str, count: int = 1) -> None:
    """Return once so many sessions of a purpose wait for a lock."""
    while True:
        found = await asyncio.to_thread(
            server().run,
            f"SELECT count(*) FROM pg_stat_activity WHERE application_name = '{purpose}' AND wait_event_type = 'Lock'",
        )
        if found == [(count,)]:
            return
