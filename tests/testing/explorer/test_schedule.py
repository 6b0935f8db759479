"""Schedules as text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remit import InputError
from remit.testing.explorer.schedule import ASKED, EFFECTS, PEOPLE, REPLIES, SETTLES, At, Schedule, Trouble

NUMBERS = st.integers(1, 999)
STEPS = st.builds(At, NUMBERS, since_start=st.booleans())
WRITES = st.builds(At, NUMBERS, write=st.just(True), since_start=st.booleans(), after=st.booleans())
TOOLS = st.sampled_from(["refund", "a.b-c", "x_1"])
TROUBLES = st.one_of(
    st.builds(Trouble, kind=st.sampled_from(["crash", "cancel", "again", "second"]), at=st.one_of(STEPS, WRITES)),
    st.builds(Trouble, kind=st.just("clock"), at=STEPS, amount=st.integers(-9_999, 9_999)),
    st.builds(Trouble, kind=st.just("world"), subject=TOOLS, nth=NUMBERS, mode=st.sampled_from(EFFECTS)),
    st.builds(Trouble, kind=st.just("ask"), subject=TOOLS, mode=st.sampled_from(ASKED)),
    st.builds(Trouble, kind=st.just("model"), nth=NUMBERS, mode=st.sampled_from(REPLIES)),
    st.builds(Trouble, kind=st.just("person"), mode=st.sampled_from(PEOPLE)),
    st.builds(Trouble, kind=st.just("settle"), mode=st.sampled_from(SETTLES)),
    st.builds(Trouble, kind=st.sampled_from(["order", "pause"]), amount=NUMBERS),
)


@given(st.builds(Schedule, st.sampled_from(["refund", "refund/asked"]), st.lists(TROUBLES, max_size=5).map(tuple)))
def test_a_schedule_that_is_written_and_read_is_the_same(schedule: Schedule) -> None:
    assert Schedule.read(str(schedule)) == schedule


@pytest.mark.parametrize(
    "text",
    ["refund: crash", "refund: crash@", "refund: crash@w3", "refund: crash@3-", "refund: crush@3", "refund: world:x=bad"],
)
def test_a_word_that_is_none_is_named(text: str) -> None:
    with pytest.raises(InputError, match=text.partition(": ")[2].replace("+", r"\+")) as refused:
        Schedule.read(text)
    assert refused.value.code == "explore.schedule"


def test_a_name_alone_is_the_scenario_without_trouble() -> None:
    assert Schedule.read("refund") == Schedule.read("refund:") == Schedule("refund")
