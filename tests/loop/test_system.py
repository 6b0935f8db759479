"""Driver, gate and ledger together as a state machine: the books, the answers and the budgets always hold."""

from __future__ import annotations

import asyncio
import contextlib
from collections import Counter
from collections.abc import Awaitable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, initialize, invariant, precondition, rule

from loop.bench import Bench
from remit import ambient
from remit.errors import LedgerError
from remit.loop import Driver, fold
from remit.model import ScriptedModel, call
from remit.types.budget import Budget
from remit.types.event import ApprovalDecided, CallConsidered, CallEnded, ModelRequested, OperationMoved
from remit.types.ident import Json, RunId
from remit.types.ledger import Append, Committed
from remit.types.model import Stop

T = TypeVar("T")


@dataclass
class Failing:
    """A ledger that fails once, at a commit of one's choice."""

    inner: object
    left: int | None = None

    def __getattr__(self, name: str) -> object:
        return getattr(self.inner, name)

    async def commit(self, append: Append) -> Committed:
        if self.left is not None:
            self.left -= 1
            if self.left < 0:
                self.left = None
                raise LedgerError("the disk is full")
        return await self.inner.commit(append)  # type: ignore[attr-defined, no-any-return]


@dataclass
class Script:
    """What the model says, by turn; the last is said for ever."""

    run: str
    turns: Sequence[tuple[Sequence[tuple[str, str]], Stop]]
    driver: Driver | None = None
    made: list[str] = field(default_factory=list[str])

    def __call__(self, body: dict[str, Json]) -> object:
        assert self.driver is not None
        turn = self.driver.state.turn
        if turn > len(self.turns):
            return "Done."
        calls, stop = self.turns[turn - 1]
        made = [self._call(turn, place, name, value) for place, (name, value) in enumerate(calls)]
        return ScriptedModel.turn(made, text="words", stop=stop if made or stop != "calls" else "end")

    def _call(self, turn: int, place: int, name: str, value: str) -> object:
        match name:
            case "look":
                return call("look", what=value)
            case "append":
                own = value if value in ("declined", "breaks") else f"{self.run}/{turn}.{place}"
                return call("append", value=own)
            case "ask_user":
                return call("ask_user", question=value)
            case "broken":
                return call.raw("pay", '{"value":')
            case "serch":
                return call("serch", what=value)
            case _:
                return call(name, value=value)


CALLS = st.tuples(
    st.sampled_from(["look", "pay", "pay", "refund", "refund", "append", "append", "ask_user", "broken", "serch"]),
    st.sampled_from(["a", "b", "c", "declined", "breaks"]),
)
STOPS: st.SearchStrategy[Stop] = st.sampled_from(["calls", "calls", "calls", "calls", "length", "pause", "refusal", "unknown"])
TURNS = st.lists(st.tuples(st.lists(CALLS, min_size=1, max_size=4), STOPS), max_size=3)
FAILS = st.one_of(st.none(), st.none(), st.integers(1, 7))


