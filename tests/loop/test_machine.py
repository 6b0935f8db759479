"""The transition as a state machine: whatever model, handlers, approvers and clock do, the law holds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from loop.world import World, run_to_end, take_up
from remit.loop.transition import fold
from remit.types.budget import Budget


class Machine(RuleBasedStateMachine):
    """One run. The rules are all that can happen; the world checks what must never."""

    def __init__(self) -> None:
        super().__init__()
        self.data: st.DataObject | None = None
        self.world = World(self.pick)

    def pick(self, options: Sequence[object]) -> object:
        assert self.data is not None
        return options[self.data.draw(st.integers(0, len(options) - 1))]

    @initialize(
        turns=st.sampled_from([1, 3, 6]),
        calls=st.sampled_from([None, 2, 6]),
        tokens=st.sampled_from([None, 350]),
        approvals=st.sampled_from([1, 16]),
        on_wait=st.sampled_from(["hold", "answer"]),
    )
    def begin(self, turns: int, calls: int | None, tokens: int | None, approvals: int, on_wait: str) -> None:
        self.world.budget = Budget(turns=turns, calls=calls, tokens=tokens, approvals=approvals)
        self.world.on_wait = on_wait
        self.world.start()

    @precondition(lambda self: self.world.jobs and not self.world.state.paused)
    @rule(data=st.data())
    def something_is_done(self, data: st.DataObject) -> None:
        self.data = data
        for _ in range(3):
            if self.world.jobs and not self.world.state.paused:
                self.world.work(self.pick(self.world.jobs))  # type: ignore[arg-type]

    @precondition(lambda self: any(one.status == "awaiting" for one in self.world.state.unanswered))
    @rule(data=st.data())
    def somebody_decides(self, data: st.DataObject) -> None:
        self.data = data
        waiting = [call for call in self.world.state.unanswered if call.status == "awaiting"]
        self.world.decide(self.pick(waiting))  # type: ignore[arg-type]

    @precondition(lambda self: not self.world.ended and self.world.journal)
    @rule()
    def the_process_dies(self) -> None:
        self.world.crash()

    @precondition(lambda self: not self.world.ended and self.world.journal and self.world.state.cancelled is None)
    @rule(really=st.integers(0, 4))
    def somebody_cancels(self, really: int) -> None:
        if really == 0:
            self.world.cancel()

    @rule(minutes=st.integers(0, 10_000))
    def time_passes(self, minutes: int) -> None:
        self.world.now_ms += minutes * 60_000

    @invariant()
    def the_law_holds(self) -> None:
        if self.world.journal:
            self.world.check()

    def teardown(self) -> None:
        """However it was left, it comes to an end, and its journal says all of it."""
        if not self.world.journal:
            return
        self.world.pick = lambda options: options[0]
        run_to_end(self.world)
        self.world.check()
        folded = fold(self.world.journal)
        assert folded == replace(self.world.state, commanded=folded.commanded, ending=folded.ending)


TestMachine = Machine.TestCase
TestMachine.settings = settings(
    max_examples=120,
    stateful_step_count=40,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much],
)


def world_of(source: st.DataObject, on_wait: str, *, turns: int = 4) -> World:
    def pick(options: Sequence[object]) -> object:
        return options[source.draw(st.integers(0, len(options) - 1))]

    return World(pick, Budget(turns=turns), on_wait)


@pytest.mark.parametrize("on_wait", ["hold", "answer"])
@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_a_journal_cut_anywhere_and_taken_up_comes_to_its_end(on_wait: str, data: st.DataObject) -> None:
    whole = world_of(data, on_wait)
    whole.start()
    run_to_end(whole)
    whole.pick = lambda options: options[0]
    for cut in range(2, len(whole.journal)):
        again = take_up(whole.journal, cut, whole)
        run_to_end(again)
        again.check()


@seed(1)
@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_a_fold_of_any_prefix_is_the_state_that_was_there(data: st.DataObject) -> None:
    world = world_of(data, "hold")
    world.start()
    run_to_end(world)
    if not world.limited:
        assert fold(world.journal) == world.state
