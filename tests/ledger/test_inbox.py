"""Telling a run something, waiting for it, and reports that come late."""

from __future__ import annotations

import asyncio
import logging
import threading

import pytest

from ledger.support import APPROVAL, OPERATION, RUN, Pen, Store, ask, said, start
from remit.errors import InputError, LedgerError, NotFound
from remit.ledger import SqliteLedger
from remit.types.change import Post
from remit.types.delivery import CancelRun, ChildEnded, Decision, LateReport, OwnerGone, Settlement, Withdrawal
from remit.types.ident import CallId, RunId
from remit.types.outcome import Succeeded

LATE = LateReport(operation=OPERATION, attempt=1, outcome=Succeeded(value={"refund": 2**70}))


def test_deliveries_come_back_in_order_until_they_are_journaled(store: Store) -> None:
    async def story() -> None:
        ledger, other = await store.open(), await store.open()
        await start(ledger)
        told = [
            CancelRun(by="bob"),
            Withdrawal(operation=OPERATION, by="bob", reason="never mind"),
            Settlement(operation=OPERATION, attempt=1, happened=True, by="bob", reason="seen \ud800", result="{}"),
            LATE,
            OwnerGone(operation=OPERATION, attempt=2),
        ]
        ids = [await other.post(RUN, one) for one in told]
        assert ids == sorted(set(ids))
        assert [one.delivery for one in await ledger.inbox(RUN)] == told
        assert await ledger.inbox(RunId("other")) == []

    store.tell(story)


def test_a_delivery_needs_a_run_and_a_decision_goes_through_decide(store: Store) -> None:
    async def story() -> None:
        ledger = await store.open()
        await start(ledger)
        with pytest.raises(NotFound):
            await ledger.post(RunId("no"), CancelRun(by="bob"))
        with pytest.raises(InputError):
            await ledger.post(RUN, Decision(approval=APPROVAL, verdict="approved", by="bob"))
        assert await ledger.inbox(RUN) == []

    store.tell(story)


def test_a_delivery_id_is_never_used_again(store: Store) -> None:
    async def story() -> None:
        pen = Pen(await store.open())
        await pen.start()
        first = await pen.ledger.post(RUN, CancelRun(by="bob"))
        await pen.write(said(), taken=(first,))
        assert await pen.ledger.post(RUN, CancelRun(by="bob")) > first

    store.tell(story)


def test_who_waits_for_an_inbox_is_woken_by_a_post_a_decision_and_a_late_report(store: Store) -> None:
    async def story() -> None:
        ledger, other = await store.open(), await store.open()
        pen = Pen(ledger)
        await pen.start()
        await ask(pen)

        async def wait(after: int) -> int:
            assert await ledger.wait_inbox(RUN, after=after, timeout_s=20)
            return (await ledger.inbox(RUN))[-1].id

        waiting = asyncio.create_task(wait(0))
        await asyncio.sleep(0)
        last = await other.post(RUN, CancelRun(by="bob"))
        assert await waiting == last
        waiting = asyncio.create_task(wait(last))
        await asyncio.sleep(0)
        await other.decide(Decision(approval=APPROVAL, verdict="denied", by="bob"))
        last = await waiting
        waiting = asyncio.create_task(wait(last))
        await asyncio.sleep(0)
        thread = threading.Thread(target=other.post_late, args=(RUN, LATE))
        thread.start()
        await waiting
        thread.join()

    store.tell(story)


def test_who_waits_is_told_at_once_of_what_is_there_and_not_of_what_is_not(store: Store) -> None:
    async def story() -> None:
        ledger = await store.open()
        await start(ledger)
        await start(ledger, RunId("run_2"))
        last = await ledger.post(RUN, CancelRun(by="bob"))
        assert await ledger.wait_inbox(RUN, after=0, timeout_s=0)
        assert not await ledger.wait_inbox(RUN, after=last, timeout_s=0)
        assert not await ledger.wait_inbox(RunId("run_2"), after=0, timeout_s=0.01)

    store.tell(story)


