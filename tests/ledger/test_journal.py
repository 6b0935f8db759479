"""One run's pen: order of folds, concurrent notes and commits, refusals, cancellation, and a run that is lost."""

from __future__ import annotations

import asyncio
import gc

import pytest

from ledger.support import KEY, OPERATION, RUN, Store, moved, operation, row, said, stamped
from remit import ambient
from remit.errors import Conflict, KeyTaken, LedgerError, RunOwned
from remit.ledger import Journal, MemoryLedger
from remit.types.change import Create, OpenOperation
from remit.types.delivery import CancelRun, LateReport
from remit.types.event import CallEnded, CancelRequested, Recorded
from remit.types.ident import CallId, OperationId
from remit.types.label import TRUSTED
from remit.types.ledger import Append, Committed
from remit.types.outcome import Failed, Succeeded, Unknown

DONE = Succeeded(value={"refund": "re_1"})


class Paced(MemoryLedger):
    """Commits one append at a time, when it is let; may fail instead."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[Append] = []
        self.let = asyncio.Semaphore(0)
        self.failure: Exception | None = None

    async def commit(self, append: Append) -> Committed:
        self.asked.append(append)
        await self.let.acquire()
        if self.failure is not None:
            failure, self.failure = self.failure, None
            raise failure
        return await super().commit(append)


class Folded:
    """What was folded, in order."""

    def __init__(self) -> None:
        self.seen: list[Recorded] = []

    def __call__(self, recorded: Recorded) -> None:
        self.seen.append(recorded)

    @property
    def words(self) -> list[str]:
        return [one.event.reason for one in self.seen if isinstance(one.event, CancelRequested)]

    def assert_in_order(self) -> None:
        assert [one.sequence for one in self.seen] == list(range(1, len(self.seen) + 1))


async def begun(ledger: MemoryLedger, fold: Folded) -> Journal:
    await ledger.open()
    journal = Journal(ledger, RUN, fold)
    await journal.commit(said("start"), create=Create(row(), "{}"))
    return journal


def returned(outcome: object = DONE) -> object:
    return moved(operation(), "returned", state="succeeded", outcome=outcome)


def test_what_is_noted_is_folded_at_once_and_durable_with_the_next_commit() -> None:
    async def story() -> None:
        ledger, fold = MemoryLedger(), Folded()
        journal = await begun(ledger, fold)
        assert not journal.pending
        await journal.flush()
        journal.note(said("a"), said("b"))
        assert journal.pending
        assert fold.words == ["start", "a", "b"]
        assert len(await ledger.read(RUN)) == 1
        await journal.commit(said("c"))
        assert not journal.pending
        assert await ledger.read(RUN) == fold.seen
        fold.assert_in_order()
        journal.note(said("d"))
        await journal.flush()
        assert [one.event for one in await ledger.read(RUN, after=4)] == [said("d")]

    asyncio.run(story())


def test_what_is_noted_during_a_commit_is_folded_after_it_and_goes_with_the_next() -> None:
    async def story() -> None:
        ledger, fold = Paced(), Folded()
        ledger.let.release()
        journal = await begun(ledger, fold)
        first = asyncio.create_task(journal.commit(said("first")))
        second = asyncio.create_task(journal.commit(said("second")))
        await asyncio.sleep(0.01)
        journal.note(said("noted"))
        assert journal.pending
        assert fold.words == ["start"]
        ledger.let.release()
        await first
        assert fold.words == ["start", "first", "noted"]
        ledger.let.release()
        await second
        assert fold.words == ["start", "first", "noted", "second"]
        assert await ledger.read(RUN) == fold.seen
        assert [len(one.events) for one in ledger.asked] == [1, 1, 2]
        fold.assert_in_order()

    asyncio.run(story())


def test_a_fold_that_notes_more_is_folded_in_order() -> None:
    async def story() -> None:
        ledger, fold = MemoryLedger(), Folded()
        await ledger.open()

        def echo(recorded: Recorded) -> None:
            fold(recorded)
            if recorded.event == said("ask"):
                journal.note(said("answer"))

        journal = Journal(ledger, RUN, echo)
        await journal.commit(said("start"), create=Create(row(), "{}"))
        journal.note(said("ask"), said("more"))
        assert fold.words == ["start", "ask", "more", "answer"]
        await journal.commit(said("ask"), said("end"))
        assert fold.words[4:] == ["ask", "end", "answer"]
        await journal.flush()
        fold.assert_in_order()
        assert await ledger.read(RUN) == fold.seen

    asyncio.run(story())


def test_a_refused_commit_is_forgotten_and_what_was_noted_stays_noted() -> None:
    async def story() -> None:
        ledger, fold = MemoryLedger(), Folded()
        journal = await begun(ledger, fold)
        await journal.commit(moved(operation(), "allowed"), changes=(OpenOperation(operation()),))
        journal.note(said("noted"))
        with pytest.raises(KeyTaken):
            await journal.commit(said("refused"), changes=(OpenOperation(operation(id=OperationId("op_2"))),))
        assert fold.words == ["start", "noted"]
        await journal.commit(said("next"))
        assert fold.words == ["start", "noted", "next"]
        assert await ledger.read(RUN) == fold.seen
        holder = await ledger.held(KEY)
        assert holder is not None
        assert holder.id == OPERATION

    asyncio.run(story())


def test_a_ledger_that_fails_leaves_the_journal_able_to_try_again() -> None:
    async def story() -> None:
        ledger, fold = Paced(), Folded()
        for _ in range(9):
            ledger.let.release()
        journal = await begun(ledger, fold)
        journal.note(said("noted"))
        ledger.failure = LedgerError("the disk is full")
        with pytest.raises(LedgerError):
            await journal.commit(said("lost"))
        await journal.flush()
        assert fold.words == ["start", "noted"]
        assert await ledger.read(RUN) == fold.seen

    asyncio.run(story())


def test_a_commit_is_not_interrupted_by_the_cancellation_of_who_waits_for_it() -> None:
    async def story() -> None:
        ledger, fold = Paced(), Folded()
        ledger.let.release()
        journal = await begun(ledger, fold)
        waiting = asyncio.create_task(journal.commit(said("written")))
        await asyncio.sleep(0.01)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        ledger.let.release()
        ledger.let.release()
        await journal.commit(said("next"))
        assert fold.words == ["start", "written", "next"]
        assert await ledger.read(RUN) == fold.seen

    asyncio.run(story())


def test_a_commit_that_fails_after_its_caller_was_cancelled_is_no_unheard_error() -> None:
    async def story() -> None:
        unheard: list[object] = []
        asyncio.get_running_loop().set_exception_handler(lambda _, context: unheard.append(context))
        ledger, fold = Paced(), Folded()
        ledger.let.release()
        journal = await begun(ledger, fold)
        waiting = asyncio.create_task(journal.commit(returned()))  # type: ignore[arg-type]
        await asyncio.sleep(0.01)
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)
        heir = MemoryLedger(store=ledger)
        await heir.open()
        ledger.abandon()
        await heir.commit(Append(run=RUN, sequence=1, events=stamped(said("heir")), claim=True))
        ledger.let.release()
        await journal.idle()
        assert [one.delivery for one in await heir.inbox(RUN)] == [LateReport(operation=OPERATION, attempt=1, outcome=DONE)]
        gc.collect()
        assert unheard == []

    asyncio.run(story())


@pytest.mark.parametrize("noted", [True, False], ids=["noted", "in the commit itself"])
def test_outcomes_of_a_run_that_is_lost_are_posted_and_never_dropped(noted: bool) -> None:
    async def story() -> None:
        ledger, fold = MemoryLedger(), Folded()
        journal = await begun(ledger, fold)
        await journal.commit(moved(operation(), "allowed"), changes=(OpenOperation(operation()),))
        heir = MemoryLedger(store=ledger)
        await heir.open()
        ledger.abandon()
        await heir.commit(Append(run=RUN, sequence=2, events=stamped(said("heir")), claim=True))
        doubt = moved(operation(), "in_doubt", state="unknown", outcome=Unknown(code="timeout", message="?"))
        if noted:
            journal.note(said("mine"), returned(), doubt)  # type: ignore[arg-type]
            with pytest.raises(RunOwned):
                await journal.flush()
        else:
            with pytest.raises(RunOwned):
                await journal.commit(said("mine"), returned(), doubt)  # type: ignore[arg-type]
        report = LateReport(operation=OPERATION, attempt=1, outcome=DONE)
        assert [one.delivery for one in await heir.inbox(RUN)] == [report]
        assert not journal.pending

        failed = Failed(code="declined", message="declined")
        journal.note(said("later"), moved(operation(), "no_effect", state="failed", outcome=failed))
        assert [one.delivery for one in await heir.inbox(RUN)][1:] == [
            LateReport(operation=OPERATION, attempt=1, outcome=failed)
        ]
        assert "later" not in fold.words
        assert [one.event for one in await heir.read(RUN, after=2)] == [said("heir")]

    asyncio.run(story())


def test_a_journal_that_is_behind_hands_its_outcomes_over_too() -> None:
    async def story() -> None:
        ledger = MemoryLedger()
        journal = await begun(ledger, Folded())
        await journal.commit(moved(operation(), "allowed"), changes=(OpenOperation(operation()),))
        second = Journal(ledger, RUN, Folded(), epoch=1, sequence=2)
        await second.commit(said("another driver"))
        with pytest.raises(Conflict) as behind:
            await journal.commit(returned())  # type: ignore[arg-type]
        assert behind.value.code == "journal.sequence"
        assert len(await ledger.inbox(RUN)) == 1

    asyncio.run(story())


def test_a_claim_that_is_refused_does_not_lose_the_journal_for_the_next_claim(store: Store) -> None:
    async def story() -> None:
        owner, other = await store.open(), await store.open()
        first = Journal(owner, RUN, Folded())
        await first.commit(said("start"), create=Create(row(), "{}"))
        fold = Folded()
        second = Journal(other, RUN, fold, epoch=1, sequence=1)
        with pytest.raises(RunOwned):
            await second.commit(said("mine"), claim=True)
        await first.commit(status="paused", release=True)
        await second.commit(said("mine"), claim=True, status="active")
        assert (second.epoch, second.sequence, fold.words) == (2, 2, ["mine"])
        with pytest.raises(RunOwned):
            await first.commit(said("no more"))

    store.tell(story)


def test_what_is_taken_and_changed_by_notes_goes_with_the_commit_once() -> None:
    async def story() -> None:
        ledger, fold = MemoryLedger(), Folded()
        journal = await begun(ledger, fold)
        delivery = await ledger.post(RUN, CancelRun(by="bob"))
        journal.note(moved(operation(), "allowed"), changes=(OpenOperation(operation()),), taken=(delivery,))
        ended = CallEnded(call=CallId("1.0"), tool="t", outcome=DONE, label=TRUSTED, changed=True)
        await journal.commit(ended)
        await journal.commit(said("end"), status="ended", release=True)
        assert await ledger.inbox(RUN) == []
        assert await ledger.operation(OPERATION) is not None
        assert await ledger.read(RUN) == fold.seen

    asyncio.run(story())


def test_store_time_is_never_earlier_than_the_last_event_and_goes_on_while_the_clock_is_behind() -> None:
    class PutBack(ambient.Seeded):
        back_ms = 0

        def now_ms(self) -> int:
            return super().now_ms() - self.back_ms

    async def go(clock: PutBack) -> None:
        ledger = MemoryLedger()
        await ledger.open()
        journal = Journal(ledger, RUN, lambda _: None)
        await journal.commit(said(), create=Create(row(), "{}"))
        last_ms = (await ledger.read(RUN))[-1].at_ms
        clock.back_ms = 3_600_000
        assert last_ms <= journal.now_ms() < last_ms + 1_000
        clock.advance(60)
        assert last_ms + 60_000 <= journal.now_ms() < last_ms + 61_000
        clock.back_ms = 0
        assert journal.now_ms() >= last_ms + 60_000
        await ledger.aclose()

    clock = PutBack()
    with ambient.use(clock):
        asyncio.run(go(clock))


def test_a_journal_is_idle_once_what_was_noted_during_a_commit_is_folded() -> None:
    async def story() -> None:
        ledger, fold = Paced(), Folded()
        ledger.let.release()
        journal = await begun(ledger, fold)
        commit = asyncio.create_task(journal.commit(said("first")))
        await asyncio.sleep(0.01)
        journal.note(said("noted"))
        assert journal.busy
        ledger.let.release()
        await journal.idle()
        assert not journal.busy
        assert fold.words == ["start", "first", "noted"]
        await commit

    asyncio.run(story())


@pytest.mark.parametrize("released", [False, True])
def test_a_journal_that_closes_leaves_no_outcome_behind(released: bool) -> None:
    async def story() -> None:
        ledger = MemoryLedger()
        journal = await begun(ledger, Folded())
        await journal.commit(moved(operation(), "allowed"), changes=(OpenOperation(operation()),))
        if released:
            await journal.commit(status="paused", release=True)
        journal.note(returned())  # type: ignore[arg-type]
        await journal.close(released=released)
        assert not journal.pending
        assert len(await ledger.read(RUN)) == (2 if released else 3)
        late = [one.delivery for one in await ledger.inbox(RUN)]
        assert late == ([LateReport(operation=OPERATION, attempt=1, outcome=DONE)] if released else [])
        journal.note(returned())  # type: ignore[arg-type]
        assert len(await ledger.inbox(RUN)) == len(late) + 1

    asyncio.run(story())
