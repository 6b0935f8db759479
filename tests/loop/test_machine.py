"""The transition as a state machine: whatever model, handlers, approvers and clock do, the law holds."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import asdict, replace

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from loop.world import MOODS, RUN, World, proposal, replied, run_to_end, take_up
from remit.loop.command import Reconsider, Start
from remit.loop.state import Ending, RunState
from remit.loop.transition import fold, stop, transition
from remit.types.budget import Budget
from remit.types.outcome import Succeeded

LIMITS: dict[str, list[int | None]] = {
    "turns": [2, 4, 8],
    "calls": [None, None, 2, 6],
    "calls_per_tool": [None, None, 2],
    "tokens": [None, None, 250],
    "approvals": [None, 1, 4],
    "repeats": [None, 1, 4],
    "consecutive_errors": [None, None, 2],
    "seconds": [None, None, 600],
}


class Machine(RuleBasedStateMachine):
    """One run. The rules are all that can happen; the world and its book check what must never."""

    def __init__(self) -> None:
        super().__init__()
        self.data: st.DataObject | None = None
        self.world = World(self.pick)

    def pick(self, options: Sequence[object]) -> object:
        assert self.data is not None
        return options[self.data.draw(st.integers(0, len(options) - 1))]

    @initialize(
        limits=st.fixed_dictionaries({name: st.sampled_from(some) for name, some in LIMITS.items()}),
        on_wait=st.sampled_from(["hold", "answer"]),
        mood=st.sampled_from(MOODS),
        data=st.data(),
    )
    def begin(self, limits: dict[str, int | None], on_wait: str, mood: str, data: st.DataObject) -> None:
        self.data = data
        self.world.budget = Budget(**limits)  # type: ignore[arg-type]
        self.world.on_wait, self.world.mood = on_wait, mood
        self.world.start()

    @precondition(lambda self: self.world.jobs and not self.world.state.paused)
    @rule(data=st.data())
    def something_is_done(self, data: st.DataObject) -> None:
        self.data = data
        for _ in range(3):
            if self.world.jobs and not self.world.state.paused:
                self.world.work(self.pick(self.world.jobs))  # type: ignore[arg-type]

    @precondition(lambda self: self.world.waiting)
    @rule(data=st.data())
    def somebody_decides(self, data: st.DataObject) -> None:
        self.data = data
        self.world.decide(self.pick(self.world.waiting))  # type: ignore[arg-type]

    @precondition(lambda self: not self.world.ended and self.world.journal)
    @rule()
    def the_process_dies(self) -> None:
        self.world.crash()

    @precondition(lambda self: not self.world.ended and self.world.journal and self.world.state.cancelled is None)
    @rule(data=st.data(), really=st.integers(0, 4))
    def somebody_cancels(self, data: st.DataObject, really: int) -> None:
        self.data = data
        if really == 0:
            self.world.cancel()

    @rule(minutes=st.integers(0, 50))
    def time_passes(self, minutes: int) -> None:
        self.world.now_ms += minutes * 60_000

    @invariant()
    def the_law_holds(self) -> None:
        if self.world.journal:
            self.world.check()

    def teardown(self) -> None:
        """However it was left, it comes to an end, and its journal says all of it."""
        if self.world.journal:
            self.world.pick = lambda options: options[0]
            comes_to_its_end(self.world)


def comes_to_its_end(world: World) -> None:
    run_to_end(world)
    world.check()
    folded = fold(world.journal)
    assert folded == replace(world.state, commanded=folded.commanded, ending=folded.ending)


TestMachine = Machine.TestCase
TestMachine.settings = settings(
    max_examples=60,
    stateful_step_count=30,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much],
)


def seeded(seed: int, mood: str) -> World:
    """A world that a seed makes, begun."""
    source = random.Random(f"{mood} {seed}")
    budget = Budget(**{name: source.choice(some) for name, some in LIMITS.items()})  # type: ignore[arg-type]
    world = World(source.choice, budget, source.choice(["hold", "answer"]), mood)
    world.start()
    return world


def live(world: World, source: random.Random, *, steps: int) -> None:
    """Let all that can happen happen, in no order."""
    for _ in range(steps):
        world.check()
        chance = source.random()
        if world.ended:
            return
        if chance < 0.03:
            world.crash()
        elif chance < 0.04 and world.state.cancelled is None:
            world.cancel()
        elif chance < 0.07:
            world.now_ms += source.randrange(1_000_000)
        elif world.waiting and (world.state.paused or chance < 0.12):
            world.decide(source.choice(world.waiting))
        elif world.jobs:
            world.work(source.choice(world.jobs))


@pytest.mark.parametrize("mood", MOODS)
def test_whatever_happens_in_hundreds_of_worlds_the_law_holds(mood: str) -> None:
    for seed in range(300):
        world = seeded(seed, mood)
        live(world, random.Random(seed), steps=250)
        comes_to_its_end(world)


@pytest.mark.parametrize("on_wait", ["hold", "answer"])
@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(seed=st.integers(0, 2**32), cuts=st.lists(st.integers(0, 2**16), min_size=1, max_size=6))
@example(seed=3_139_705_730, cuts=[208, 85, 0, 255])  # a write of an earlier turn, after one that came to harm
def test_a_journal_cut_anywhere_and_taken_up_comes_to_its_end(on_wait: str, seed: int, cuts: list[int]) -> None:
    whole = World(random.Random(seed).choice, Budget(turns=4), on_wait)
    whole.start()
    run_to_end(whole)
    for cut in cuts:
        again = take_up(whole.journal, 2 + cut % (len(whole.journal) - 2), whole)
        comes_to_its_end(again)


@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(seed=st.integers(0, 2**32))
def test_a_fold_of_any_prefix_is_the_state_that_was_there(seed: int) -> None:
    world = World(random.Random(seed).choice, Budget(turns=4))
    world.start()
    while not world.ended and not world.limited:
        if world.state.paused:
            world.decide(world.choose(*world.waiting))
        else:
            world.work(world.choose(*world.jobs))
        folded = fold(world.journal)
        assert world.limited or folded == world.state


@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(seed=st.integers(0, 2**32), mood=st.sampled_from(MOODS))
def test_a_state_stays_as_it_was_whatever_comes_after_it(seed: int, mood: str) -> None:
    world = seeded(seed, mood)
    live(world, random.Random(seed), steps=200)
    state = RunState(run=RUN)
    for recorded in world.journal:
        before, kept = state, asdict(state)
        stop(before, Ending("stopped", "budget.turns"))
        state, _ = transition(before, recorded)
        assert asdict(before) == kept


def test_writes_that_the_model_knows_as_submitted_keep_the_order_in_which_it_made_them() -> None:
    world = World(lambda options: "waiting" if "waiting" in options else options[0], on_wait="answer")
    world.start()
    calls = [proposal(0, "write"), proposal(1, "write_a")]
    asked = list(world.jobs)
    world.work(asked[0])
    world.record(replied(1, calls))
    world.jobs = [one for one in world.jobs if one is not asked[0]]
    while world.state.turn == 1:
        world.work(world.jobs[0])
    world.pick = lambda options: options[0]
    world.decide(world.waiting[1])
    while any(isinstance(one.command, Reconsider | Start) for one in world.jobs):
        world.work(next(one for one in world.jobs if isinstance(one.command, Reconsider | Start)))
    first, second = world.book.calls.values()
    assert not second.dispatched
    world.decide(world.waiting[0])
    run_to_end(world)
    assert isinstance(first.outcome, Succeeded)
    assert isinstance(second.outcome, Succeeded)
