"""What is said to a journal while a commit is under way: it keeps its order, and rows are read as it leaves them."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from ledger.support import OPERATION, RUN, moved, operation, row, said
from remit.ledger import Journal, MemoryLedger
from remit.types.change import Create, MoveOperation, OpenOperation
from remit.types.event import CancelRequested, Recorded
from remit.types.ledger import Append, Committed
from remit.types.operation import Operation

DOUBT = MoveOperation(operation=OPERATION, on="in_doubt", state="dispatched", attempt=1)
IN_DOUBT = moved(operation(), "in_doubt", state="unknown")


class Held(MemoryLedger):
    """Commits once it is let go."""

    def __init__(self) -> None:
        super().__init__()
        self.asked, self.go = asyncio.Event(), asyncio.Event()

    async def commit(self, append: Append) -> Committed:
        self.asked.set()
        await self.go.wait()
        return await super().commit(append)


async def begun(ledger: MemoryLedger, fold: Callable[[Recorded], None] = lambda _: None) -> Journal:
    """A run with a dispatched operation."""
    await ledger.open()
    journal = Journal(ledger, RUN, fold)
    await journal.commit(said("start"), create=Create(row(), "{}"))
    await journal.commit(moved(operation(), "allowed"), changes=(OpenOperation(operation()),))
    return journal


def test_what_is_noted_during_a_commit_is_folded_and_recorded_in_the_order_in_which_it_was_noted() -> None:
    words: list[str] = []

    def fold(recorded: Recorded) -> None:
        if isinstance(recorded.event, CancelRequested):
            words.append(recorded.event.reason)

    async def story() -> None:
        ledger = Held()
        ledger.go.set()
        journal = await begun(ledger, fold)
        ledger.go.clear()
        ledger.asked.clear()
        commit = asyncio.create_task(journal.commit(said("first")))
        await ledger.asked.wait()
        for word in ("second", "third", "fourth"):
            journal.note(said(word))
        ledger.go.set()
        await commit
        await journal.flush()
        read = [one.event.reason for one in await ledger.read(RUN) if isinstance(one.event, CancelRequested)]
        assert words == read == ["start", "first", "second", "third", "fourth"]

    asyncio.run(story())


async def noted(journal: Journal) -> None:
    journal.note(IN_DOUBT, changes=(DOUBT,))


async def committed(journal: Journal) -> None:
    await journal.commit(IN_DOUBT, changes=(DOUBT,))


@pytest.mark.parametrize("move", [noted, committed])
def test_a_row_that_is_moved_while_it_is_read_is_read_again(move: Callable[[Journal], Awaitable[None]]) -> None:
    async def story() -> None:
        ledger = MemoryLedger()
        journal = await begun(ledger)
        reads: list[Operation | None] = []

        async def read() -> Operation | None:
            found = await ledger.operation(OPERATION)
            reads.append(found)
            if len(reads) == 1:
                await move(journal)
            return found

        found = await journal.current(read)
        assert [one.state for one in reads if one is not None] == ["dispatched", "unknown"]
        assert found is not None
        assert found.state == "unknown"
        assert await ledger.verify() == []

    asyncio.run(story())


def test_a_row_that_a_commit_under_way_moves_is_read_after_it() -> None:
    async def story() -> None:
        ledger = Held()
        ledger.go.set()
        journal = await begun(ledger)
        tasks: list[asyncio.Task[None]] = []

        async def read() -> Operation | None:
            found = await ledger.operation(OPERATION)
            if not tasks:
                ledger.asked.clear()
                tasks.append(asyncio.create_task(committed(journal)))
                await ledger.asked.wait()
            return found

        found = await journal.current(read)
        assert found is not None
        assert found.state == "unknown"
        await asyncio.gather(*tasks)

    asyncio.run(story())
