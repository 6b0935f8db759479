"""A handler's statements and the ledger's append are one commit; whatever ends the transaction, ends both."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import apsw
import pytest

from ledger.support import OPERATION, AnyLedger, Pen, Store, moved, operation, said, stamped
from remit import ambient
from remit.errors import Conflict, InputError, LedgerError, RunOwned
from remit.types.change import MoveOperation, OpenOperation
from remit.types.codec import encode_outcome
from remit.types.connection import Connection, SqlRow
from remit.types.ident import RunId
from remit.types.ledger import Append, Committed
from remit.types.outcome import Succeeded

LONG_S = 30.0


@pytest.fixture(params=["memory", "sqlite"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Store:
    """Here the statements are SQLite's."""
    return Store(request.param, tmp_path)


async def seats(ledger: AnyLedger) -> list[SqlRow]:
    """What the application's table holds, by a transaction that is rolled back."""
    found: list[SqlRow] = []

    def look(connection: Connection) -> None:
        made = connection.execute("SELECT 1 FROM sqlite_schema WHERE name = 'seat'")
        found.extend(connection.execute("SELECT id, who FROM seat ORDER BY id") if made else [])

    assert await ledger.transact(look, lambda _: None, timeout_s=LONG_S) is None
    return found


def take(connection: Connection, id: str = "1A") -> str:
    connection.execute("CREATE TABLE IF NOT EXISTS seat (id TEXT PRIMARY KEY, who TEXT NOT NULL)")
    connection.execute("INSERT INTO seat VALUES (:id, :who)", {"id": id, "who": "alice"})
    return id


async def begin(ledger: AnyLedger, run: str = "run_1") -> Pen:
    """A run with a dispatched operation."""
    pen = Pen(ledger, RunId(run))
    await pen.start()
    opened = operation(run=pen.run, root=pen.run, recovery="transactional")
    await pen.write(moved(opened, "allowed"), changes=(OpenOperation(opened),))
    return pen


def returned(pen: Pen, **other: object) -> Append:
    """What the ledger says once the handler has returned."""
    outcome = Succeeded(value="done")
    event = moved(operation(), "returned", state="succeeded", outcome=outcome, by="handler")
    change = MoveOperation(
        operation=OPERATION, on="returned", state="dispatched", attempt=1, outcome=encode_outcome(outcome), settled_by="handler"
    )
    values: dict[str, object] = {"epoch": pen.epoch, "sequence": pen.sequence, **other}
    return Append(run=pen.run, events=stamped(event), changes=(change,), **values)  # type: ignore[arg-type]


async def done(pen: Pen, work: Callable[[Connection], object], **other: object) -> Committed | None:
    return await pen.ledger.transact(work, lambda _: returned(pen, **other), timeout_s=LONG_S)


async def both(ledger: AnyLedger) -> tuple[int, str]:
    """Rows of the application, and the operation's state."""
    row = await ledger.operation(OPERATION)
    assert row is not None
    assert await ledger.verify() == []
    return len(await seats(ledger)), row.state


def test_rows_and_outcome_are_there_together(store: Store) -> None:
    async def story() -> None:
        ledger = await store.open()
        pen = await begin(ledger)
        committed = await done(pen, take)
        assert committed is not None
        assert committed.sequence == pen.sequence + 1
        assert await both(ledger) == (1, "succeeded")
        pen.sequence = committed.sequence
        await pen.write(said())  # and the run goes on

    store.tell(story)


def test_what_the_work_raises_is_raised_and_rolled_back(store: Store) -> None:
    async def story() -> None:
        ledger = await store.open()
        pen = await begin(ledger)

        def fail(connection: Connection) -> None:
            take(connection)
            raise KeyError("no such card")

        with pytest.raises(KeyError):
            await done(pen, fail)
        assert await both(ledger) == (0, "dispatched")
        await pen.write(said())

    store.tell(story)


def test_an_append_that_is_refused_takes_the_rows_with_it(store: Store) -> None:
    async def story() -> None:
        ledger = await store.open()
        pen = await begin(ledger)
        with pytest.raises(Conflict):
            await done(pen, take, sequence=pen.sequence + 1)
        with pytest.raises(RunOwned):
            await done(pen, take, epoch=pen.epoch + 1)
        assert await both(ledger) == (0, "dispatched")

    store.tell(story)


