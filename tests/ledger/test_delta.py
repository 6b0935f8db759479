"""What models are writing, heard beside the record: here at once, elsewhere soon, and never instead of it."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from ledger.process import line, spawn
from ledger.support import RUN, AnyLedger, Store, hears, start
from remit.ledger.delta import MOST_BYTES
from remit.types.ident import OwnerId, RunId
from remit.types.stream import Delta


def piece(index: int, text: str = "word", *, after: int = 3, attempt: int = 1, run: RunId = RUN) -> Delta:
    return Delta(run=run, after=after, turn=1, attempt=attempt, index=index, kind="text", text=text)


def folder(store: Store) -> Path:
    return store.path.with_name("ledger.db-deltas")


def files(store: Store) -> list[Path]:
    return sorted(folder(store).iterdir()) if folder(store).exists() else []


async def heard(ledger: AnyLedger, enough: Callable[[list[Delta]], bool], run: RunId = RUN, after: int = 3) -> list[Delta]:
    """Follow the run's deltas as a follower does, until there are enough."""
    deltas: list[Delta] = []
    async with asyncio.timeout(30):
        while True:
            seen = await ledger.changed(-1, timeout_s=0)
            deltas += await ledger.deltas(run, after=after, index=len(deltas))
            if enough(deltas):
                return deltas
            await ledger.changed(seen, timeout_s=20)


def test_deltas_are_heard_from_where_the_follower_stands(store: Store) -> None:
    async def story() -> None:
        ledger = await store.open()
        assert await ledger.deltas(RUN, after=3) == []
        said = [piece(index, f"word {index}") for index in range(5)]
        ledger.publish_deltas(said[:2])
        ledger.publish_deltas(said[2:])
        assert await ledger.deltas(RUN, after=3) == said
        assert await ledger.deltas(RUN, after=3, index=3) == said[3:]
        assert await ledger.deltas(RUN, after=3, index=9) == []
        assert await ledger.deltas(RUN, after=2) == []
        assert await ledger.deltas(RunId("another"), after=3) == []

    store.tell(story)


def test_another_owner_hears_every_kind_and_text_as_it_was_published(store: Store) -> None:
    texts = ["", "grün", "line\nbreak\r\u2028", "\ud800", "\x00", '"', "🙂" * 10]

    async def story() -> None:
        ours, other = await store.open(), await store.open()
        said = [piece(index, text) for index, text in enumerate(texts)]
        said.append(Delta(run=RUN, after=3, turn=1, attempt=1, index=len(said), kind="reasoning", text="hm"))
        said.append(Delta(run=RUN, after=3, turn=1, attempt=1, index=len(said), kind="call", text="issue_refund"))
        ours.publish_deltas(said)
        assert await hears(other, said, after=3)
        assert await hears(other, said[4:], after=3, index=4)

    store.tell(story)


def test_who_waits_for_a_change_is_woken_by_what_is_published(store: Store) -> None:
    async def story() -> None:
        ours, other = await store.open(), await store.open()
        await start(ours)
        for ledger in (ours, other):
            following = asyncio.create_task(heard(ledger, lambda deltas: len(deltas) == 2))
            await asyncio.sleep(0)
            ours.publish_deltas([piece(0)])
            await asyncio.sleep(0)
            ours.publish_deltas([piece(1)])
            assert await following == [piece(0), piece(1)]
            ours.drop_deltas(RUN)

    store.tell(story)


def test_a_later_attempt_takes_the_place_of_an_earlier_one_which_is_not_heard_again(store: Store) -> None:
    async def story() -> None:
        ours, other = await store.open(), await store.open()
        ours.publish_deltas([piece(0, "cut"), piece(1, "off")])
        assert await hears(other, [piece(0, "cut"), piece(1, "off")], after=3)
        again = piece(0, "again", after=5, attempt=2)
        ours.publish_deltas([again])
        ours.publish_deltas([piece(2, "late")])
        for ledger in (ours, other):
            assert await hears(ledger, [again], after=5)
            assert await hears(ledger, [], after=3, index=2)
            assert await hears(ledger, [], after=3)

    store.tell(story)


