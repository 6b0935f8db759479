"""On PostgreSQL too a handler's statements and the ledger's append are one commit, beside those of everybody else."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Generator
from pathlib import Path

import psycopg
import pytest

from database.proxy import Breaking, serving
from database.server import server
from ledger.support import OPERATION, RUN, AnyLedger, Pen, Store, moved, operation, said, stamped
from remit.errors import Conflict, InputError, LedgerError, RunOwned
from remit.ledger.postgres import PostgresLedger
from remit.types.change import MoveOperation, OpenOperation
from remit.types.codec import encode_outcome
from remit.types.connection import Connection
from remit.types.ident import RunId
from remit.types.ledger import Append, Committed
from remit.types.outcome import Succeeded

LONG_S = 30.0


@pytest.fixture
def store() -> Generator[Store]:
    server().run("DROP TABLE IF EXISTS seat; CREATE TABLE seat (id TEXT PRIMARY KEY, who TEXT NOT NULL, free BOOLEAN)")
    yield Store("postgres", Path())
    server().run("DROP TABLE IF EXISTS seat")


def take(connection: Connection, id: str = "1A") -> str:
    connection.execute("INSERT INTO seat VALUES (:id, :who, :free)", {"id": id, "who": "al:ice?", "free": False})
    return id


async def begin(ledger: AnyLedger) -> Pen:
    """A run with a dispatched operation."""
    pen = Pen(ledger)
    await pen.start()
    opened = operation(recovery="transactional")
    await pen.write(moved(opened, "allowed"), changes=(OpenOperation(opened),))
    return pen


async def done(pen: Pen, work: Callable[[Connection], object], **other: object) -> Committed | None:
    outcome = Succeeded(value="done")
    event = moved(operation(), "returned", state="succeeded", outcome=outcome, by="handler")
    change = MoveOperation(
        operation=OPERATION, on="returned", state="dispatched", attempt=1, outcome=encode_outcome(outcome), settled_by="handler"
    )
    values: dict[str, object] = {"epoch": pen.epoch, "sequence": pen.sequence, **other}
    append = Append(run=pen.run, events=stamped(event), changes=(change,), **values)  # type: ignore[arg-type]
    return await pen.ledger.transact(work, lambda _: append, timeout_s=LONG_S)


async def both(ledger: AnyLedger) -> tuple[int, str]:
    """Rows of the application, and the operation's state."""
    row = await ledger.operation(OPERATION)
    assert row is not None
    assert await ledger.verify() == []
    return len(server().run("SELECT id FROM seat")), row.state


def test_rows_and_outcome_are_there_together(store: Store) -> None:
    async def story() -> None:
        ledger = await store.open()
        pen = await begin(ledger)

        def work(connection: Connection) -> None:
            take(connection)
            connection.execute_many("INSERT INTO seat (id, who) VALUES (?, '?:x %')", [("2A",), ("2B",)])
            found = connection.execute("SELECT id, who, free FROM seat WHERE id LIKE '%A' ORDER BY id -- who? :id")
            assert found == [("1A", "al:ice?", False), ("2A", "?:x %", None)]

        committed = await done(pen, work)
        assert committed is not None
        assert await both(ledger) == (3, "succeeded")
        pen.sequence = committed.sequence
        await pen.write(said())  # and the run goes on

    store.tell(story)


def test_what_is_refused_or_raised_takes_the_rows_with_it(store: Store) -> None:
    async def story() -> None:
        ledger = await store.open()
        pen = await begin(ledger)

        def fail(connection: Connection) -> None:
            take(connection)
            raise KeyError("no such card")

        def caught(connection: Connection) -> None:
            take(connection)
            with pytest.raises(psycopg.errors.UniqueViolation):
                take(connection)

        with pytest.raises(KeyError):
            await done(pen, fail)
        with pytest.raises(Conflict):
            await done(pen, take, sequence=pen.sequence + 1)
        with pytest.raises(RunOwned):
            await done(pen, take, epoch=pen.epoch + 1)
        with pytest.raises(LedgerError) as lost:
            await done(pen, caught)
        assert lost.value.code == "transaction.rolled_back"
        assert await ledger.transact(take, lambda _: None, timeout_s=LONG_S) is None
        assert await both(ledger) == (0, "dispatched")
        await pen.write(said())

    store.tell(story)


