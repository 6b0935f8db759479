"""A schema is made where there is none, and what is another program's is left as it was."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Generator

import pytest

from database.server import server
from ledger.support import RUN, Pen, said
from remit.errors import InputError, LedgerError
from remit.ledger import PostgresLedger, ledger_named


@pytest.fixture
def schema() -> Generator[str]:
    name = server().new_schema()
    yield name
    server().run(f"DROP SCHEMA IF EXISTS {name} CASCADE")


async def refused(ledger: PostgresLedger) -> str:
    with pytest.raises(LedgerError) as caught:
        await ledger.open()
    assert not caught.value.retryable
    return caught.value.code


def test_a_ledger_is_made_only_where_it_may_be(schema: str) -> None:
    async def story() -> None:
        assert await refused(PostgresLedger(server().url(), schema=schema, create=False)) == "ledger.none"
        assert server().run(f"SELECT 1 FROM pg_namespace WHERE nspname = '{schema}'") == []
        made = ledger_named(f"{server().address()}&schema={schema}")
        await made.open()
        await made.aclose()
        again = PostgresLedger(server().url(), schema=schema, create=False)
        await again.open()
        await again.aclose()

    asyncio.run(story())


def test_a_schema_with_tables_of_another_program_is_left_alone(schema: str) -> None:
    server().run(f"CREATE SCHEMA {schema}; CREATE TABLE {schema}.charge (id TEXT)")
    assert asyncio.run(refused(PostgresLedger(server().url(), schema=schema))) == "ledger.foreign"
    assert server().run(f"SELECT tablename FROM pg_tables WHERE schemaname = '{schema}'") == [("charge",)]


def test_a_database_in_another_encoding_is_refused(schema: str) -> None:
    server().run("CREATE DATABASE latin TEMPLATE template0 ENCODING 'LATIN1' LOCALE 'C'")
    try:
        assert asyncio.run(refused(PostgresLedger(server().url("latin"), schema=schema))) == "ledger.unfit"
    finally:
        server().run("DROP DATABASE latin WITH (FORCE)")


def test_the_name_of_a_schema_is_plain() -> None:
    with pytest.raises(InputError) as unfit:
        PostgresLedger("postgresql:///x", schema='a"; DROP SCHEMA public')
    assert unfit.value.code == "ledger.schema"


def test_a_forked_child_is_told_to_open_its_own_and_does_no_harm_to_its_parents() -> None:
    async def story() -> None:
        ledger = PostgresLedger(server().url(), schema=server().clean())
        await ledger.open()
        pen = Pen(ledger)
        await pen.start()
        child = os.fork()
        if not child:
            code = 1
            try:
                ledger.publish_deltas([])
                ledger.drop_deltas(RUN)
                ledger.commits  # noqa: B018
            except LedgerError as error:
                code = 0 if error.code == "ledger.forked" else 2
            finally:
                os._exit(code)
        _, status = await asyncio.to_thread(os.waitpid, child, 0)
        assert os.waitstatus_to_exitcode(status) == 0
        await pen.write(said())
        assert len(await ledger.read(RUN)) == 2
        assert await ledger.alive(ledger.owner)
        await ledger.aclose()

    asyncio.run(story())
