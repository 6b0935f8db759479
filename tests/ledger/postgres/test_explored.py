"""The explorer's schedules with the store's rows on PostgreSQL: the same troubles, the same promises."""

from __future__ import annotations

import asyncio
from collections.abc import Generator

import pytest

from database.server import server
from remit import PostgresLedger
from remit.ledger.postgres.connect import connect, place_of
from remit.ledger.postgres.database import PostgresDatabase
from remit.testing import explore
from testing.explorer.works import waiting, works


@pytest.fixture
def on_server(monkeypatch: pytest.MonkeyPatch) -> Generator[list[int]]:
    """Stores in memory have their rows in a schema, which is emptied for each; how many there were."""
    schema = server().clean("remit_explored")

    async def make() -> None:
        ledger = PostgresLedger(server().url(), schema=schema)
        await ledger.open()
        await ledger.aclose()

    asyncio.run(make())
    db = connect(place_of(server().url(), schema), "explored")
    made: list[int] = []

    def emptied() -> PostgresDatabase:
        db.roll_back()
        server().clean(schema)
        made.append(1)
        return db

    monkeypatch.setattr("remit.ledger.memory.connect_memory", emptied)
    yield made
    db.close()


def test_whatever_goes_wrong_every_promise_holds_there_too(on_server: list[int]) -> None:
    exploration = explore(works, schedules=5)
    assert exploration.holds, str(exploration)
    assert explore(waiting, schedules=2).holds
    assert len(on_server) >= 7