class System(RuleBasedStateMachine):
    """Runs of one requester, one shop, one ledger."""

    runs = Bundle("runs")

    def __init__(self) -> None:
        super().__init__()
        self.runner = asyncio.Runner()
        self.source = ambient.Seeded()
        self.scripts: dict[str, Script] = {}
        self.bench = Bench()
        self.ledger = Failing(self.bench.ledger)

    def go(self, work: Awaitable[T]) -> T:
        async def run() -> T:
            with ambient.use(self.source):
                return await work

        return self.runner.run(run())

    @initialize(turns=st.sampled_from([2, 8]), calls=st.sampled_from([3, 64]), on_wait=st.sampled_from(["hold", "answer"]))
    def open(self, turns: int, calls: int, on_wait: str) -> None:
        budget = Budget(turns=turns, calls=calls, consecutive_errors=4)
        self.bench = Bench(ledger=self.ledger, budget=budget, on_wait=on_wait)  # type: ignore[arg-type]
        self.go(self.bench.ledger.open())

    @rule(target=runs, turns=TURNS, fails=FAILS)
    def somebody_asks(self, turns: Sequence[tuple[Sequence[tuple[str, str]], Stop]], fails: int | None) -> str:
        name = f"run_{len(self.scripts) + 1}"
        script = self.scripts[name] = Script(name, turns)

        async def story() -> None:
            script.driver = await self.bench.begin(self.bench.spec(script), run=name)
            self.ledger.left = fails
            await self.drive(script)

        self.go(story())
        return name

    @rule(name=runs, fails=FAILS)
    def somebody_takes_it_up(self, name: str, fails: int | None) -> None:
        self.go(self.take_up(name, fails))

    @rule(pick=st.integers(0, 9), verdict=st.sampled_from(["approved", "approved", "denied"]))
    def somebody_decides(self, pick: int, verdict: str) -> None:
        self.go(self.decide(pick, verdict))

    @rule(name=runs)
    def somebody_cancels(self, name: str) -> None:
        self.go(self.bench.cancel(name))

    @rule(hours=st.integers(1, 30))
    def time_passes(self, hours: int) -> None:
        self.source.advance(hours * 3_600)

    async def drive(self, script: Script) -> None:
        assert script.driver is not None
        with contextlib.suppress(LedgerError):
            await asyncio.wait_for(script.driver.drive(), 20)
        self.ledger.left = None

    async def take_up(self, name: str, fails: int | None) -> None:
        row = await self.bench.ledger.run(RunId(name))
        assert row is not None
        if row.status == "ended":
            return
        script = self.scripts[name]
        script.driver = await self.bench.take_up(script, run=name)  # type: ignore[arg-type]
        self.ledger.left = fails
        await self.drive(script)

    async def decide(self, pick: int, verdict: str) -> None:
        pending = await self.bench.ledger.approvals(state=("pending",))
        if pending:
            row = pending[pick % len(pending)]
            question = row.kind == "question"
            await self.bench.decide_one(row, "answered" if question else verdict, answer='"yes"' if question else None)

    @invariant()
    def the_books_hold(self) -> None:
        counts = Counter(self.bench.shop.effects)
        assert all(count == 1 for count in counts.values()), f"an effect happened twice: {counts}"

    @precondition(lambda self: self.scripts)
    @invariant()
    def the_journals_hold(self) -> None:
        self.go(self.check())

    async def check(self) -> None:
        assert await self.bench.ledger.verify() == []
        for name in self.scripts:
            events = [one.event for one in await self.bench.events(name)]
            turns = {one.turn for one in events if isinstance(one, ModelRequested)}
            assert len(turns) <= (self.bench.budget.turns or 0)
            ends = Counter(one.call for one in events if isinstance(one, CallEnded))
            assert not ends or max(ends.values()) == 1
            ready = {one.call for one in events if isinstance(one, CallConsidered) and one.verdict == "ready"}
            moved = [one for one in events if isinstance(one, OperationMoved)]
            assert {one.call for one in moved if one.on in ("allowed", "approved")} <= ready, "a call ran undecided"
            yes = {one.approval for one in events if isinstance(one, ApprovalDecided) and one.verdict == "approved"}
            assert {one.approval for one in moved if one.on == "approved"} <= yes

    def teardown(self) -> None:
        """Everybody goes home: what is asked is decided, and every run comes to its end."""
        try:
            self.go(self.finish())
        finally:
            self.go(self.bench.ledger.aclose())
            self.runner.close()

    async def finish(self) -> None:
        for name in self.scripts:
            for _ in range(60):
                row = await self.bench.ledger.run(RunId(name))
                assert row is not None
                if row.status == "ended":
                    break
                while await self.bench.ledger.approvals(state=("pending",)):
                    await self.decide(0, "approved")
                await self.take_up(name, None)
            else:
                raise AssertionError(f"{name} does not come to an end")
            await self.bench.check(name)
            state = fold(await self.bench.events(name))
            spent = await self.bench.ledger.spent(f"run:{name}")
            tally = state.tally
            assert (spent.turns, spent.calls, spent.tokens) == (tally.turns, tally.calls, tally.tokens)
            assert spent.approvals == tally.approvals
        await self.check()
        self.the_books_hold()


TestSystem = System.TestCase
TestSystem.settings = settings(
    max_examples=40,
    stateful_step_count=10,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much],
)


@pytest.mark.parametrize("on_wait", ["hold", "answer"])
@pytest.mark.parametrize("fails", range(1, 9))
def test_a_run_whose_process_dies_at_any_commit_comes_to_its_end_with_each_effect_at_most_once(
    fails: int, on_wait: str
) -> None:
    async def story() -> None:
        ledger = Failing(Bench().ledger)
        bench = Bench(ledger=ledger, on_wait=on_wait)  # type: ignore[arg-type]
        await bench.ledger.open()
        turns: list[tuple[list[tuple[str, str]], Stop]] = [
            ([("append", "a"), ("pay", "a"), ("look", "x"), ("refund", "a")], "calls"),
            ([("append", "b"), ("pay", "a")], "calls"),
        ]
        script = Script("run_1", turns)
        script.driver = await bench.begin(bench.spec(script))
        ledger.left = fails
        for _ in range(9):
            if script.driver is not None:
                with contextlib.suppress(LedgerError):
                    await script.driver.drive()
            row = await bench.ledger.run(RunId("run_1"))
            assert row is not None
            if row.status == "ended":
                break
            if await bench.ledger.approvals(state=("pending",)):
                await bench.decide("approved")
            script.driver = None
            with contextlib.suppress(LedgerError):
                script.driver = await bench.take_up(script)  # type: ignore[arg-type]
        await bench.check()
        assert max(Counter(bench.shop.effects).values()) == 1
        await bench.ledger.aclose()

    async def run() -> None:
        with ambient.use(ambient.Seeded()):
            await story()

    asyncio.run(run())
