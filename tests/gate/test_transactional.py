"""Tools whose effect is in the ledger's own database: the row and the outcome are there together, or neither."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable, Coroutine
from pathlib import Path

import pytest

from gate.stage import ALICE, stage, verified
from remit import ambient
from remit.errors import DefinitionError, LedgerError, RunOwned
from remit.gate import Gate
from remit.ledger import MemoryLedger, SqliteLedger
from remit.tool import CALL, Catalogue, Context, InDoubt, NoEffect, Tool, idempotent, never, tool, transactional, write
from remit.types.connection import Connection
from remit.types.event import OperationMoved
from remit.types.label import TRUSTED
from remit.types.outcome import Failed, Refused, Succeeded, Unknown

Ledgers = MemoryLedger | SqliteLedger
LONG_S = 30.0


def booking(act: Callable[[Connection, str], object], *, timeout_s: float = 5.0, limit: int = 40_000) -> Tool:
    @tool(
        effect=write(once_per="seat", recovery=transactional),
        approve=never,
        label=TRUSTED,
        timeout_s=timeout_s,
        max_result_chars=limit,
    )
    def book(seat: str, ctx: Context[object]) -> object:
        """Book a seat.

        Args:
            seat: which
        """
        ctx.connection.execute("CREATE TABLE IF NOT EXISTS seat (id TEXT PRIMARY KEY, operation TEXT NOT NULL)")
        ctx.connection.execute("INSERT INTO seat VALUES (?, ?)", (seat, ctx.operation_id))
        return act(ctx.connection, seat)

    return book


def plainly(connection: Connection, seat: str) -> object:
    [(count,)] = connection.execute("SELECT count(*) FROM seat")
    return {"seat": seat, "taken": count}


async def taken(ledger: Ledgers) -> list[str]:
    """The seats in the application's table."""
    found: list[str] = []

    def look(connection: Connection) -> None:
        if connection.execute("SELECT 1 FROM sqlite_schema WHERE name = 'seat'"):
            found.extend(str(name) for (name,) in connection.execute("SELECT id FROM seat ORDER BY id"))

    await ledger.transact(look, lambda _: None, timeout_s=LONG_S)
    return found


Story = Callable[[Ledgers, Callable[[], Coroutine[object, object, Ledgers]]], Coroutine[object, object, None]]


@pytest.fixture(params=["memory", "sqlite"])
def tell(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[Story], None]:
    """Tell a story on a ledger; it may open another one on the same store."""

    def run(story: Story) -> None:
        async def whole() -> None:
            made: list[Ledgers] = []

            async def another() -> Ledgers:
                first = made[0] if made else None
                store = first if isinstance(first, MemoryLedger) else None
                one = MemoryLedger(store=store) if request.param == "memory" else SqliteLedger(tmp_path / "remit.db")
                await one.open()
                made.append(one)
                return one

            try:
                await story(await another(), another)
            finally:
                for one in made:
                    await one.aclose()

        asyncio.run(whole())

    return run


def test_what_it_returns_is_the_outcome_and_a_repeat_is_a_repeat(tell: Callable[[Story], None]) -> None:
    async def story(ledger: Ledgers, _: object) -> None:
        s = await stage(ledger, [booking(plainly)])
        outcome = await s.call("book", {"seat": "1A"})
        assert isinstance(outcome, Succeeded)
        assert outcome.value == {"seat": "1A", "taken": 1}
        again = await s.call("book", {"seat": "1A"}, call="2.0")
        assert isinstance(again, Succeeded)
        assert again.repeat
        assert await taken(ledger) == ["1A"]
        [row] = await s.operations()
        assert (row.state, row.attempt, row.settled_by) == ("succeeded", 1, "handler")
        await verified(ledger)

    tell(story)


