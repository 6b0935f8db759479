"""Making, owning and appending to a run, on every kind of ledger."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ledger.support import RUN, Pen, Store, ended, row, said, stamped, start
from remit import ambient
from remit.errors import Conflict, LedgerError, NotFound, RunOwned
from remit.ledger import MemoryLedger
from remit.types.change import Create
from remit.types.delivery import CancelRun
from remit.types.ident import RunId
from remit.types.ledger import Append


def test_a_run_that_is_made_active_is_owned_by_who_made_it(store: Store) -> None:
    async def story() -> None:
        ledger = await store.open()
        done = await start(ledger, request='{"parts":[]}')
        found = await ledger.run(RUN)
        assert found is not None
        assert (found.owner, found.epoch, found.sequence, found.status) == (ledger.owner, 1, 1, "active")
        assert (done.epoch, done.sequence) == (1, 1)
        assert len(found.head) == 64
        assert await ledger.request(RUN) == '{"parts":[]}'
        assert list(done.recorded) == await ledger.read(RUN)

    store.tell(story)


def test_a_run_that_is_queued_is_owned_by_nobody_until_it_is_claimed(store: Store) -> None:
    async def story() -> None:
        ledger = await store.open()
        pen = Pen(ledger)
        await pen.start(status="queued")
        found = await ledger.run(RUN)
        assert found is not None
        assert (found.owner, found.epoch) == (None, 0)
        with pytest.raises(RunOwned):
            await pen.write(said())
        await pen.write(said(), claim=True, status="active")
        found = await ledger.run(RUN)
        assert found is not None
        assert (found.owner, found.epoch, found.status) == (ledger.owner, 1, "active")

    store.tell(story)


def test_the_same_run_id_or_request_id_is_a_conflict_that_names_the_run(store: Store) -> None:
    async def story() -> None:
        ledger = await store.open()
        await start(ledger, request_id="message-1")
        with pytest.raises(Conflict) as same_id:
            await start(ledger)
        with pytest.raises(Conflict) as same_request:
            await start(ledger, RunId("run_2"), request_id="message-1")
        for refused in (same_id, same_request):
            assert refused.value.code == "request.exists"
            assert refused.value.details["run"] == RUN
        await start(ledger, RunId("run_3"), request_id="message-1", subject="bob")
        found = await ledger.find_request(tenant="acme", subject="alice", agent="support", request_id="message-1")
        assert found is not None
        assert found.id == RUN
        assert await ledger.find_request(tenant="x", subject="alice", agent="support", request_id="message-1") is None

    store.tell(story)


def test_only_the_owner_appends_and_only_where_the_run_stands(store: Store) -> None:
    async def story() -> None:
        ledger, other = await store.open(), await store.open()
        pen = Pen(ledger)
        await pen.start()
        with pytest.raises(RunOwned):
            await other.commit(Append(run=RUN, epoch=1, sequence=1, events=stamped(said())))
        with pytest.raises(RunOwned) as owned:
            await other.commit(Append(run=RUN, sequence=1, events=stamped(said()), claim=True))
        assert owned.value.details["owner"] == ledger.owner
        with pytest.raises(Conflict) as behind:
            await ledger.commit(Append(run=RUN, epoch=1, sequence=0, events=stamped(said())))
        assert behind.value.code == "journal.sequence"
        with pytest.raises(RunOwned):
            await ledger.commit(Append(run=RUN, epoch=2, sequence=1, events=stamped(said())))
        with pytest.raises(NotFound):
            await ledger.commit(Append(run=RunId("run_none"), events=stamped(said())))
        await pen.write(said())
        assert len(await ledger.read(RUN)) == 2

    store.tell(story)


def test_a_run_of_a_dead_owner_is_taken_over_and_the_dead_can_append_no_more(store: Store) -> None:
    async def story() -> None:
        dead, heir = await store.open(), await store.open()
        pen = Pen(dead)
        await pen.start()
        owner = dead.owner
        assert await heir.alive(owner)
        dead.abandon()
        assert not await heir.alive(owner)
        done = await heir.commit(Append(run=RUN, sequence=1, events=stamped(said()), claim=True))
        assert done.epoch == 2
        with pytest.raises((RunOwned, LedgerError)):  # who has lost its session with a server learns that first
            await pen.write(said())

    store.tell(story)


def test_a_claim_by_the_owner_itself_keeps_the_epoch_and_after_a_release_it_grows(store: Store) -> None:
    async def story() -> None:
        ledger = await store.open()
        pen = Pen(ledger)
        await pen.start()
        assert (await pen.write(said(), claim=True)).epoch == 1
        await pen.write(said(), release=True)
        with pytest.raises(RunOwned):
            await pen.write(said())
        assert (await pen.write(said(), claim=True)).epoch == 2
        with pytest.raises(Conflict) as behind:
            await ledger.commit(Append(run=RUN, sequence=1, claim=True))
        assert behind.value.code == "journal.sequence"

    store.tell(story)


def test_a_closed_ledger_is_a_dead_owner(store: Store) -> None:
    async def story() -> None:
        ledger, heir = await store.open(), await store.open()
        await start(ledger)
        owner = ledger.owner
        await ledger.aclose()
        await ledger.aclose()
        assert not await heir.alive(owner)
        assert [one.id for one in await heir.claimable(["support"])] == [RUN]

    store.tell(story)


def test_time_in_a_run_never_goes_back(store: Store) -> None:
    async def story() -> None:
        ledger = await store.open()
        create = Create(row(), "{}")
        await ledger.commit(Append(run=RUN, create=create, events=stamped(said(), at_ms=5_000)))
        late = (*stamped(said(), at_ms=4_000), *stamped(said(), at_ms=6_000), *stamped(said(), at_ms=5_500))
        done = await ledger.commit(Append(run=RUN, epoch=1, sequence=1, events=late))
        assert [one.at_ms for one in done.recorded] == [5_000, 6_000, 6_000]
        assert [one.at_ms for one in await ledger.read(RUN)] == [5_000, 5_000, 6_000, 6_000]
        found = await ledger.run(RUN)
        assert found is not None
        assert (found.created_ms, found.updated_ms) == (5_000, 6_000)

    store.tell(story)


def test_reading_goes_on_after_a_place_and_stops_at_a_limit(store: Store) -> None:
    async def story() -> None:
        ledger = await store.open()
        pen = Pen(ledger)
        await pen.start()
        await pen.write(*(said(str(number)) for number in range(5)))
        assert [one.sequence for one in await ledger.read(RUN, after=2, limit=3)] == [3, 4, 5]
        assert [one.sequence for one in await ledger.read(RUN, after=5)] == [6]
        assert await ledger.read(RunId("run_none")) == []

    store.tell(story)


def test_a_status_brings_its_own_expiry(store: Store) -> None:
    async def story() -> None:
        ledger = await store.open()
        pen = Pen(ledger)
        await pen.start()
        await pen.write(status="paused", expires_ms=7, release=True)
        paused = await ledger.run(RUN)
        assert paused is not None
        assert (paused.status, paused.expires_ms, paused.owner) == ("paused", 7, None)
        await pen.write(claim=True)
        kept = await ledger.run(RUN)
        assert kept == replace(paused, owner=ledger.owner, epoch=2, updated_ms=kept.updated_ms if kept else 0)
        await pen.write(ended(), status="ended")
        over = await ledger.run(RUN)
        assert over is not None
        assert (over.status, over.expires_ms) == ("ended", None)

    store.tell(story)


def test_what_an_append_takes_from_the_inbox_is_gone_with_it_and_is_taken_once(store: Store) -> None:
    async def story() -> None:
        ledger = await store.open()
        pen = Pen(ledger)
        await pen.start()
        first = await ledger.post(RUN, CancelRun(by="bob"))
        second = await ledger.post(RUN, CancelRun(by="carol"))
        assert second > first
        await pen.write(said(), taken=(first,))
        assert [one.id for one in await ledger.inbox(RUN)] == [second]
        with pytest.raises(Conflict) as twice:
            await pen.write(said(), taken=(first,))
        assert twice.value.code == "inbox.taken"
        assert len(await ledger.read(RUN)) == 2

    store.tell(story)


def test_crash_points_stand_before_and_after_each_commit(store: Store) -> None:
    class Noting(ambient.Machine):
        reached: list[str]

        def __init__(self) -> None:
            self.reached = []

        def reach(self, point: str) -> None:
            self.reached.append(point)

    async def story() -> None:
        ledger = await store.open()
        with ambient.use(Noting()) as source:
            await start(ledger)
        assert isinstance(source, Noting)
        assert source.reached == ["commit.before", "commit.after"]

    store.tell(story)


def test_equal_seeds_give_equal_chains(tmp_path_factory: pytest.TempPathFactory) -> None:
    heads: list[str] = []
    for number in range(2):
        store = Store("memory" if number else "sqlite", tmp_path_factory.mktemp("chain"))

        async def story(store: Store = store) -> None:
            with ambient.use(ambient.Seeded(7)):
                ledger = await store.open()
                await start(ledger)
                found = await ledger.run(RUN)
                assert found is not None
                heads.append(found.head)

        store.tell(story)
    assert heads[0] == heads[1]


def test_a_memory_ledger_says_that_it_forgets_and_a_file_that_it_does_not(store: Store) -> None:
    async def story() -> None:
        ledger = await store.open()
        assert ledger.durable is not isinstance(ledger, MemoryLedger)

    store.tell(story)