def test_a_run_that_is_taken_over_is_heard_from_its_new_owner(store: Store) -> None:
    async def story() -> None:
        dead, heir, follower = await store.open(), await store.open(), await store.open()
        dead.publish_deltas([piece(0, "lost")])
        dead.abandon()
        heir.publish_deltas([piece(0, "new", after=6, attempt=2)])
        dead.drop_deltas(RUN)  # a process that went on after it was given up for dead takes nothing away
        if store.kind != "memory":
            assert await hears(follower, [piece(0, "new", after=6, attempt=2)], after=6)
        assert await hears(follower, [], after=3)

    store.tell(story)


def test_dropped_deltas_are_gone_for_everybody(store: Store) -> None:
    async def story() -> None:
        ours, other = await store.open(), await store.open()
        ours.publish_deltas([piece(0), piece(0, run=RunId("run_2"))])
        ours.drop_deltas(RUN)
        ours.drop_deltas(RUN)
        ours.drop_deltas(RunId("never heard of"))
        for ledger in (ours, other):
            assert await hears(ledger, [piece(0, run=RunId("run_2"))], after=3, run=RunId("run_2"))
            assert await hears(ledger, [], after=3)

    store.tell(story)


def test_a_ledger_that_is_closed_or_not_yet_open_publishes_nothing_and_raises_nothing(store: Store) -> None:
    async def story() -> None:
        ours, other = await store.open(), await store.open()
        ours.publish_deltas([piece(0)])
        await ours.aclose()
        ours.publish_deltas([piece(1)])
        ours.drop_deltas(RUN)
        if store.kind != "memory":
            assert await hears(other, [], after=3)
        assert store.kind != "sqlite" or files(store) == []
        unopened = store.make()
        unopened.publish_deltas([piece(0)])
        unopened.drop_deltas(RUN)

    store.tell(story)