def test_an_exception_is_known_to_have_changed_nothing_and_may_be_tried_again(tell: Callable[[Story], None]) -> None:
    cards = iter([RuntimeError("no such card"), NoEffect("declined"), None])

    def pay(connection: Connection, seat: str) -> object:
        error = next(cards)
        if error is not None:
            raise error
        return seat

    async def story(ledger: Ledgers, _: object) -> None:
        s = await stage(ledger, [booking(pay)])
        first = await s.call("book", {"seat": "1A"})
        second = await s.call("book", {"seat": "1A"}, call="1.1")
        assert isinstance(first, Failed)
        assert isinstance(second, Failed)
        assert (first.code, second.code, second.message) == ("tool.failed", "no_effect", "declined")
        assert await taken(ledger) == []
        assert isinstance(await s.call("book", {"seat": "1A"}, call="1.2"), Succeeded)
        assert await taken(ledger) == ["1A"]
        assert [one.state for one in await s.operations()] == ["failed", "failed", "succeeded"]
        await verified(ledger)

    tell(story)


def test_at_its_timeout_it_is_rolled_back_whatever_it_does_and_the_run_goes_on(tell: Callable[[Story], None]) -> None:
    free, later = threading.Event(), threading.Event()

    def stuck(connection: Connection, seat: str) -> object:
        if seat == "2B":
            return seat
        free.wait(LONG_S)
        try:
            connection.execute("INSERT INTO seat VALUES ('late', 'x')")
        finally:
            later.set()
        return seat

    async def story(ledger: Ledgers, _: object) -> None:
        s = await stage(ledger, [booking(stuck, timeout_s=0.1)])
        outcome = await s.call("book", {"seat": "1A"})
        assert isinstance(outcome, Failed)
        assert outcome.code == "tool.timeout"
        assert isinstance(await s.call("book", {"seat": "2B"}, call="1.1"), Succeeded)
        free.set()
        await asyncio.to_thread(later.wait, LONG_S)
        assert await taken(ledger) == ["2B"]
        assert await ledger.inbox(s.scene.run) == []  # nothing late is reported: it did not happen
        await verified(ledger)

    tell(story)


def test_a_result_that_is_too_long_or_no_json_is_decided_before_the_commit(tell: Callable[[Story], None]) -> None:
    def returns(connection: Connection, seat: str) -> object:
        return "x" * 500 if seat == "1A" else object()

    async def story(ledger: Ledgers, _: object) -> None:
        s = await stage(ledger, [booking(returns, limit=100)])
        long = await s.call("book", {"seat": "1A"})
        odd = await s.call("book", {"seat": "2B"}, call="1.1")
        assert isinstance(long, Succeeded)
        assert isinstance(odd, Succeeded)
        assert long.blob is not None
        assert len(await ledger.blob(long.blob)) >= 500  # type: ignore[arg-type]
        assert odd.operation is not None
        assert await taken(ledger) == ["1A", "2B"]
        await verified(ledger)

    tell(story)


def test_where_something_outside_may_have_happened_no_roll_back_says_that_it_did_not(tell: Callable[[Story], None]) -> None:
    def outside(connection: Connection, seat: str) -> object:
        raise InDoubt("the bank did not answer")

    async def story(ledger: Ledgers, _: object) -> None:
        s = await stage(ledger, [booking(outside)])
        assert isinstance(await s.call("book", {"seat": "1A"}), Unknown)
        assert isinstance(await s.call("book", {"seat": "1A"}, call="2.0"), Unknown)
        assert await taken(ledger) == []
        assert [one.state for one in await s.operations()] == ["unknown"]
        await verified(ledger)

    tell(story)


class Killing(ambient.Machine):
    """The process ends at a crash point, as far as the ledger can see."""

    def __init__(self, point: str) -> None:
        self.point = point

    def reach(self, point: str) -> None:
        if point == self.point:
            raise OSError("the process ends here")


POINTS = ("dispatch.after", "transact.begun", "transact.returned", "transact.applied", "transact.committed", "effect.after")


