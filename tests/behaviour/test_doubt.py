"""What is in doubt, at the edges: late words, reconcilers that are no help, contradictions, windows and attempts that ended."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable

import pytest

from behaviour.bank import Bank, answers, contradictions, dies, payer, settled
from behaviour.shop import ALICE, play, until
from remit import (
    CANNOT_TELL,
    DID_NOT,
    TRUSTED,
    Context,
    Finished,
    Happened,
    MemoryLedger,
    Remit,
    Succeeded,
    Unknown,
    ambient,
    idempotent,
    manual,
    never,
    reconcile,
    tool,
    write,
)
from remit.types.delivery import LateReport
from remit.types.event import CallEnded
from remit.types.outcome import Failed

# late words


@pytest.mark.parametrize("comes_back", ["before", "after"])
def test_what_a_thread_says_after_its_process_has_gone_settles_the_operation_in_the_next_one(comes_back: str) -> None:
    store, release, started, done = MemoryLedger(), threading.Event(), threading.Event(), threading.Event()

    @tool(effect=write(once_per="id", recovery=manual), approve=never, timeout_s=0.05, label=TRUSTED)
    def pay(id: str) -> str:
        """Pay.

        Args:
            id: what
        """
        started.set()
        release.wait(20)
        done.set()
        return "late"

    async def story() -> None:
        agent = payer(pay)
        run = await dies(store, agent, started.is_set)
        if comes_back == "after":
            release.set()
            await asyncio.to_thread(done.wait, 10)
        ledger = MemoryLedger(store=store)
        async with Remit(ledger=ledger, agents=[agent]) as remit:
            assert isinstance(await remit.run_to_end(run), Finished)
            [row] = await remit.operations()
            release.set()
            row = await settled(remit, ledger, row.id, "succeeded")
            assert row.settled_by == "late"  # type: ignore[attr-defined]
            assert any('"late"' in one for one in row.evidence)  # type: ignore[attr-defined]
            assert (await remit.run_to_end(run)).open_operations == ()
            assert await remit.verify() == []

    play(story, seeded=False)


def test_a_no_does_not_count_while_a_thread_of_an_owner_that_has_left_is_alive_in_this_process() -> None:
    store, release, started = MemoryLedger(), threading.Event(), threading.Event()
    attempts: list[int] = []

    async def look(arguments: object, ctx: object) -> object:
        return DID_NOT

    @tool(effect=write(once_per="id", recovery=reconcile(look, settle_s=0.05)), approve=never, timeout_s=0.05, label=TRUSTED)
    def pay(id: str, ctx: Context[object]) -> str:
        """Pay.

        Args:
            id: what
        """
        attempts.append(ctx.attempt)
        started.set()
        release.wait(20)
        return "late"

    async def story() -> None:
        agent = payer(pay)
        run = await dies(store, agent, started.is_set)
        ledger = MemoryLedger(store=store)
        async with Remit(ledger=ledger, agents=[agent]) as remit:
            try:
                await remit.run_to_end(run)
                [row] = await remit.operations()
                assert [one.id for one in await remit.recover()] == [row.id]
                assert attempts == [1]
            finally:
                release.set()
            await settled(remit, ledger, row.id, "succeeded")

    play(story, seeded=False)


# reconcilers that are no help


class Anything:
    def __eq__(self, other: object) -> bool:
        return True

    __hash__ = object.__hash__


class Broken:
    def __eq__(self, other: object) -> bool:
        raise RuntimeError("cannot be compared")

    __hash__ = object.__hash__


@pytest.mark.parametrize(
    "answer",
    [
        CANNOT_TELL,
        ConnectionError("the books are closed"),
        "hangs",
        None,
        True,
        "no",
        Happened,
        Anything(),
        Broken(),
        {"did": 1},
    ],
    ids=["cannot tell", "raises", "hangs", "None", "True", "a word", "a class", "equal to all", "not comparable", "a dict"],
)
def test_a_reconciler_that_does_not_say_yes_or_no_leaves_it_unknown_and_nothing_is_sent_again(answer: object) -> None:
    bank = Bank("lost before")
    bank.answers = [answer]

    async def story() -> None:
        async with Remit(ledger=MemoryLedger(), agents=[payer(bank.tool(reconcile(bank.look, settle_s=0.05)))]) as remit:
            run = await remit.run("payer", "pay", principal=ALICE)
            assert isinstance(run, Finished)
            assert not run.verified
            [outcome] = await answers(remit, run.id)
            assert isinstance(outcome, Unknown)
            assert bank.asked == 2, "at once, and when the attempt can no longer land"
            [row] = await remit.recover()
            assert run.open_operations == (row.id,)
            bank.answers = [Happened("seen")]
            assert await remit.recover() == []

    play(story, seeded=False)
    assert bank.attempts == [1]


def test_an_answer_that_is_none_is_named_to_the_operator() -> None:
    bank = Bank("lost before")
    bank.answers = [True]

    async def story() -> None:
        async with Remit(ledger=MemoryLedger(), agents=[payer(bank.tool(reconcile(bank.look)))]) as remit:
            run = await remit.run("payer", "pay", principal=ALICE)
            [detail] = [one.event.detail for one in await remit.events(run.id) if isinstance(one.event, CallEnded)]
            assert "a bool is no answer" in (detail or "")

    play(story)


# contradictions


async def _late(remit: Remit, run: str, outcome: Succeeded | Failed, *, of: str) -> None:
    """What a former process says late, and the run hears."""
    await remit.ledger.post(run, LateReport(operation=of, attempt=1, outcome=outcome))  # type: ignore[arg-type]
    async with asyncio.timeout(10):
        seen = 0
        while await remit.ledger.inbox(run):  # type: ignore[arg-type]
            seen = await remit.ledger.changed(seen, timeout_s=1)


def test_a_late_success_after_the_books_said_no_and_a_newer_payment_names_both_and_moves_neither() -> None:
    bank = Bank("lost before")
    bank.answers = [CANNOT_TELL]

    async def story() -> None:
        async with Remit(ledger=MemoryLedger(), agents=[payer(bank.tool(reconcile(bank.look, settle_s=0.05)))]) as remit:
            first = await remit.run("payer", "pay", principal=ALICE)
            bank.answers = [DID_NOT]
            assert await remit.recover() == []
            second = await remit.run("payer", "pay", principal=ALICE)
            old, new = await remit.operations()
            assert (old.state, old.settled_by, new.state) == ("failed", "reconciler", "succeeded")
            await _late(remit, first.id, Succeeded(value="it did"), of=old.id)
            [said] = await contradictions(remit, first.id)
            assert (said.operation, said.newer) == (old.id, new.id)
            old, new = await remit.operations()
            assert (old.state, new.state) == ("failed", "succeeded")
            assert "it did" in old.evidence[-1], "the report is on the operation's row"
            assert await contradictions(remit, second.id) == []
            assert await remit.verify() == []

    play(story)
    assert bank.paid == ["1"]


@pytest.mark.parametrize("happened", [True, False])
def test_a_late_word_against_a_persons_is_kept_with_the_operation_and_named(happened: bool) -> None:
    bank = Bank("lost before")

    async def story() -> None:
        async with Remit(ledger=MemoryLedger(), agents=[payer(bank.tool(manual))]) as remit:
            run = await remit.run("payer", "pay", principal=ALICE)
            [row] = await remit.operations()
            await remit.settle(row, happened, by="bob", reason="the statement")
            late = Failed(code="no_effect", message="declined") if happened else Succeeded(value="it did")
            await _late(remit, run.id, late, of=row.id)
            [row] = await remit.operations()
            assert row.state == "succeeded", "a success is never taken back, and a late one counts where nothing holds the key"
            assert ("declined" if happened else "it did") in row.evidence[-1]
            assert [one.operation for one in await contradictions(remit, run.id)] == [row.id]
            assert await remit.verify() == []

    play(story)


# windows and attempts that ended


def test_after_its_window_an_idempotent_payment_is_a_persons_and_is_not_sent_again() -> None:
    bank, store = Bank("hangs after"), MemoryLedger()
    agent = payer(bank.tool(idempotent(window_s=60)), times=2)

    async def story() -> None:
        run = await dies(store, agent, lambda: bool(bank.attempts))
        await ambient.sleep(61)
        async with Remit(ledger=MemoryLedger(store=store), agents=[agent]) as remit:
            ended = await remit.run_to_end(run)
            assert [type(one) for one in await answers(remit, run)] == [Unknown, Unknown]
            [row] = await remit.recover()
            assert ended.open_operations == (row.id,)
            assert (await remit.settle(row, True, by="bob", reason="the statement")).state == "succeeded"
            again = await remit.run("payer", "pay", principal=ALICE)
            assert all(isinstance(one, Succeeded) and one.repeat for one in await answers(remit, again.id))

    play(story)
    assert bank.attempts == [1]


def test_attempts_that_processes_took_with_them_count_and_when_they_are_used_up_nothing_is_sent_again() -> None:
    bank, store = Bank("hangs before", "hangs before"), MemoryLedger()
    agent = payer(bank.tool(idempotent(window_s=600, attempts=2), timeout_s=30))

    async def story() -> None:
        run = await dies(store, agent, lambda: len(bank.attempts) == 1)
        async with Remit(ledger=MemoryLedger(store=store), agents=[agent], drain_s=0) as second:
            await until(lambda: len(bank.attempts) == 2)
            await second.abandon()
        async with Remit(ledger=MemoryLedger(store=store), agents=[agent]) as third:
            ended = await third.run_to_end(run)
            assert len(ended.open_operations) == 1
            [row] = await third.operations()
            assert (row.state, row.attempt) == ("unknown", 2)
            assert await third.verify() == []

    play(story, seeded=True)
    assert bank.attempts == [1, 2]


# clocks


@pytest.mark.parametrize(("by_s", "sent"), [(-86_400, [1, 2]), (86_400, [1])])
def test_a_clock_that_is_moved_across_a_restart_neither_holds_recovery_up_nor_reopens_a_window(
    by_s: int, sent: list[int]
) -> None:
    bank, store = Bank("hangs before"), MemoryLedger()
    agent = payer(bank.tool(idempotent(window_s=3600)))

    def at(start_ms: int, story: Callable[[], object]) -> object:
        with ambient.use(ambient.Seeded(start_ms, start_ms=start_ms)):
            return asyncio.run(story())  # type: ignore[arg-type]

    async def back(run: str) -> None:
        async with Remit(ledger=MemoryLedger(store=store), agents=[agent]) as remit:
            async with asyncio.timeout(10):
                await remit.run_to_end(run)
            assert await remit.verify() == []

    began_ms = 1_800_000_000_000
    run = str(at(began_ms, lambda: dies(store, agent, lambda: bool(bank.attempts))))
    at(began_ms + by_s * 1000, lambda: back(run))
    assert bank.attempts == sent


@pytest.mark.parametrize("by_s", [-86_400, 0])
def test_a_clock_that_is_put_back_lets_no_reconcilers_no_count_earlier_and_none_wait_longer(by_s: int) -> None:
    bank, store = Bank("hangs before"), MemoryLedger()
    agent = payer(bank.tool(reconcile(bank.look, settle_s=5), timeout_s=10))
    began_ms = 1_800_000_000_000
    held: list[float] = []

    async def back(run: str) -> None:
        began_s = ambient.monotonic_s()
        async with Remit(ledger=MemoryLedger(store=store), agents=[agent]) as remit:
            await remit.run_to_end(run)
        held.append(ambient.monotonic_s() - began_s)

    with ambient.use(ambient.Seeded(1, start_ms=began_ms)):
        run = asyncio.run(dies(store, agent, lambda: bool(bank.attempts)))
    with ambient.use(Walking(2, start_ms=began_ms + by_s * 1000)):
        asyncio.run(back(run))
    assert bank.attempts == [1, 2]
    assert 14 <= held[0] <= 30


class Walking(ambient.Seeded):
    """A clock that is a second further each time it is looked at, so that nobody waits for it."""

    def __init__(self, seed: int, *, start_ms: int) -> None:
        super().__init__(seed, start_ms=start_ms, step_ms=20)
