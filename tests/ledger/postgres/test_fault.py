"""What a server and a network may do to a commit: nobody is told "no" of what was written, nor "yes" of what was not."""

from __future__ import annotations

import contextlib
from pathlib import Path

import pytest

from database.proxy import Breaking, Pooler, serving
from database.server import server
from ledger.support import RUN, Pen, Store, said
from remit.errors import InputError, LedgerError
from remit.ledger.postgres import PostgresLedger
from remit.types.delivery import CancelRun
from remit.types.ident import RunId


@pytest.fixture
def store() -> Store:
    return Store("postgres", Path())


def through(port: int, store: Store) -> PostgresLedger:
    return PostgresLedger(f"host=127.0.0.1 port={port} dbname=postgres user=postgres", schema=store.schema)


@pytest.mark.parametrize("cut", ["before", "after"])
def test_a_lost_answer_to_a_commit_is_looked_up(store: Store, cut: str) -> None:
    way = Breaking(server().port)

    async def story() -> None:
        ledger = through(port, store)
        await ledger.open()
        try:
            pen = Pen(ledger)
            await pen.start()
            way.cut = cut  # type: ignore[assignment]
            if cut == "after":
                await pen.write(said("landed"))
            else:
                with pytest.raises(LedgerError) as caught:
                    await pen.write(said("lost"))
                assert caught.value.retryable
            assert way.cuts == 1
            await pen.write(said("and on"))
            assert len(await ledger.read(RUN)) == (3 if cut == "after" else 2)
            assert await ledger.verify() == []
        finally:
            await ledger.aclose()

    with serving(way.serve) as port:
        store.tell(story)


def test_a_batch_without_events_is_known_again_by_its_number(store: Store) -> None:
    way = Breaking(server().port)

    async def story() -> None:
        ledger = through(port, store)
        await ledger.open()
        try:
            await Pen(ledger).start()
            way.cut = "after"
            await ledger.post(RUN, CancelRun(by="bob"))
            assert len(await ledger.inbox(RUN)) == 1
        finally:
            await ledger.aclose()

    with serving(way.serve) as port:
        store.tell(story)


def test_sessions_that_were_ended_while_they_were_idle_are_replaced_and_nobody_notices(store: Store) -> None:
    async def story() -> None:
        ledger = await store.open()
        pen = Pen(ledger)
        await pen.start()
        await ledger.read(RUN)
        server().end_sessions("remit writer|remit reader|remit teller")
        assert len(await ledger.read(RUN)) == 1
        await pen.write(said())
        assert len(await ledger.read(RUN)) == 2

    store.tell(story)


@pytest.mark.parametrize(
    ("state", "code"), [("53100", "ledger.full"), ("25006", "ledger.unavailable"), ("XX001", "ledger.corrupt")]
)
def test_what_the_server_says_of_its_disk_ends_the_transaction_and_not_the_ledger(store: Store, state: str, code: str) -> None:
    function = f"{store.schema}.raise_{state.lower()}"
    body = f"BEGIN RAISE EXCEPTION 'no' USING ERRCODE = '{state}'; END"

    async def story() -> None:
        ledger = await store.open()
        pen, other = Pen(ledger), Pen(ledger, RunId("run_2"))
        await pen.start()
        await other.start()
        server().run(f"CREATE OR REPLACE FUNCTION {function}() RETURNS trigger LANGUAGE plpgsql AS $${body}$$")
        server().run(f"CREATE TRIGGER unfit BEFORE INSERT ON {store.schema}.remit_page EXECUTE FUNCTION {function}()")
        try:
            with pytest.raises(LedgerError) as caught:
                await pen.write(said())
            assert caught.value.code == code
            assert caught.value.retryable is (state != "XX001")
        finally:
            server().run(f"DROP FUNCTION {function} CASCADE")
        await pen.write(said())
        await other.write(said())
        assert len(await ledger.read(RUN)) == 2
        assert await ledger.verify() == []

    store.tell(story)


def test_a_pooler_that_gives_each_transaction_another_session_is_refused(store: Store) -> None:
    pooler = Pooler(server().port)

    async def story() -> None:
        ledger = through(port, store)
        with pytest.raises(LedgerError) as caught:
            await ledger.open()
        assert (caught.value.code, caught.value.retryable) == ("ledger.pooler", False)
        assert "session mode" in caught.value.message

    with serving(pooler.serve) as port, contextlib.closing(pooler):
        store.tell(story)


def test_a_pooler_that_keeps_a_session_for_each_client_does_no_harm(store: Store) -> None:
    pooler = Pooler(server().port, whole=True)

    async def story() -> None:
        ledger = through(port, store)
        await ledger.open()
        await Pen(ledger).start()
        assert len(await ledger.read(RUN)) == 1
        await ledger.aclose()

    with serving(pooler.serve) as port, contextlib.closing(pooler):
        store.tell(story)


def test_a_text_that_no_database_keeps_is_refused_alone(store: Store) -> None:
    async def story() -> None:
        ledger = await store.open()
        with pytest.raises(InputError) as caught:
            await Pen(ledger, RunId("run_\x00")).start()
        assert caught.value.code == "text.nul"
        await Pen(ledger).start()

    store.tell(story)


def test_an_address_that_leads_nowhere_is_named_without_its_password(store: Store) -> None:
    async def story() -> None:
        ledger = PostgresLedger("postgresql://alice:s3cret@127.0.0.1:1/shop")
        with pytest.raises(LedgerError) as caught:
            await ledger.open()
        assert caught.value.retryable
        assert "127.0.0.1/shop" in caught.value.message
        assert "s3cret" not in caught.value.message
        with pytest.raises(InputError) as unfit:
            PostgresLedger("postgresql://[")
        assert unfit.value.code == "ledger.url"

    store.tell(story)