@pytest.mark.parametrize("point", POINTS)
def test_whoever_takes_over_finds_both_or_neither_and_an_unanswered_call_runs_again(
    tell: Callable[[Story], None], point: str
) -> None:
    async def story(ledger: Ledgers, another: Callable[[], Coroutine[object, object, Ledgers]]) -> None:
        seat = booking(plainly)
        s = await stage(ledger, [seat])
        plan = await s.consider("book", {"seat": "1A"})
        with ambient.use(Killing(point)), contextlib.suppress(OSError, LedgerError):
            await s.gate.execute(plan, s.scene)  # type: ignore[arg-type]
        ledger.abandon()
        second = await another()
        [row] = await second.operations()
        before = await taken(second)
        assert before == (["1A"] if row.state == "succeeded" else []), (point, row.state)
        again = await stage(second, [seat], claim=True)
        await again.gate.recover(s.proposals["1.0"], row.id, again.scene)
        await again.scene.journal.flush()
        outcome = again.outcome("1.0")
        assert isinstance(outcome, Succeeded)
        assert await taken(second) == ["1A"]
        [row] = await second.operations()
        assert (row.state, row.attempt) == ("succeeded", 1 if before else 2)
        await verified(second)

    tell(story)


def test_without_a_call_that_waits_for_it_what_was_never_committed_is_failed(tell: Callable[[Story], None]) -> None:
    async def story(ledger: Ledgers, another: Callable[[], Coroutine[object, object, Ledgers]]) -> None:
        seat = booking(plainly)
        s = await stage(ledger, [seat])
        plan = await s.consider("book", {"seat": "1A"})
        with ambient.use(Killing("dispatch.after")), pytest.raises(OSError):
            await s.gate.execute(plan, s.scene)  # type: ignore[arg-type]
        ledger.abandon()
        second = await another()
        [row] = await second.operations()
        gate = Gate(tools=Catalogue([]), ledger=second)  # a process that does not even know the tool
        assert await gate.recover_unowned(row)
        [row] = await second.operations()
        assert (row.state, row.settled_by) == ("failed", "ledger")
        assert await taken(second) == []
        await verified(second)

    tell(story)


def test_a_tool_that_was_of_another_kind_when_it_was_dispatched_is_not_run_again(tell: Callable[[Story], None]) -> None:
    @tool(effect=write(once_per="seat", recovery=idempotent(window_s=60)), approve=never, label=TRUSTED, name="book")
    async def outside(seat: str) -> str:
        """Book elsewhere.

        Args:
            seat: which
        """
        return seat

    async def story(ledger: Ledgers, another: Callable[[], Coroutine[object, object, Ledgers]]) -> None:
        s = await stage(ledger, [outside])
        plan = await s.consider("book", {"seat": "1A"})
        with ambient.use(Killing("dispatch.after")), pytest.raises(OSError):
            await s.gate.execute(plan, s.scene)  # type: ignore[arg-type]
        ledger.abandon()
        second = await another()
        again = await stage(second, [booking(plainly)], claim=True)
        [row] = await second.operations()
        await again.gate.recover(s.proposals["1.0"], row.id, again.scene)
        await again.scene.journal.flush()
        assert isinstance(again.outcome("1.0"), Unknown)
        assert await taken(second) == []

    tell(story)


def test_a_run_that_was_taken_over_before_the_commit_leaves_no_row(tell: Callable[[Story], None]) -> None:
    begun, free = threading.Event(), threading.Event()

    def waits(connection: Connection, seat: str) -> object:
        begun.set()
        free.wait(LONG_S)
        return seat

    async def story(ledger: Ledgers, _: object) -> None:
        s = await stage(ledger, [booking(waits)])
        s.scene.journal.epoch += 1  # what a former owner believes
        plan = await s.consider("book", {"seat": "1A"})
        with pytest.raises(RunOwned):
            await s.gate.execute(plan, s.scene)  # type: ignore[arg-type]
        assert await taken(ledger) == []

    tell(story)


def test_what_was_noted_before_is_in_the_same_commit(tell: Callable[[Story], None]) -> None:
    async def story(ledger: Ledgers, _: object) -> None:
        s = await stage(ledger, [booking(plainly)])
        await s.consider("unknown_tool", {}, call="1.0")
        assert isinstance(await s.call("book", {"seat": "1A"}, call="1.1"), Succeeded)
        assert isinstance(s.outcome("1.0"), Refused)
        kinds = [one.event.kind for one in await ledger.read(s.scene.run)]
        assert kinds.count("call.ended") == 2
        moves = [one for one in await ledger.read(s.scene.run) if isinstance(one.event, OperationMoved)]
        assert [one.event.on for one in moves] == ["allowed", "returned"]  # type: ignore[union-attr]
        assert [one.sequence for one in s.events] == [one.sequence for one in await ledger.read(s.scene.run)]

    tell(story)