def test_an_owner_whose_run_was_taken_over_meanwhile_commits_nothing(store: Store) -> None:
    async def story() -> None:
        former, now = await store.open(), await store.open()
        pen = await begin(former)
        append = returned(pen)
        assert await former.transact(take, lambda _: None, timeout_s=LONG_S) is None
        await pen.write(said(), release=True)
        await now.commit(Append(run=pen.run, sequence=pen.sequence, claim=True, events=stamped(said())))
        with pytest.raises(RunOwned):
            await former.transact(take, lambda _: append, timeout_s=LONG_S)
        assert await both(now) == (0, "dispatched")

    store.tell(story)


def test_at_its_deadline_a_long_statement_is_interrupted_and_rolled_back(store: Store) -> None:
    endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n"

    async def story() -> None:
        ledger = await store.open()
        pen = await begin(ledger)
        later: list[object] = []
        over = threading.Event()

        def slow(connection: Connection) -> None:
            take(connection)
            try:
                connection.execute(endless)
            except LedgerError as error:  # a handler that catches it, and goes on
                later.append(error.code)
            try:
                take(connection, "2B")
            except LedgerError as error:
                later.append(error.code)
            over.set()

        with pytest.raises(TimeoutError):
            await ledger.transact(slow, lambda _: returned(pen), timeout_s=0.05)
        await asyncio.to_thread(over.wait, LONG_S)
        assert await both(ledger) == (0, "dispatched")
        assert later == ["transaction.over", "transaction.over"]

    store.tell(story)


def test_under_a_work_that_is_stuck_the_transaction_is_over_at_its_deadline_and_the_writer_goes_on(store: Store) -> None:
    async def story() -> None:
        ledger = await store.open()
        pen = await begin(ledger)
        free, later = threading.Event(), asyncio.Event()
        loop = asyncio.get_running_loop()

        def stuck(connection: Connection) -> None:
            take(connection)
            free.wait(LONG_S)
            try:
                take(connection, "2B")
            except LedgerError:
                loop.call_soon_threadsafe(later.set)

        with pytest.raises(TimeoutError):
            await ledger.transact(stuck, lambda _: returned(pen), timeout_s=0.05)
        await pen.write(said())  # while the work still stands where it stood
        free.set()
        await later.wait()
        assert await both(ledger) == (0, "dispatched")

    store.tell(story)


def test_a_generator_that_never_ends_does_not_hold_the_deadline_up(store: Store) -> None:
    async def story() -> None:
        ledger = await store.open()
        pen = await begin(ledger)
        free = threading.Event()

        def slowly() -> Iterator[tuple[str, str]]:
            yield "1A", "alice"
            free.wait(LONG_S)

        def work(connection: Connection) -> None:
            take(connection, "9Z")
            connection.execute_many("INSERT INTO seat VALUES (?, ?)", slowly())

        with pytest.raises(TimeoutError):
            await ledger.transact(work, lambda _: returned(pen), timeout_s=0.05)
        free.set()
        assert await both(ledger) == (0, "dispatched")

    store.tell(story)


def test_what_others_write_meanwhile_waits_and_is_kept(store: Store) -> None:
    async def story() -> None:
        ledger = await store.open()
        pen, other = await begin(ledger), Pen(ledger, RunId("run_2"))
        begun, free = threading.Event(), threading.Event()

        def work(connection: Connection) -> None:
            take(connection)
            begun.set()
            free.wait(LONG_S)

        one = asyncio.ensure_future(done(pen, work))
        await asyncio.to_thread(begun.wait, LONG_S)
        two = asyncio.ensure_future(other.start())
        await asyncio.to_thread(int)
        assert not two.done()
        assert await ledger.run(other.run) is None  # readers see what is committed
        free.set()
        await asyncio.gather(one, two)
        assert await ledger.run(other.run) is not None
        assert await both(ledger) == (1, "succeeded")

    store.tell(story)


