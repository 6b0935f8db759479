"""Which calls of a turn may start: the order of writes, and what holds them back."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remit.loop.phase import ACTIVE
from remit.loop.schedule import HELD_BACK, WAITING, Moves, schedule
from remit.loop.state import CallState
from remit.types.ident import CallId, Digest
from remit.types.label import TRUSTED
from remit.types.outcome import Failed, NotRun, Outcome, Refused, Succeeded, Unknown

OUTCOMES: tuple[Outcome, ...] = (
    Succeeded(),
    Refused(code="denied", message=""),
    Failed(code="x", message=""),
    Unknown(code="x", message=""),
    NotRun(code="cancelled", message=""),
)


def disjoint(one: CallState, other: CallState) -> bool:
    """By hand: whether the order of two writes cannot matter."""
    if "agent" in (one.effect, other.effect):
        return one.effect == other.effect
    if "ask" in (one.effect, other.effect):
        return False
    if one.name == other.name and one.key is not None and other.key is not None:
        return one.key != other.key
    if one.resources is None or other.resources is None:
        return False
    return not set(one.resources) & set(other.resources)


def by_hand(calls: list[CallState], running: list[CallState]) -> list[CallId]:
    """Which calls of a turn of ready and started ones start: each pair of them is looked at."""
    before = [(one, "runs") for one in running]
    start: list[CallId] = []
    for one in calls:
        clashes = [fate for other, fate in before if other.effect in ("write", "ask", "agent") and not disjoint(other, one)]
        reads = [fate for other, fate in before if other.effect == "read"]
        later = clashes if one.effect == "read" else [*clashes, *reads]
        fate = "runs" if one.status == "starting" else "later" if later and one.effect != "ask" else "start"
        if fate == "start":
            start.append(one.id)
        before.append((one, fate))
    return start


def call(position: int, effect: str, status: str = "ready", **more: object) -> CallState:
    made = CallState(
        id=CallId(f"1.{position}"), turn=1, wire_id="w", name=effect, arguments="{}", label=TRUSTED, status="ready"
    )
    return replace(made, effect=effect, status=status, **more)  # type: ignore[arg-type]


def ended(position: int, effect: str, outcome: Outcome, **more: object) -> CallState:
    return call(position, effect, "ended", outcome=outcome, **more)


def starts(*calls: CallState, on_wait: str = "hold") -> list[str]:
    return list(schedule(calls, on_wait=on_wait).start)  # type: ignore[arg-type]


def test_reads_start_together() -> None:
    assert starts(call(0, "read"), call(1, "read"), call(2, "read")) == ["1.0", "1.1", "1.2"]


def test_writes_that_declare_nothing_start_one_at_a_time_in_order() -> None:
    assert starts(call(0, "write"), call(1, "write")) == ["1.0"]
    assert starts(call(0, "write", "starting"), call(1, "write")) == []
    assert starts(ended(0, "write", Succeeded()), call(1, "write")) == ["1.1"]


def test_writes_that_share_nothing_start_together() -> None:
    assert starts(call(0, "write", resources=("a",)), call(1, "write", resources=("b",))) == ["1.0", "1.1"]
    assert starts(call(0, "write", resources=("a",)), call(1, "write", resources=("a", "b"))) == ["1.0"]


def test_different_business_keys_of_one_tool_start_together() -> None:
    assert starts(call(0, "write", key=Digest("a")), call(1, "write", key=Digest("b"))) == ["1.0", "1.1"]
    assert starts(call(0, "write", key=Digest("a")), call(1, "write", key=Digest("a"))) == ["1.0"]
    other = replace(call(1, "write", key=Digest("b")), name="other")
    assert starts(call(0, "write", key=Digest("a")), other) == ["1.0"]


@pytest.mark.parametrize("outcome", [Failed(code="x", message=""), Unknown(code="x", message="")])
def test_a_failed_or_unknown_write_holds_back_later_ones(outcome: Outcome) -> None:
    moves = schedule([ended(0, "write", outcome), call(1, "write"), call(2, "write"), call(3, "read")])
    assert moves == Moves(start=("1.3",), hold_back=(("1.1", HELD_BACK), ("1.2", HELD_BACK)))


@pytest.mark.parametrize("outcome", [Refused(code="denied", message=""), NotRun(code="expired", message="")])
def test_a_refused_write_does_not_stop_later_ones(outcome: Outcome) -> None:
    assert starts(ended(0, "write", outcome), call(1, "write")) == ["1.1"]


def test_a_failed_write_does_not_stop_disjoint_ones() -> None:
    failed = ended(0, "write", Failed(code="x", message=""), resources=("a",))
    assert starts(failed, call(1, "write", resources=("b",))) == ["1.1"]


def test_a_call_that_waits_for_a_person_holds_later_writes_and_no_reads() -> None:
    assert schedule([call(0, "write", "awaiting"), call(1, "write"), call(2, "read")]) == Moves(start=("1.2",))


def test_where_the_model_is_answered_without_people_what_is_held_is_not_run() -> None:
    moves = schedule([call(0, "write", "awaiting"), call(1, "write"), call(2, "write")], on_wait="answer")
    assert moves == Moves(hold_back=(("1.1", WAITING), ("1.2", WAITING)))


def test_a_question_holds_back_even_disjoint_writes() -> None:
    assert starts(call(0, "ask", "awaiting"), call(1, "write", resources=("a",)), call(2, "read")) == ["1.2"]
    assert starts(ended(0, "ask", Succeeded()), call(1, "write")) == ["1.1"]


def test_a_read_sees_the_write_before_it() -> None:
    assert starts(call(0, "write"), call(1, "read")) == ["1.0"]
    assert starts(call(0, "write", "starting"), call(1, "read")) == []
    assert starts(call(0, "write", resources=("a",)), call(1, "read", resources=("b",))) == ["1.0", "1.1"]


def test_a_write_starts_after_earlier_reads() -> None:
    assert starts(call(0, "read"), call(1, "write")) == ["1.0"]
    assert starts(call(0, "read", "starting"), call(1, "write")) == []
    assert starts(ended(0, "read", Failed(code="x", message="")), call(1, "write")) == ["1.1"]


def test_a_running_write_of_an_earlier_turn_goes_first() -> None:
    running = replace(call(0, "write", "starting"), turn=0)
    assert schedule([call(0, "write"), call(1, "read")], running=[running]) == Moves()


CALLS = st.lists(
    st.tuples(
        st.sampled_from(["read", "write", "write", "ask", "agent"]),
        st.sampled_from(["ready", "ready", "ready", "starting", "awaiting", "ended"]),
        st.sampled_from([None, (), ("a",), ("b",), ("a", "b")]),
        st.sampled_from(OUTCOMES),
    ),
    max_size=7,
).map(
    lambda rows: [
        call(place, effect, status, resources=touches, outcome=outcome if status == "ended" else None)
        for place, (effect, status, touches, outcome) in enumerate(rows)
    ]
)
WAITS = st.sampled_from(["hold", "answer"])


@given(CALLS, WAITS)
def test_what_starts_was_ready_and_overlaps_no_other_write(calls: list[CallState], on_wait: str) -> None:
    moves = schedule(calls, on_wait=on_wait)  # type: ignore[arg-type]
    ready = {one.id for one in calls if one.status == "ready"}
    held = {name for name, _ in moves.hold_back}
    assert set(moves.start) <= ready
    assert held <= ready - set(moves.start)
    for place, one in enumerate(calls):
        if one.id not in moves.start or one.effect != "write":
            continue
        for other in calls[:place]:
            if other.effect == "write" and not disjoint(other, one):
                assert other.status == "ended"
                assert not isinstance(other.outcome, Failed | Unknown)
            if other.effect == "ask":
                assert other.status == "ended"
            if other.effect == "read":
                assert other.status in ("ended", "awaiting")


SHARING = st.lists(
    st.tuples(
        st.sampled_from(["read", "write", "write", "ask"]),
        st.sampled_from(["ready", "ready", "starting"]),
        st.sampled_from(["pay", "save"]),
        st.sampled_from([None, (), ("a",), ("b",), ("a", "b")]),
        st.sampled_from([None, None, Digest("k"), Digest("l")]),
    ),
    max_size=8,
).map(
    lambda rows: [
        replace(call(place, effect, status, resources=touches, key=key if effect == "write" else None), name=name)
        for place, (effect, status, name, touches, key) in enumerate(rows)
    ]
)


@given(SHARING, SHARING)
def test_what_starts_is_the_same_as_by_looking_at_each_pair(calls: list[CallState], others: list[CallState]) -> None:
    running = [replace(one, turn=0) for one in others if one.effect in ("write", "agent") and one.status == "starting"]
    assert list(schedule(calls, running=running).start) == by_hand(calls, running)


@given(CALLS, WAITS, st.data())
def test_a_turn_never_blocks_itself(calls: list[CallState], on_wait: str, data: st.DataObject) -> None:
    for _ in range(60):
        moves = schedule(calls, on_wait=on_wait)  # type: ignore[arg-type]
        doing = [one for one in calls if one.status in ACTIVE]
        ready = [one for one in calls if one.status == "ready"]
        people = [one for one in calls if one.status == "awaiting"]
        if not moves and not doing:
            assert not ready or (people and on_wait == "hold")
            if not people:
                return
            doing = people
        names = {*moves.start}
        held = dict(moves.hold_back)
        finished = data.draw(st.sampled_from(doing)).id if doing else None
        calls = [
            replace(one, status="starting")
            if one.id in names
            else replace(one, status="ended", outcome=NotRun(code=held[one.id], message=""))
            if one.id in held
            else replace(one, status="ended", outcome=data.draw(st.sampled_from(OUTCOMES)))
            if one.id == finished
            else one
            for one in calls
        ]
    raise AssertionError("the turn does not come to an end")


@given(CALLS)
def test_only_earlier_calls_matter(calls: list[CallState]) -> None:
    whole = schedule(calls)
    for cut in range(len(calls)):
        assert schedule(calls[:cut]).start == tuple(one for one in whole.start if one in [c.id for c in calls[:cut]])


def test_what_was_held_back_holds_back_what_builds_on_it() -> None:
    first = ended(0, "write", Failed(code="x", message=""), resources=("a",))
    second = ended(1, "write", NotRun(code=HELD_BACK, message=""))
    third = call(2, "write", resources=("b",))
    assert schedule([first, second, third]).hold_back == ((third.id, HELD_BACK),)


def test_agents_start_together_and_keep_their_place_among_writes() -> None:
    assert starts(call(0, "agent"), call(1, "agent"), call(2, "write")) == ["1.0", "1.1"]
    assert starts(call(0, "write", resources=("a",)), call(1, "agent")) == ["1.0"]
    assert starts(call(0, "read"), call(1, "agent")) == ["1.0"]
    assert starts(call(0, "agent"), call(1, "read")) == ["1.0"]
    assert starts(call(0, "agent", "awaiting"), call(1, "read"), call(2, "agent"), call(3, "write")) == ["1.1"]
    assert starts(call(0, "agent", "awaiting"), ended(1, "read", Succeeded()), call(2, "agent"), call(3, "write")) == ["1.2"]


@pytest.mark.parametrize("outcome", [Failed(code="x", message=""), Unknown(code="x", message="")])
def test_an_agent_that_came_to_harm_holds_back_later_writes_and_no_other_agent(outcome: Outcome) -> None:
    moves = schedule([ended(0, "agent", outcome), call(1, "agent"), call(2, "write")])
    assert moves == Moves(start=(CallId("1.1"),), hold_back=((CallId("1.2"), HELD_BACK),))