@pytest.mark.parametrize(
    "sql",
    [
        "COMMIT",
        " -- so\n/* and */ ROLLBACK",
        "SAVEPOINT x",
        "SET ROLE postgres",
        "RESET ALL",
        "DO $$ BEGIN COMMIT; END $$",
        "PREPARE TRANSACTION 'x'",
        "COPY seat TO STDOUT",
        "DISCARD ALL",
        "",
    ],
)
def test_a_statement_that_is_no_business_of_a_handler_is_denied(store: Store, sql: str) -> None:
    async def story() -> None:
        ledger = await store.open()
        pen = await begin(ledger)

        def work(connection: Connection) -> None:
            take(connection)
            connection.execute(sql)

        with pytest.raises(InputError) as denied:
            await done(pen, work)
        assert denied.value.code == "transaction.denied"
        assert await both(ledger) == (0, "dispatched")

    store.tell(story)


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT count(*) FROM remit.remit_run",
        'UPDATE "remit".remit_operation SET state = $$succeeded$$',
        "WITH x AS (DELETE FROM remit.remit_inbox RETURNING id) SELECT * FROM x",
        "TRUNCATE remit.remit_blob",
        "CREATE TRIGGER t BEFORE INSERT ON remit.remit_page EXECUTE FUNCTION suppress_redundant_updates_trigger()",
        "ALTER TABLE remit.remit_page ADD COLUMN more TEXT",
        "DROP TABLE remit.remit_delta",
        "CREATE VIEW peek AS SELECT * FROM remit.remit_run",
    ],
)
def test_what_touches_the_ledgers_own_tables_is_found_by_the_server_and_rolled_back(store: Store, sql: str) -> None:
    async def story() -> None:
        ledger = await store.open()
        pen = await begin(ledger)

        def work(connection: Connection) -> None:
            take(connection)
            connection.execute(sql)

        with pytest.raises(LedgerError) as denied:
            await done(pen, work)
        assert denied.value.code == "transaction.rolled_back"
        assert await both(ledger) == (0, "dispatched")

    store.tell(story)


def test_several_statements_in_one_text_are_refused(store: Store) -> None:
    async def story() -> None:
        ledger = await store.open()
        pen = await begin(ledger)
        with pytest.raises(psycopg.errors.SyntaxError):
            await done(pen, lambda connection: connection.execute("DELETE FROM seat; COMMIT"))
        assert await both(ledger) == (0, "dispatched")

    store.tell(story)


def test_a_role_for_handlers_may_do_what_it_may_do_and_no_more(store: Store) -> None:
    server().run(
        "DO $$ BEGIN CREATE ROLE teller; EXCEPTION WHEN duplicate_object THEN NULL; END $$;"
        " GRANT INSERT, SELECT ON seat TO teller"
    )

    async def story() -> None:
        ledger = PostgresLedger(server().url(), schema=store.schema, handler_role="teller")
        await ledger.open()
        try:
            pen = await begin(ledger)
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                await done(pen, lambda connection: connection.execute("DELETE FROM seat"))
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                await done(pen, lambda connection: connection.execute("SELECT * FROM remit.remit_run"))
            await done(pen, take)
            assert await both(ledger) == (1, "succeeded")
        finally:
            await ledger.aclose()

    store.tell(story)


def test_at_its_deadline_a_transaction_is_over_whatever_it_is_doing(store: Store) -> None:
    heard: list[str] = []

    async def story() -> None:
        ledger = await store.open()
        pen = await begin(ledger)

        def asleep(connection: Connection) -> None:
            take(connection)
            try:
                connection.execute("SELECT pg_sleep(60)")
            except LedgerError as error:
                heard.append(error.code)
                raise

        with pytest.raises(TimeoutError):
            await ledger.transact(asleep, lambda _: None, timeout_s=0.2)
        assert await both(ledger) == (0, "dispatched")
        await done(pen, take)
        assert await both(ledger) == (1, "succeeded")

    store.tell(story)
    assert heard == ["transaction.over"]


def test_a_session_that_the_server_ends_within_a_transaction_leaves_nothing(store: Store) -> None:
    async def story() -> None:
        ledger = PostgresLedger(server().url() + " options='-c idle_in_transaction_session_timeout=50'", schema=store.schema)
        await ledger.open()
        try:
            pen = await begin(ledger)

            def ended(connection: Connection) -> None:
                take(connection)
                server().run(
                    "SELECT pg_terminate_backend(pid, 9000) FROM pg_stat_activity WHERE application_name = 'remit handler'"
                )

            with pytest.raises(LedgerError) as lost:
                await done(pen, ended)
            assert lost.value.retryable
            assert await both(ledger) == (0, "dispatched")
            await done(pen, take)
            assert await both(ledger) == (1, "succeeded")
        finally:
            await ledger.aclose()

    store.tell(story)


def test_others_write_while_a_handler_has_its_transaction_open(store: Store) -> None:
    inside, on = threading.Event(), threading.Event()

    async def story() -> None:
        ledger = await store.open()
        pen, other = await begin(ledger), Pen(ledger, RunId("run_2"))

        def work(connection: Connection) -> None:
            take(connection)
            inside.set()
            assert on.wait(20)

        working = asyncio.create_task(done(pen, work))
        await asyncio.to_thread(inside.wait, 20)
        await other.start()
        await ledger.transact(lambda connection: take(connection, "9Z"), lambda _: None, timeout_s=LONG_S)
        on.set()
        await working
        assert await both(ledger) == (1, "succeeded")

    store.tell(story)


def test_a_lost_answer_to_the_commit_is_looked_up(store: Store) -> None:
    way = Breaking(server().port)

    async def story() -> None:
        ledger = PostgresLedger(f"host=127.0.0.1 port={port} dbname=postgres user=postgres", schema=store.schema)
        await ledger.open()
        try:
            pen = await begin(ledger)
            way.cut = "before"
            with pytest.raises(LedgerError):
                await done(pen, take)
            assert await both(ledger) == (0, "dispatched")
            way.cut = "after"
            assert await done(pen, take) is not None
            assert await both(ledger) == (1, "succeeded")
            assert len(await ledger.read(RUN)) == 3
        finally:
            await ledger.aclose()

    with serving(way.serve) as port:
        store.tell(story)