def test_transactions_of_two_owners_come_one_after_the_other(store: Store) -> None:
    async def story() -> None:
        first, second = await store.open(), await store.open()
        pen = await begin(first)
        open_now: list[str] = []
        most: list[int] = []

        def work(name: str) -> Callable[[Connection], None]:
            def do(connection: Connection) -> None:
                open_now.append(name)
                most.append(len(open_now))
                take(connection, name)
                open_now.remove(name)

            return do

        await asyncio.gather(
            *(
                one.transact(work(f"{one.owner} {n}"), lambda _: None, timeout_s=LONG_S)
                for one in (first, second)
                for n in (1, 2)
            )
        )
        assert most == [1, 1, 1, 1]
        await done(pen, take)
        assert await both(second) == (1, "succeeded")

    store.tell(story)


def test_a_ledger_that_is_closed_meanwhile_rolls_back(store: Store) -> None:
    async def story() -> None:
        ledger, other = await store.open(), await store.open()
        pen = await begin(ledger)
        begun, free = threading.Event(), threading.Event()

        def work(connection: Connection) -> None:
            take(connection)
            begun.set()
            free.wait(LONG_S)

        one = asyncio.ensure_future(done(pen, work))
        await asyncio.to_thread(begun.wait, LONG_S)
        await ledger.aclose()
        free.set()
        with pytest.raises(TimeoutError):
            await one
        assert await both(other) == (0, "dispatched")

    store.tell(story)


DENIED = (
    "SELECT count(*) FROM remit_run",
    "SELECT text FROM main.Remit_Payload",
    "INSERT INTO remit_owner (id, opened_ms) VALUES ('x', 0)",
    "UPDATE remit_operation SET state = 'failed'",
    "DELETE FROM REMIT_PAGE",
    "DROP TABLE remit_page",
    "ALTER TABLE remit_page ADD COLUMN x",
    "CREATE TABLE remit_mine (a)",
    "CREATE TABLE x AS SELECT * FROM remit_payload",
    "CREATE TEMP TABLE remit_run (a)",
    "CREATE TEMP TABLE anything (a)",
    "CREATE TEMP VIEW remit_run AS SELECT 1",
    "CREATE TABLE temp.anything (a)",
    "CREATE VIEW temp.anything AS SELECT 1",
    "CREATE TABLE m (a); CREATE TRIGGER temp.t AFTER INSERT ON m BEGIN SELECT 1; END",
    "CREATE INDEX mine ON remit_run (agent)",
    "CREATE TRIGGER t AFTER UPDATE ON remit_run BEGIN SELECT 1; END",
    "CREATE TEMP TRIGGER t AFTER UPDATE ON main.remit_run BEGIN SELECT 1; END",
    "CREATE TABLE m (a); ALTER TABLE m RENAME TO remit_run_2",
    "CREATE TABLE m (a); CREATE TRIGGER t AFTER INSERT ON m BEGIN DELETE FROM remit_run; END; INSERT INTO m VALUES (1)",
    "CREATE VIEW v AS SELECT * FROM remit_payload; SELECT * FROM v",
    "CREATE VIEW v AS SELECT 1 AS a; CREATE TRIGGER t INSTEAD OF INSERT ON v BEGIN DELETE FROM remit_run; END;"
    " INSERT INTO v VALUES (1)",
    "CREATE TABLE m (a REFERENCES remit_run (id)); INSERT INTO m VALUES ('run_1')",
    "CREATE VIRTUAL TABLE f USING fts5(text, content='remit_payload', content_rowid='page');"
    " INSERT INTO f(f) VALUES ('rebuild')",
    "CREATE VIRTUAL TABLE f USING fts5(text)",
    "WITH x AS (SELECT text FROM remit_payload) SELECT * FROM x",
    "DELETE FROM sqlite_sequence",
    "UPDATE sqlite_sequence SET seq = 0",
    "SELECT * FROM dbstat",
    "SELECT * FROM pragma_table_info('remit_run')",
    "PRAGMA journal_mode = DELETE",
    "PRAGMA writable_schema = 1",
    "PRAGMA foreign_keys = 0",
    "ATTACH ':memory:' AS other",
    "DETACH main",
    "BEGIN",
    "COMMIT",
    "END",
    "ROLLBACK",
    "SAVEPOINT x",
    "RELEASE x",
    "ANALYZE",
    "VACUUM INTO 'copy.db'",
    "SELECT load_extension('x')",
)