def test_only_a_plain_short_function_can_be_transactional() -> None:
    effect = write(once_per=CALL, recovery=transactional)

    async def later(ctx: Context[object]) -> str:
        """Do it."""
        return "done"

    def now(ctx: Context[object]) -> str:
        """Do it."""
        return "done"

    for function, options, word in (
        (later, {}, "async"),
        (now, {"timeout_s": 6}, "timeout_s"),
        (now, {"sandbox": object()}, "sandbox"),
    ):
        with pytest.raises(DefinitionError, match=word):
            tool(effect=effect, **options)(function)  # type: ignore[arg-type]
    assert tool(effect=effect)(now).timeout_s == 5.0  # type: ignore[arg-type]


def test_a_tool_that_is_not_transactional_has_no_connection(tell: Callable[[Story], None]) -> None:
    @tool(effect=write(once_per="seat", recovery=idempotent(window_s=60)), approve=never, label=TRUSTED)
    def book(seat: str, ctx: Context[object]) -> object:
        """Book.

        Args:
            seat: which
        """
        return ctx.connection.execute("SELECT 1")

    async def story(ledger: Ledgers, _: object) -> None:
        s = await stage(ledger, [book])
        outcome = await s.call("book", {"seat": "1A"})
        assert isinstance(outcome, Failed)
        assert "transactional" in outcome.message

    tell(story)


def test_a_ledger_without_transactions_takes_no_transactional_tool() -> None:
    class Other:
        """A ledger of another kind."""

    with pytest.raises(DefinitionError, match="no transactions"):
        Gate(tools=Catalogue([booking(plainly)]), ledger=Other())  # type: ignore[arg-type]


def test_a_ledger_that_cannot_be_written_stops_the_call_and_says_nothing_of_it(tmp_path: Path) -> None:
    async def story() -> None:
        ledger = SqliteLedger(tmp_path / "remit.db")
        await ledger.open()
        s = await stage(ledger, [booking(plainly)])
        plan = await s.consider("book", {"seat": "1A"})

        class Away(ambient.Machine):
            def reach(self, point: str) -> None:
                if point == "transact.applied":
                    raise OSError("the disk went away")

        with ambient.use(Away()), pytest.raises(LedgerError):
            await s.gate.execute(plan, s.scene)  # type: ignore[arg-type]
        [row] = await ledger.operations()
        assert row.state == "dispatched"
        assert await taken(ledger) == []
        await s.gate.recover(s.proposals["1.0"], row.id, s.scene)
        await s.scene.journal.flush()
        assert isinstance(s.outcome("1.0"), Succeeded)
        assert await taken(ledger) == ["1A"]
        await verified(ledger)
        await ledger.aclose()

    asyncio.run(story())


def test_under_another_loop_it_is_the_same(tell: Callable[[Story], None]) -> None:
    async def story(ledger: Ledgers, another: Callable[[], Coroutine[object, object, Ledgers]]) -> None:
        gate = Gate(tools=Catalogue([booking(plainly)]), ledger=ledger)
        given = {"principal": ALICE, "run": "thread", "label": TRUSTED}
        calls = [gate.call("book", {"seat": seat}, call=f"c{seat}", **given) for seat in ("1A", "2B", "3C")]  # type: ignore[arg-type]
        outcomes = await asyncio.gather(*calls)
        assert [type(one) for one in outcomes] == [Succeeded] * 3
        again = await gate.call("book", {"seat": "1A"}, call="c1A", **given)  # type: ignore[arg-type]
        assert again == outcomes[0]
        await gate.close("thread")
        assert await taken(ledger) == ["1A", "2B", "3C"]
        await verified(ledger)

    tell(story)
