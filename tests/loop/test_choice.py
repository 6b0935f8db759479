"""Which model is asked next: the first that has not failed in this turn, else the one whose pause is over first."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loop.world import RUN, replied, said, started
from remit.loop.command import Ask, Command, End
from remit.loop.state import MAX_ATTEMPTS, RunState
from remit.loop.transition import transition
from remit.types.event import Event, ModelRequested, Recorded, RequestFailed, Resumed
from remit.types.ident import OwnerId
from remit.types.label import TRUSTED
from remit.types.model import Call

NAMES = ("scripted:a", "scripted:b", "scripted:c")
CAP_S = 300


class Run:
    """A run of three models that only asks."""

    def __init__(self) -> None:
        self.state = RunState(run=RUN)
        self.now_ms = 0
        self.number = 0
        self.commands: tuple[Command, ...] = ()
        self.record(replace(started(), model=NAMES[0], fallbacks=NAMES[1:]), said())

    def record(self, *events: Event) -> None:
        for event in events:
            self.number += 1
            self.state, self.commands = transition(self.state, Recorded(RUN, self.number, self.now_ms, event))

    def asked(self) -> Ask | End:
        (command,) = self.commands
        assert isinstance(command, Ask | End)
        return command

    def request(self) -> str:
        command = self.asked()
        assert not isinstance(command, End)
        self.record(
            ModelRequested(
                turn=command.turn,
                attempt=command.attempt,
                model=command.model,
                reserved_tokens=1,
                reserved_usd_micros=0,
                label=TRUSTED,
            )
        )
        return command.model

    def fail(self, code: str = "model.unavailable", *, retryable: bool = True, after_s: float | None = None) -> None:
        state = self.state
        self.record(
            RequestFailed(
                turn=state.turn, attempt=state.attempt, code=code, message="", retryable=retryable, retry_after_s=after_s
            )
        )

    def is_taken_up(self, *models: str) -> None:
        """By somebody who has these models."""
        self.record(Resumed(owner=OwnerId("o"), scopes=(), scopes_from="recorded", models=models))

    def reply(self) -> None:
        """A reply that the provider paused: the model goes on at once."""
        self.record(replied(self.state.turn, stop="pause", attempt=self.state.attempt))


OUT = ["model.unauthorized", "model.not_found", "model.refused_request", "model.context_full"]
FAILURES = st.tuples(
    st.sampled_from(["model.unavailable", "model.overloaded", *OUT]),
    st.sampled_from([None, 0.0, 5.0, 299.0, 301.0]),
    st.integers(0, 400_000),
)


@given(st.lists(st.lists(FAILURES, max_size=5), min_size=1, max_size=4))
def test_whatever_fails_in_whatever_order_the_choice_is_the_same_as_by_hand(
    turns: list[list[tuple[str, float | None, int]]],
) -> None:
    run = Run()
    favourite = NAMES[0]
    for failures in turns:
        free: dict[str, int] = {}
        codes: dict[str, str] = {}
        expected: str | None = favourite
        for attempt, (code, after_s, passed_ms) in enumerate(failures, start=1):
            assert run.request() == expected
            run.now_ms += passed_ms
            run.fail(code, retryable=code not in OUT, after_s=after_s)
            assert expected is not None
            codes.pop(expected, None)
            free.pop(expected, None)
            codes[expected] = code
            if code not in OUT:
                free[expected] = run.now_ms + round(1000 * (after_s or 0))
            command = run.asked()
            fresh = [name for name in NAMES if name not in codes]
            wait_ms = min(free.values(), default=0) - run.now_ms
            if attempt == MAX_ATTEMPTS:
                expected = None
            elif fresh:
                expected = fresh[0]
                assert isinstance(command, Ask)
                assert (command.wait_s, command.least_s) == (0, 0)
            elif free and wait_ms <= CAP_S * 1000:
                expected = min(free, key=lambda name: free[name])
                assert isinstance(command, Ask)
                assert command.wait_s > 0
                assert command.least_s == pytest.approx(max(0, wait_ms) / 1000)
            else:
                expected = None
            if expected is None:
                assert isinstance(command, End)
                again = [code for code in codes.values() if code not in OUT]
                code = again[-1] if again else next(codes[name] for name in NAMES if name in codes)
                full = code == "model.context_full"
                assert (command.how, command.reason) == (("stopped", "context.full") if full else ("escalated", code))
                return
        favourite = run.request()
        assert favourite == expected
        run.reply()


def test_one_that_the_agent_does_not_have_any_more_is_passed_over() -> None:
    run = Run()
    run.is_taken_up(NAMES[0], NAMES[2])
    assert run.request() == NAMES[0]
    run.fail()
    assert run.request() == NAMES[2]
    run.fail()
    command = run.asked()
    assert isinstance(command, Ask)
    assert command.model == NAMES[0]
    assert command.wait_s > 0


def test_one_that_replied_and_is_gone_gives_way_to_the_first() -> None:
    run = Run()
    run.request()
    run.fail()
    assert run.request() == NAMES[1]
    run.reply()
    run.is_taken_up(NAMES[0], NAMES[2])
    assert run.request() == NAMES[0]


def test_calls_are_answered_by_the_model_that_proposed_them() -> None:
    run = Run()
    run.request()
    run.fail()
    run.request()
    run.record(replied(1, [Call(position=0, wire_id="w", name="nowhere", arguments="{}")], attempt=2))
    assert run.state.model == NAMES[1]
    assert run.state.blocked == ()
