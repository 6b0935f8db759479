"""What a ledger is asked: listings, what should be taken up, transcripts; and that no question scans everything."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import apsw
import pytest

from ledger.support import RUN, Pen, Store, ask, conversation, ended, said, start
from remit import ambient
from remit.errors import LedgerError, NotFound
from remit.types.budget import Spent
from remit.types.change import FreeConversation, HoldConversation, Spend
from remit.types.delivery import CancelRun
from remit.types.event import AnswerChecked, MessageAppended, ResultsAppended
from remit.types.ident import ApprovalId, CallId, Digest, OperationId, OwnerId, RunId, Wording
from remit.types.label import TRUSTED

AGENTS = ("support",)
TICKET = conversation()


def hold() -> HoldConversation:
    return HoldConversation(conversation=TICKET, tenant="acme", subject="alice", agent="support")


def test_runs_are_newest_first_and_queued_ones_oldest_first(store: Store) -> None:
    async def story() -> None:
        ledger = await store.open()
        for number in range(4):
            status = "queued" if number % 2 else "active"
            await start(ledger, RunId(f"run_{number}"), status=status, tenant="acme" if number < 3 else "other")
        assert [one.id for one in await ledger.runs()] == ["run_3", "run_2", "run_1", "run_0"]
        assert [one.id for one in await ledger.runs(status=["queued"])] == ["run_1", "run_3"]
        assert [one.id for one in await ledger.runs(tenant="acme", limit=2)] == ["run_2", "run_1"]
        assert await ledger.runs(agents=["another"]) == []
        assert await ledger.runs(conversation=TICKET) == []
        assert await ledger.run(RunId("no")) is None
        with pytest.raises(NotFound):
            await ledger.request(RunId("no"))

    store.tell(story)


def test_ids_are_found_by_their_beginning_newest_first(store: Store) -> None:
    async def story() -> None:
        ledger = await store.open()
        for name in ("run_1", "run_10", "run_2", "run_%", "run_1😀"):
            await start(ledger, RunId(name))
        assert await ledger.find("run", "run_1") == ["run_1😀", "run_10", "run_1"]
        assert await ledger.find("run", "run_%") == ["run_%"]
        assert await ledger.find("run", limit=2) == ["run_1😀", "run_%"]
        assert await ledger.find("run", "RUN") == await ledger.find("operation") == await ledger.find("approval", "apr") == []

    store.tell(story)


def test_approvals_are_those_of_a_call_and_without_a_limit_all(store: Store) -> None:
    async def story() -> None:
        pen = Pen(await store.open())
        await pen.start()
        for number in range(120):
            await ask(pen, id=ApprovalId(f"apr_{number}"), call=CallId(f"1.{number % 2}"))
        assert len(await pen.ledger.approvals(run=RUN)) == 100
        assert len(await pen.ledger.approvals(run=RUN, limit=None)) == 120
        assert {one.call for one in await pen.ledger.approvals(run=RUN, call=CallId("1.1"))} == {"1.1"}
        assert await pen.ledger.find("approval", "apr_11", limit=3) == ["apr_119", "apr_118", "apr_117"]

    store.tell(story)


def test_active_runs_are_taken_up_when_their_owner_is_dead_or_gone(store: Store) -> None:
    async def story() -> None:
        living, dead = await store.open(), await store.open()
        await start(living, RunId("run_living"))
        await start(dead, RunId("run_dead"))
        pen = Pen(living, RunId("run_released"))
        await pen.start()
        await pen.write(said(), release=True)
        assert [one.id for one in await living.claimable(AGENTS)] == ["run_released"]
        dead.abandon()
        assert [one.id for one in await living.claimable(AGENTS)] == ["run_dead", "run_released"]
        assert await living.claimable(["another"]) == []

    store.tell(story)


def test_paused_runs_are_taken_up_when_somebody_wrote_or_their_time_is_up(store: Store) -> None:
    async def story() -> None:
        ledger = await store.open()
        for name, expires_ms in (("run_plain", None), ("run_told", None), ("run_late", ambient.now_ms()), ("run_time", 2**50)):
            pen = Pen(ledger, RunId(name))
            await pen.start()
            await pen.write(said(), status="paused", release=True, expires_ms=expires_ms)
        await ledger.post(RunId("run_told"), CancelRun(by="bob"))
        assert [one.id for one in await ledger.claimable(AGENTS)] == ["run_told", "run_late"]

    store.tell(story)


def test_a_run_whose_last_event_is_past_its_expiry_is_due_although_the_clock_was_put_back(store: Store) -> None:
    async def story() -> None:
        ledger = await store.open()
        pen = Pen(ledger)
        await pen.start()
        await pen.write(said(), status="paused", release=True, expires_ms=ambient.now_ms() + 60_000)
        assert await ledger.claimable(AGENTS) == []
        with ambient.use(ambient.Seeded(start_ms=ambient.now_ms() + 3_600_000)):
            await pen.write(said(), claim=True, release=True, expires_ms=ambient.now_ms() - 60_000)
        assert [one.id for one in await ledger.claimable(AGENTS)] == [RUN]

    store.tell(story)


def test_ended_runs_are_taken_up_only_to_journal_their_inbox(store: Store) -> None:
    async def story() -> None:
        ledger = await store.open()
        pen = Pen(ledger)
        await pen.start()
        await pen.write(ended(), status="ended", release=True)
        assert await ledger.claimable(AGENTS) == []
        delivery = await ledger.post(RUN, CancelRun(by="bob"))
        assert [one.id for one in await ledger.claimable(AGENTS)] == [RUN]
        await pen.write(claim=True, taken=(delivery,), release=True)
        assert await ledger.claimable(AGENTS) == []

    store.tell(story)


def test_a_paused_run_that_a_live_owner_still_holds_is_left_to_it(store: Store) -> None:
    async def story() -> None:
        ledger = await store.open()
        pen = Pen(ledger)
        await pen.start()
        await pen.write(said(), status="paused")
        await ledger.post(RUN, CancelRun(by="bob"))
        assert await ledger.claimable(AGENTS) == []
        ledger.abandon()
        assert [one.id for one in await ledger.claimable(AGENTS)] == [RUN]

    store.tell(story)


def test_queued_runs_start_one_by_one_when_the_conversation_is_free(store: Store) -> None:
    async def story() -> None:
        ledger = await store.open()
        holder = Pen(ledger)
        await holder.start(conversation=TICKET)
        await holder.write(said(), changes=(hold(),))
        await start(ledger, RunId("run_2"), status="queued", conversation=TICKET)
        await start(ledger, RunId("run_3"), status="queued", conversation=TICKET)
        await start(ledger, RunId("run_4"), status="queued")
        assert [one.id for one in await ledger.claimable(AGENTS)] == ["run_4"]
        await holder.write(ended(), changes=(FreeConversation(TICKET, TRUSTED),), status="ended", release=True)
        assert [one.id for one in await ledger.claimable(AGENTS)] == ["run_2", "run_4"]

    store.tell(story)


def test_a_transcript_is_what_was_said_in_the_order_of_the_runs(store: Store) -> None:
    async def story() -> None:
        ledger = await store.open()
        for name in ("run_b", "run_a", "run_other"):
            pen = Pen(ledger, RunId(name))
            await pen.start(conversation=TICKET if name != "run_other" else conversation("other"))
            await pen.write(
                MessageAppended(wording=Wording(f'"{name}"'), source="user", label=TRUSTED),
                AnswerChecked(turn=1, valid=True, done=True),
                ResultsAppended(turn=1, wording=Wording("[]")),
            )
        told = await ledger.transcript(TICKET, tenant="acme")
        assert [(one.run, one.event.kind) for one in told] == [
            ("run_b", "message.appended"),
            ("run_b", "results.appended"),
            ("run_a", "message.appended"),
            ("run_a", "results.appended"),
        ]

    store.tell(story)


def test_events_are_read_from_any_place_and_so_many_as_asked_however_they_were_committed(store: Store) -> None:
    async def story() -> None:
        pen = Pen(await store.open())
        await pen.start(said("1"), said("2"), said("3"))
        await pen.write(said("4"))
        await pen.write(said("5"), said("6"))
        whole = await pen.ledger.read(RUN)
        assert [one.sequence for one in whole] == [1, 2, 3, 4, 5, 6]
        for after in range(8):
            for limit in (None, *range(8)):
                end = None if limit is None else after + limit
                assert await pen.ledger.read(RUN, after=after, limit=limit) == whole[after:end]

    store.tell(story)


@pytest.mark.parametrize(
    "damage",
    ["payload SET text = '{}'", "payload SET text = ''", "page SET kinds = 'run.ended'", "page SET times = 'x'"],
)
def test_a_run_whose_record_is_damaged_cannot_be_read(file: Store, damage: str) -> None:
    async def story() -> None:
        pen = Pen(await file.open())
        await pen.start(said("1"), said("2"))
        apsw.Connection(str(file.path)).execute(f"UPDATE remit_{damage}")
        with pytest.raises(LedgerError) as unreadable:
            await pen.ledger.read(RUN)
        assert unreadable.value.code == "ledger.unreadable"

    file.tell(story)


def test_a_ledger_that_is_not_open_says_so(store: Store) -> None:
    async def story() -> None:
        ledger = await store.open()
        await ledger.aclose()
        for question in (
            lambda: ledger.run(RUN),
            lambda: ledger.post(RUN, CancelRun(by="x")),
            lambda: ledger.changed(0, timeout_s=1),
        ):
            with pytest.raises(LedgerError) as closed:
                await question()
            assert closed.value.code == "ledger.closed"

    store.tell(story)


@contextlib.contextmanager
def statements(into: list[str]) -> Iterator[None]:
    """Note every statement of connections that are made meanwhile."""

    def hook(db: apsw.Connection) -> None:
        db.trace_v2(apsw.SQLITE_TRACE_STMT, lambda event: into.append(str(event["sql"])))  # type: ignore[index]

    apsw.connection_hooks.append(hook)
    try:
        yield
    finally:
        apsw.connection_hooks.remove(hook)


def test_no_question_and_no_commit_scans_a_table_that_grows(file: Store) -> None:
    seen: list[str] = []

    async def story() -> None:
        with statements(seen):
            ledger = await file.open()
            pen = Pen(ledger)
            await pen.start(conversation=TICKET, request_id="message-1")
            await pen.write(said(), changes=(hold(),))
            delivery = await ledger.post(RUN, CancelRun(by="bob"))
            assert await ledger.wait_inbox(RUN, after=0, timeout_s=1)
            await pen.write(said(), taken=(delivery,))
            await ledger.claimable(AGENTS)
            await ledger.find_request(tenant="acme", subject="alice", agent="support", request_id="message-1")
            await ledger.read(RUN)
            await ledger.transcript(TICKET, tenant="acme")
            await ledger.runs(status=["queued"])
            await ledger.runs(tenant="acme")
            await ledger.operation(OperationId("op"))
            await ledger.held(Digest("a"))
            await ledger.operations(run=RUN, call=CallId("1.0"))
            await ledger.operations(conversation=TICKET, tool="t", state=("unknown",))
            await ledger.operations(state=("dispatched", "unknown"))
            await ledger.approval(ApprovalId("apr"))
            await ledger.approvals(state=("pending",))
            await ledger.approvals(run=RUN, call=CallId("1.0"), limit=None)
            await ledger.find("run", "run_")
            await ledger.find("operation", "op_")
            await ledger.find("approval", "apr_")
            await ledger.inbox(RUN)
            await ledger.notices(TICKET, tenant="acme")
            await ledger.alive(OwnerId("nobody"))
            await ledger.verify(RUN)

    file.tell(story)
    asked = {sql for sql in seen if sql.lstrip().startswith(("SELECT", "UPDATE", "DELETE")) and "remit_" in sql}
    assert len(asked) > 25
    plan = apsw.Connection(str(file.path))
    fill(plan)
    scans = [(line, sql) for sql in asked for line in plan_of(plan, sql) if line.startswith("SCAN")]
    small = ("remit_inbox", "SCAN i", "remit_run_owner", "remit_run_expiry")  # what waits, and what is alive
    whole = [(line, sql) for line, sql in scans if not any(name in line for name in small)]
    assert whole == []


def test_an_append_is_few_statements(file: Store) -> None:
    seen: list[str] = []

    async def story() -> None:
        with statements(seen):
            pen = Pen(await file.open())
            await pen.start()
            spends = (Spend("run:x", Spent(turns=1), (("turns", 9),)), Spend("run:x", Spent(tokens=-1)))
            await pen.write(changes=spends)
            seen.clear()
            await pen.write(said(), said(), changes=spends)

    file.tell(story)
    made = [sql for sql in seen if "remit_" in sql]
    assert len([sql for sql in made if "remit_spent" in sql]) == 1
    assert len(made) == 1 + 2 + 2  # a header and its payload for all events; beside them the run read and written


def fill(db: apsw.Connection) -> None:
    """A hundred thousand ended runs with an event each, so that the planner knows what is large."""
    db.execute(
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100000)"
        " INSERT INTO remit_run (id, root, agent, tenant, subject, status, host, epoch, sequence, head, created_ms, updated_ms)"
        " SELECT 'old_' || i, '', 'support', 'acme', 'alice', 'ended', 0, 1, 1, '', 1, 1 FROM n"
    )
    db.execute(
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100000)"
        " INSERT INTO remit_page (run, last, number, kinds, times, opened, commitment, hash)"
        " SELECT 'old_' || i, 1, i, 'x', '1', '', x'', x'' FROM n"
    )


def plan_of(db: apsw.Connection, sql: str) -> list[str]:
    rows = db.execute(f"EXPLAIN QUERY PLAN {sql}", (None,) * sql.count("?")).fetchall()
    return [str(row[3]) for row in rows]


@contextlib.contextmanager
def steps(into: list[int]) -> Iterator[None]:
    """Note how many steps of SQLite's machine the statements of connections take that are made meanwhile."""

    def hook(db: apsw.Connection) -> None:
        def profile(event: dict[str, dict[str, int]]) -> None:
            into.append(event["stmt_status"]["SQLITE_STMTSTATUS_VM_STEP"])

        db.trace_v2(apsw.SQLITE_TRACE_PROFILE, profile)  # type: ignore[arg-type]

    apsw.connection_hooks.append(hook)
    try:
        yield
    finally:
        apsw.connection_hooks.remove(hook)


def test_what_should_be_taken_up_is_found_among_a_hundred_thousand_ended_runs_without_reading_them(file: Store) -> None:
    taken: list[int] = []

    async def story() -> None:
        with steps(taken):
            ledger = await file.open()
        db = apsw.Connection(str(file.path))
        fill(db)
        db.close()
        await start(ledger)
        await start(ledger, RunId("run_queued"), status="queued")
        await ledger.post(RunId("old_7"), CancelRun(by="bob"))
        ledger.abandon()
        taken.clear()
        assert [one.id for one in await ledger.claimable(AGENTS)] == ["old_7", RUN, "run_queued"]

    file.tell(story)
    assert 0 < sum(taken) < 2_000
