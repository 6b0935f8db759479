"""Several real processes on one file: they share it, see each other, and die without harm."""

from __future__ import annotations

import asyncio
import signal
from pathlib import Path

import apsw
import pytest

from ledger.process import finish, line, spawn
from ledger.support import RUN, AnyLedger, Store, said, stamped, start
from remit.errors import RunOwned
from remit.ledger.watch import POLL_S
from remit.types.ident import OwnerId, RunId
from remit.types.ledger import Append


@pytest.fixture(params=["sqlite", "postgres"])
def shared(request: pytest.FixtureRequest, tmp_path: Path) -> Store:
    """What several processes can share."""
    return Store(request.param, tmp_path)


async def gone(ledger: AnyLedger, owner: OwnerId) -> None:
    """Return when the owner is dead to the ledger: a server hears of it a moment later."""
    async with asyncio.timeout(20):
        while await ledger.alive(owner):  # noqa: ASYNC110  # a server tells nobody
            await asyncio.sleep(0)


def whole(store: Store) -> None:
    """The file, if it is one, is in order."""
    if store.kind == "sqlite":
        assert apsw.Connection(str(store.path)).pragma("integrity_check") == "ok"


def test_two_processes_write_one_ledger_and_each_key_is_held_once(shared: Store) -> None:
    count = 60
    both = [spawn(shared, "write", name, count) for name in ("a", "b")]
    won = [int(finish(process)) for process in both]
    assert [process.returncode for process in both] == [0, 0]
    assert sum(won) == count

    async def story() -> None:
        ledger = await shared.open()
        assert len(await ledger.runs(limit=1000)) == 2 * count
        assert len(await ledger.operations(state=("dispatched",), limit=1000)) == count
        assert await ledger.verify() == []

    shared.tell(story)
    whole(shared)


def test_an_audit_finds_no_fault_while_another_process_writes(file: Store) -> None:
    async def story() -> None:
        ledger = await file.open()
        process = spawn(file, "write", "w", 80)
        audits = 0
        while process.poll() is None or not audits:
            assert await ledger.verify() == []
            for one in await ledger.runs(status=["active"], limit=5):
                assert await ledger.verify(one.id) == []
            audits += 1
        assert finish(process) == "80"

    file.tell(story)


@pytest.mark.parametrize("after", [5, 60])
def test_a_writer_killed_in_mid_load_loses_nothing_that_it_was_told_is_durable(shared: Store, after: int) -> None:
    process = spawn(shared, "endless", "k", 8)
    durable: dict[str, int] = {}
    for _ in range(after):
        run, sequence = line(process).split()
        durable[run] = int(sequence)
    process.send_signal(signal.SIGKILL)
    rest, _ = process.communicate()
    for told in rest[: rest.rfind("\n") + 1].splitlines():  # the last line may be cut
        run, sequence = told.split()
        durable[run] = max(durable.get(run, 0), int(sequence))

    async def story() -> None:
        ledger = await shared.open()
        for run, sequence in durable.items():
            found = await ledger.run(RunId(run))
            assert found is not None
            assert found.sequence >= sequence
            assert (found.sequence - 1) % 3 == 0  # whole commits only
            assert len(await ledger.read(RunId(run))) == found.sequence
        assert await ledger.verify() == []
        assert {one.id for one in await ledger.claimable(["support"])} >= set(durable)

    shared.tell(story)
    whole(shared)


def test_a_run_of_a_live_process_is_refused_and_of_a_killed_one_is_taken_over(shared: Store) -> None:
    async def story() -> None:
        process = spawn(shared, "hold", "h")
        owner = OwnerId(await asyncio.to_thread(line, process))
        ledger = await shared.open()
        run = RunId("run_h")
        claim = Append(run=run, sequence=1, events=stamped(said()), claim=True)
        assert await ledger.alive(owner)
        assert await ledger.claimable(["support"]) == []
        with pytest.raises(RunOwned):
            await ledger.commit(claim)
        process.send_signal(signal.SIGKILL)
        await asyncio.to_thread(process.communicate)
        await gone(ledger, owner)
        assert [one.id for one in await ledger.claimable(["support"])] == [run]
        assert (await ledger.commit(claim)).epoch == 2

    shared.tell(story)


def test_a_process_that_ends_well_leaves_no_lock(file: Store) -> None:
    async def story() -> None:
        process = spawn(file, "hold", "h")
        owner = OwnerId(await asyncio.to_thread(line, process))
        ledger = await file.open()
        await asyncio.to_thread(finish, process)
        assert process.returncode == 0
        assert not await ledger.alive(owner)
        assert len(list(file.path.with_name("ledger.db-owners").iterdir())) == 1

    file.tell(story)


def test_what_another_process_posts_wakes_who_waits(shared: Store) -> None:
    async def story() -> None:
        ledger = await shared.open()
        await start(ledger, RunId("run_t"))
        process = spawn(shared, "tell", "t")
        assert await asyncio.to_thread(line, process) == "ready"
        assert process.stdin is not None
        count = await ledger.changed(-1, timeout_s=0)
        inbox = asyncio.create_task(ledger.wait_inbox(RunId("run_t"), after=0, timeout_s=60))
        changes = asyncio.create_task(ledger.changed(count, timeout_s=60))
        process.stdin.write("go\n")
        process.stdin.flush()
        assert await inbox
        assert await changes > count
        await asyncio.to_thread(finish, process)

    shared.tell(story)


def test_a_process_that_waits_for_nothing_does_not_look_at_the_file(file: Store) -> None:
    looks: dict[str, int] = {"ours": 0, "others": 0}

    async def opened(name: str) -> AnyLedger:
        def hook(db: apsw.Connection) -> None:
            def look(event: dict[str, object]) -> None:
                looks[name] += "data_version" in str(event["sql"])

            db.trace_v2(apsw.SQLITE_TRACE_STMT, look)  # type: ignore[arg-type]

        apsw.connection_hooks.append(hook)
        try:
            return await file.open()
        finally:
            apsw.connection_hooks.remove(hook)

    async def rounds(ledger: AnyLedger, name: str) -> None:
        """Let three rounds of a waiting ledger's poll pass."""
        enough = looks[name] + 3
        while looks[name] < enough:
            assert not await ledger.wait_inbox(RUN, after=0, timeout_s=POLL_S)

    async def story() -> None:
        ours, other = await opened("ours"), await opened("others")
        await start(ours)
        await rounds(ours, "ours")
        before = looks["ours"]
        await rounds(other, "others")
        assert looks["ours"] <= before + 1

    file.tell(story)