@pytest.mark.parametrize("sql", DENIED)
def test_no_way_leads_to_the_ledgers_own_tables_or_out_of_the_transaction(store: Store, sql: str) -> None:
    async def story() -> None:
        ledger = await store.open()
        pen = await begin(ledger)

        def work(connection: Connection) -> None:
            take(connection)
            with pytest.raises((InputError, apsw.SQLError)):
                connection.execute(sql)

        await done(pen, work)
        assert await both(ledger) == (1, "succeeded")

    store.tell(story)


@pytest.mark.parametrize("sql", ["UPDATE sqlite_schema SET name = 'x'", "DELETE FROM sqlite_master"])
def test_the_schema_cannot_be_written_as_a_table(store: Store, sql: str) -> None:
    async def story() -> None:
        pen = await begin(await store.open())

        def work(connection: Connection) -> None:
            with pytest.raises(apsw.SQLError):
                connection.execute(sql)

        await done(pen, work)
        assert await pen.ledger.verify() == []

    store.tell(story)


ALLOWED = (
    "CREATE TABLE m (a INTEGER PRIMARY KEY AUTOINCREMENT, b UNIQUE); INSERT INTO m (b) VALUES (1), (2)",
    "CREATE TABLE m (a); CREATE INDEX i ON m (a); INSERT INTO m VALUES (1); DROP INDEX i; DROP TABLE m",
    "CREATE TABLE m (a); ALTER TABLE m ADD COLUMN b; ALTER TABLE m RENAME COLUMN b TO c; UPDATE m SET c = 1 RETURNING a",
    "CREATE TABLE m (a); CREATE TABLE log (a); CREATE TRIGGER t AFTER INSERT ON m BEGIN INSERT INTO log VALUES (new.a); END;"
    " INSERT INTO m VALUES (1)",
    "CREATE TABLE p (id PRIMARY KEY); CREATE TABLE c (p REFERENCES p (id)); INSERT INTO p VALUES (1); INSERT INTO c VALUES (1)",
)


@pytest.mark.parametrize("sql", ALLOWED)
def test_tables_of_ones_own_may_be_made_changed_and_dropped(store: Store, sql: str) -> None:
    async def story() -> None:
        pen = await begin(await store.open())
        assert await done(pen, lambda connection: connection.execute(sql)) is not None
        assert await pen.ledger.verify() == []

    store.tell(story)


@pytest.mark.parametrize(
    "sql",
    [
        "INSERT OR ROLLBACK INTO seat VALUES ('1A', 'bob')",
        "CREATE TRIGGER t BEFORE INSERT ON seat BEGIN SELECT RAISE(ROLLBACK, 'no'); END; INSERT INTO seat VALUES ('2B', 'bob')",
    ],
)
def test_after_a_statement_that_ended_the_transaction_nothing_more_is_written(store: Store, sql: str) -> None:
    async def story() -> None:
        ledger = await store.open()
        pen = await begin(ledger)

        def work(connection: Connection) -> None:
            take(connection)
            with pytest.raises(apsw.ConstraintError):
                connection.execute(sql)
            with pytest.raises(LedgerError):
                take(connection, "3C")  # it would be on its own, and stay

        with pytest.raises(LedgerError) as caught:
            await done(pen, work)
        assert caught.value.code == "transaction.rolled_back"
        assert await both(ledger) == (0, "dispatched")

    store.tell(story)


@pytest.mark.parametrize(
    "statements",
    [
        (
            "CREATE TABLE c (seat REFERENCES seat (id) DEFERRABLE INITIALLY DEFERRED)",
            "INSERT INTO c VALUES ('nowhere')",
        ),
        ("CREATE TABLE c (state REFERENCES remit_operation (state))",),
    ],
    ids=["deferred", "no table of the ledger's can serve it"],
)
def test_a_constraint_that_does_not_hold_at_the_end_takes_the_outcome_with_it(
    statements: tuple[str, ...], store: Store
) -> None:
    async def story() -> None:
        ledger = await store.open()
        pen = await begin(ledger)

        def work(connection: Connection) -> None:
            take(connection)
            for statement in statements:
                connection.execute(statement)

        with pytest.raises(LedgerError) as caught:
            await done(pen, work)
        assert caught.value.code == "transaction.rolled_back"
        assert await both(ledger) == (0, "dispatched")
        assert await done(pen, take) is not None  # and the next one is as if it had never been

    store.tell(story)