def test_the_counter_of_changes_grows_with_whatever_anybody_writes(store: Store) -> None:
    async def story() -> None:
        ledger, other = await store.open(), await store.open()
        count = await ledger.changed(-1, timeout_s=0)
        assert await ledger.changed(count, timeout_s=0) == count
        pen = Pen(other)
        await pen.start()
        count = await grown(ledger, count)
        waiting = asyncio.create_task(ledger.changed(count, timeout_s=20))
        await asyncio.sleep(0)
        await pen.write(said())
        assert await waiting > count
        count = await ledger.changed(-1, timeout_s=0)
        await other.post(RUN, CancelRun(by="bob"))
        await grown(ledger, count)

    async def grown(ledger: object, count: int) -> int:
        assert isinstance(ledger, SqliteLedger) or hasattr(ledger, "changed")
        now = await ledger.changed(count, timeout_s=20)  # type: ignore[attr-defined]
        assert now > count
        return now

    store.tell(story)


def test_closing_wakes_who_waits(store: Store) -> None:
    async def story() -> None:
        ledger = await store.open()
        await start(ledger)
        inbox = asyncio.create_task(ledger.wait_inbox(RUN, after=0, timeout_s=60))
        changes = asyncio.create_task(ledger.changed(await ledger.changed(-1, timeout_s=0), timeout_s=60))
        await asyncio.sleep(0)
        await ledger.aclose()
        for waiting in (inbox, changes):
            with pytest.raises(LedgerError):
                await waiting

    store.tell(story)


def test_a_late_report_is_durable_when_the_ledger_is_closed(store: Store) -> None:
    async def story() -> None:
        ledger, other = await store.open(), await store.open()
        await start(ledger)
        ledger.post_late(RUN, LATE)
        await ledger.aclose()
        assert [one.delivery for one in await other.inbox(RUN)] == [LATE]

    store.tell(story)


def test_a_late_report_of_a_thread_that_outlives_its_ledger_is_written_all_the_same(store: Store) -> None:
    async def story() -> None:
        ledger, other = await store.open(), await store.open()
        await start(ledger)
        await ledger.aclose()
        await asyncio.to_thread(ledger.post_late, RUN, LATE)
        assert [one.delivery for one in await other.inbox(RUN)] == [LATE]

    store.tell(story)


def test_a_late_report_that_cannot_be_written_is_logged_and_raises_nothing(
    store: Store, caplog: pytest.LogCaptureFixture
) -> None:
    async def story() -> None:
        ledger = await store.open()
        await start(ledger)
        ledger.post_late(RunId("no"), LATE)
        await ledger.aclose()
        ledger.post_late(RunId("no"), LATE)

    with caplog.at_level(logging.ERROR, logger="remit.ledger"):
        store.tell(story)
    assert len([one for one in caplog.messages if f"late report of operation {OPERATION}" in one]) == 2


def test_a_run_tells_another_one_in_its_own_commit_or_not_at_all(store: Store) -> None:
    async def story() -> None:
        ledger = await store.open()
        told, teller = Pen(ledger), Pen(ledger, RunId("run_2"))
        await told.start()
        await teller.start()
        news = ChildEnded(call=CallId("1.0"), child=teller.run)
        with pytest.raises(NotFound):
            await teller.write(said(), changes=(Post(RUN, news), Post(RunId("nobody"), news)))
        assert await ledger.inbox(RUN) == []
        waiting = asyncio.ensure_future(ledger.wait_inbox(RUN, after=0, timeout_s=5))
        await teller.write(said(), changes=(Post(RUN, news),))
        assert await waiting
        assert [one.delivery for one in await ledger.inbox(RUN)] == [news]

    store.tell(story)


def test_the_runs_that_answer_calls_of_a_run_are_found_by_it(store: Store) -> None:
    async def story() -> None:
        ledger = await store.open()
        await Pen(ledger).start()
        for name in ("run_2", "run_3"):
            await Pen(ledger, RunId(name)).start(parent=RUN, root=RUN)
        assert [row.id for row in await ledger.runs(parent=RUN)] == ["run_3", "run_2"]
        assert [row.parent for row in await ledger.runs()] == [RUN, RUN, None]
        assert await ledger.runs(parent=RunId("run_2")) == []

    store.tell(story)
