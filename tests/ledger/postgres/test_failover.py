"""A server that is stopped, that comes up as a standby and is promoted: the ledger says what is, and goes on when it can."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Generator

import pytest

from database.server import Server
from ledger.support import RUN, Pen, said, stamped
from remit.errors import LedgerError
from remit.ledger.postgres import PostgresLedger
from remit.types.ledger import Append


@pytest.fixture
def own() -> Generator[Server]:
    """A server that may be stopped."""
    made = Server()
    yield made
    made.remove()


def test_through_a_shutdown_a_standby_and_its_promotion_nothing_is_lost_and_nothing_is_made_up(own: Server) -> None:
    async def story() -> None:
        ledger = PostgresLedger(own.url())
        await ledger.open()
        pen = Pen(ledger)
        await pen.start()
        await asyncio.to_thread(own.stop, signal.SIGINT)  # in order: sessions are ended, 57P01
        for _ in range(2):
            with pytest.raises(LedgerError) as stopped:
                await pen.write(said())
            assert (stopped.value.code, stopped.value.retryable) == ("ledger.unavailable", True)
        await ledger.aclose()
        with pytest.raises(LedgerError) as nobody:
            await ledger.open()
        assert (nobody.value.code, nobody.value.retryable) == ("ledger.unavailable", True)
        (own.data / "standby.signal").touch()
        await asyncio.to_thread(own.start)
        with pytest.raises(LedgerError) as standby:
            await ledger.open()
        assert (standby.value.code, standby.value.retryable) == ("ledger.unavailable", True)
        await asyncio.to_thread(own.run, "SELECT pg_promote()")
        await ledger.open()
        assert [one.id for one in await ledger.claimable(["support"])] == [RUN]
        await ledger.commit(Append(run=RUN, sequence=1, events=stamped(said()), claim=True))
        assert await ledger.verify() == []
        await ledger.aclose()

    asyncio.run(story())


def test_after_a_crash_of_the_server_everything_that_was_told_durable_is_there(own: Server) -> None:
    async def story() -> None:
        ledger = PostgresLedger(own.url())
        await ledger.open()
        pen = Pen(ledger)
        await pen.start()
        for _ in range(20):
            await pen.write(said())
        await asyncio.to_thread(own.stop)
        await asyncio.to_thread(own.start)
        with pytest.raises(LedgerError):  # its owner is gone with its session
            await pen.write(said())
        await ledger.aclose()
        await ledger.open()
        assert len(await ledger.read(RUN)) == 21
        assert await ledger.verify() == []
        await ledger.aclose()

    asyncio.run(story())