def test_in_a_file_that_a_newer_version_has_migrated_no_transaction_begins(file: Store) -> None:
    async def story() -> None:
        ledger = await file.open()
        pen = await begin(ledger)
        db = apsw.Connection(str(file.path))
        db.pragma("user_version", 99)
        db.close()
        with pytest.raises(LedgerError) as caught:
            await done(pen, take)
        assert caught.value.code == "ledger.newer"

    file.tell(story)


class Breaking(ambient.Machine):
    """Does something at a crash point."""

    def __init__(self, point: str, act: Callable[[], None]) -> None:
        self.point, self.act = point, act

    def reach(self, point: str) -> None:
        if point == self.point:
            self.act()


def test_a_thread_that_still_writes_when_the_handler_has_returned_takes_the_outcome_with_it(store: Store) -> None:
    endless = "INSERT INTO seat WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT 'n' || i, 'bob' FROM n"

    async def story() -> None:
        ledger = await store.open()
        pen = await begin(ledger)
        writing, later = threading.Event(), list[object]()

        def left_behind(connection: Connection) -> None:
            try:
                with ambient.use(Breaking("transact.statement", writing.set)):
                    connection.execute(endless)
            except LedgerError as error:
                later.append(error.code)

        def work(connection: Connection) -> None:
            take(connection)
            threading.Thread(target=left_behind, args=(connection,)).start()
            writing.wait(LONG_S)

        with pytest.raises(LedgerError) as caught:
            await done(pen, work)
        assert caught.value.code == "transaction.rolled_back"
        assert later == ["transaction.over"]
        assert await both(ledger) == (0, "dispatched")

    store.tell(story)


@pytest.mark.parametrize(("point", "landed"), [("transact.applied", False), ("transact.committed", True)])
def test_a_commit_whose_answer_is_lost_is_what_the_file_says(file: Store, point: str, landed: bool) -> None:
    def lost() -> None:
        raise apsw.IOError("the disk went away")

    async def story() -> None:
        ledger = await file.open()
        pen = await begin(ledger)
        with ambient.use(Breaking(point, lost)):
            if landed:
                assert await done(pen, take) is not None
            else:
                with pytest.raises(LedgerError):
                    await done(pen, take)
        assert await both(ledger) == ((1, "succeeded") if landed else (0, "dispatched"))

    file.tell(story)


def test_a_file_that_another_process_writes_to_for_too_long_is_said_and_nothing_happened(
    file: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("remit.ledger.schema.BUSY_MS", 50)

    async def story() -> None:
        ledger = await file.open()
        pen = await begin(ledger)
        other = apsw.Connection(str(file.path))
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(LedgerError) as caught:
            await done(pen, take)
        assert caught.value.retryable
        other.execute("ROLLBACK")
        other.close()
        await done(pen, take)
        assert await both(ledger) == (1, "succeeded")

    file.tell(story)


@pytest.mark.parametrize("goes_on", [False, True])
def test_a_full_disk_leaves_rows_and_outcome_together_whatever_the_handler_does_then(file: Store, goes_on: bool) -> None:
    async def story() -> None:
        ledger = await file.open()
        pen = await begin(ledger)

        def work(connection: Connection) -> None:
            take(connection)
            connection.execute("CREATE TABLE big (b)")
            many = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 99) "
            try:
                connection.execute(f"{many} INSERT INTO big SELECT zeroblob(500000) FROM n")
            except apsw.FullError:
                if not goes_on:
                    raise
            take(connection, "2B")

        with contextlib.suppress(LedgerError, apsw.FullError), _small():
            await done(pen, work)
        found = await both(ledger)
        assert found in ([(0, "dispatched"), (2, "succeeded")] if goes_on else [(0, "dispatched")])
        if found == (0, "dispatched"):
            await done(pen, take)
            assert await both(ledger) == (1, "succeeded")

    file.tell(story)


class _small:  # noqa: N801
    """Connections that are opened inside find that the file cannot grow."""

    def __enter__(self) -> None:
        apsw.connection_hooks.append(_limit)

    def __exit__(self, *ended: object) -> None:
        apsw.connection_hooks.remove(_limit)


def _limit(db: apsw.Connection) -> None:
    db.pragma("max_page_count", 200)