def test_an_attempt_that_never_ends_is_silent_after_a_while(store: Store) -> None:
    async def story() -> None:
        ours, other = await store.open(), await store.open()
        text = "x" * (MOST_BYTES // 10)
        for index in range(12):
            ours.publish_deltas([piece(index, text)])
        most = [piece(index, text) for index in range(9)]
        for ledger in (ours, other):
            assert await hears(ledger, most, after=3)
        ours.publish_deltas([piece(12, "a small one behind it")])
        for ledger in (ours, other):
            assert await hears(ledger, most, after=3)
        ours.publish_deltas([piece(0, "fresh", after=4, attempt=2)])
        assert await hears(other, [piece(0, "fresh", after=4, attempt=2)], after=4)

    store.tell(story)


# files


def test_the_folder_and_its_files_are_for_their_owner_only_and_their_names_say_nothing(file: Store) -> None:
    async def story() -> None:
        ours, other = await file.open(), await file.open()
        wild = RunId("../../run/of\x00 alice")
        ours.publish_deltas([piece(0, run=wild)])
        assert await other.deltas(wild, after=3) == [piece(0, run=wild)]
        (one,) = files(file)
        assert (folder(file).stat().st_mode & 0o777, one.stat().st_mode & 0o777) == (0o700, 0o600)
        assert "alice" not in one.name

    file.tell(story)


def test_a_torn_last_line_is_heard_once_it_is_whole(file: Store) -> None:
    async def story() -> None:
        ours, other = await file.open(), await file.open()
        ours.publish_deltas([piece(0), piece(1)])
        (one,) = files(file)
        whole = one.read_bytes()
        with one.open("r+b") as handle:
            handle.truncate(len(whole) - 5)
        assert await other.deltas(RUN, after=3) == [piece(0)]
        assert await other.deltas(RUN, after=3, index=1) == []
        with one.open("r+b") as handle:
            handle.write(whole)
        assert await other.deltas(RUN, after=3, index=1) == [piece(1)]

    file.tell(story)


@pytest.mark.parametrize("damage", [b"", b"\n", b"{}\n", b"[1]\n", b"\xff\xfe\n", b'{"owner":1,"run":"run_1","after":3'])
def test_a_file_that_is_no_file_of_ours_is_not_heard_and_swept_away(file: Store, damage: bytes) -> None:
    async def story() -> None:
        ours, other = await file.open(), await file.open()
        ours.publish_deltas([piece(0)])
        (one,) = files(file)
        one.write_bytes(damage)
        assert await other.deltas(RUN, after=3) == []
        await file.open()
        assert files(file) == []
        ours.drop_deltas(RUN)

    file.tell(story)


def test_lines_that_are_no_deltas_are_passed_over(file: Store) -> None:
    async def story() -> None:
        ours, other = await file.open(), await file.open()
        ours.publish_deltas([piece(0)])
        (one,) = files(file)
        with one.open("ab") as handle:
            handle.write(b'nonsense\n[1,1,1,"shout","x"]\n[1]\n')
        ours.publish_deltas([piece(1)])
        assert await other.deltas(RUN, after=3) == [piece(0), piece(1)]

    file.tell(story)


def test_where_the_folder_cannot_be_made_who_follows_here_hears_all_the_same(
    file: Store, caplog: pytest.LogCaptureFixture
) -> None:
    async def story() -> None:
        ours, other = await file.open(), await file.open()
        folder(file).write_text("in the way")
        for index in range(3):
            ours.publish_deltas([piece(index)])
        assert await other.deltas(RUN, after=3) == []
        assert len(await ours.deltas(RUN, after=3)) == 3
        ours.publish_deltas([piece(0, after=5)])
        ours.drop_deltas(RUN)

    with caplog.at_level(logging.WARNING, "remit.ledger"):
        file.tell(story)
    assert [one.getMessage() for one in caplog.records] == [
        f"other processes cannot follow what models are writing (FileExistsError at {folder(file)}): remove it, or make it "
        "a folder that this process may write to"
    ]


def test_what_a_dead_owner_left_is_swept_by_the_next_and_by_whoever_drops_the_runs_deltas(file: Store) -> None:
    async def story() -> None:
        dead, heir = await file.open(), await file.open()
        dead.publish_deltas([piece(0), piece(0, run=RunId("run_2"))])
        heir.publish_deltas([piece(0, run=RunId("run_3"))])
        heir.drop_deltas(RUN)
        assert len(files(file)) == 3  # its owner lives
        dead.abandon()
        heir.drop_deltas(RUN)
        assert len(files(file)) == 2
        await file.open()
        assert len(files(file)) == 1
        assert await heir.deltas(RunId("run_3"), after=3) != []

    file.tell(story)


def test_a_run_without_deltas_makes_no_folder(file: Store) -> None:
    async def story() -> None:
        ours = await file.open()
        await start(ours)
        ours.drop_deltas(RUN)
        assert await ours.deltas(RUN, after=1) == []
        assert not folder(file).exists()

    file.tell(story)


def test_another_process_hears_while_it_is_written_and_its_leftovers_are_swept_when_it_is_killed(file: Store) -> None:
    async def story() -> None:
        ledger = await file.open()
        process = spawn(file, "say", "s", 5)
        assert process.stdin is not None
        owner = OwnerId(await asyncio.to_thread(line, process))
        following = asyncio.create_task(heard(ledger, lambda deltas: len(deltas) == 5, RunId("run_s"), after=1))
        for _ in range(5):
            process.stdin.write("go\n")
            process.stdin.flush()
            assert await asyncio.to_thread(line, process) == "said"
        assert [one.text for one in await following] == [f"word {index}" for index in range(5)]
        process.send_signal(signal.SIGKILL)
        await asyncio.to_thread(process.communicate)
        assert not await ledger.alive(owner)
        assert len(files(file)) == 1
        ledger.drop_deltas(RunId("run_s"))
        assert files(file) == []

    file.tell(story)


def test_a_forked_child_neither_writes_nor_takes_away(file: Store) -> None:
    async def story() -> None:
        ours, other = await file.open(), await file.open()
        ours.publish_deltas([piece(0)])
        child = os.fork()
        if child == 0:
            ours.publish_deltas([piece(1)])
            ours.drop_deltas(RUN)
            os._exit(0)
        await asyncio.to_thread(os.waitpid, child, 0)
        assert await other.deltas(RUN, after=3) == [piece(0)]

    file.tell(story)
