from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from remit.budget import Tally
from remit.types.budget import Budget, Usage
from remit.types.event import (
    ApprovalRequested,
    CallConsidered,
    CallEnded,
    ModelRequested,
    Recorded,
    Replied,
    RequestFailed,
    Resumed,
    RunEnded,
    RunStarted,
    Waiting,
)
from remit.types.label import TRUSTED
from remit.types.outcome import Failed, NotRun, Refused, Succeeded, Unknown

NONE = Budget(turns=None, calls=None, consecutive_errors=None, repeats=None, approvals=None)
OK = Succeeded(value=1)
REFUSED = Refused(code="x", message="no")


def requested(turn=1, attempt=1, tokens=100, usd=50):
    return ModelRequested(turn=turn, attempt=attempt, model="m", reserved_tokens=tokens, reserved_usd_micros=usd, label=TRUSTED)


def replied(turn=1, *, input_tokens=10, output_tokens=5, cost=7):
    usage = Usage(input_tokens=input_tokens, output_tokens=output_tokens, cost_usd_micros=cost)
    return Replied(turn=turn, attempt=1, wording="", text="", calls=(), stop="end", raw_stop="end", usage=usage)


def considered(call, tool="search", digest="d1"):
    return CallConsidered(
        call=call, tool=tool, effect="read", contract=None, arguments=None, digest=digest, verdict="ready", step="x", code="x",
        label=TRUSTED,
    )  # fmt: skip


def ended(call, outcome=OK, tool="search"):
    return CallEnded(call=call, tool=tool, outcome=outcome, label=TRUSTED, changed=None)


def asked(call):
    return ApprovalRequested(approval="a", call=call, operation=None, ask="approval", preview="", digest="d", expires_ms=None)


def started():
    return RunStarted(
        agent="a", agent_digest="d", model="m", protocol="p", head="", tools=(), tenant="t", subject="s", scopes=(), root="r",
        label=TRUSTED, budget="{}",
    )  # fmt: skip


def tally(*events, at=None):
    found = Tally()
    for number, event in enumerate(events):
        found = found.count(Recorded("run", number + 1, at[number] if at else number, event))
    return found


def test_a_reservation_is_settled_to_what_was_used():
    assert tally(requested()).tokens == 100
    assert tally(requested()).usd_micros == 50
    done = tally(requested(), replied())
    assert (done.turns, done.tokens, done.usd_micros) == (1, 15, 7)
    assert done.usage == Usage(input_tokens=10, output_tokens=5, cost_usd_micros=7)


def test_a_reservation_without_a_reply_stays_spent():
    failed = RequestFailed(turn=1, attempt=1, code="model.unavailable", message="", retryable=True)
    got = tally(requested(), failed, requested(attempt=2), replied())
    assert (got.turns, got.tokens, got.usd_micros) == (1, 115, 57)


def test_a_request_that_the_provider_did_not_take_up_gives_its_reservation_back():
    limited = RequestFailed(turn=1, attempt=1, code="model.rate_limited", message="", retryable=True, started=False)
    got = tally(requested(), limited)
    assert (got.turns, got.tokens, got.usd_micros) == (1, 0, 0)
    got = tally(requested(), limited, requested(attempt=2), replied())
    assert (got.tokens, got.usd_micros) == (15, 7)


def test_a_request_that_was_not_even_sent_gives_its_turn_back_too():
    unsent = RequestFailed(turn=1, attempt=1, code="model.not_sent", message="", retryable=False, started=False)
    got = tally(requested(), unsent)
    assert (got.turns, got.tokens, got.usd_micros) == (0, 0, 0)
    again = RequestFailed(turn=1, attempt=2, code="model.not_sent", message="", retryable=False, started=False)
    got = tally(requested(), requested(attempt=2), again)
    assert (got.turns, got.tokens, got.usd_micros) == (1, 100, 50)


def test_where_no_usage_is_reported_what_was_reserved_stays_spent():
    silent = replace(replied(cost=None), usage=Usage(reported=False))
    got = tally(requested(), silent, requested(turn=2), replied(turn=2))
    assert (got.turns, got.tokens, got.usd_micros) == (2, 115, 57)
    assert not got.usage.reported


def test_a_reply_of_unknown_cost_keeps_its_reservation():
    got = tally(requested(), replied(cost=None))
    assert got.usd_micros == 50
    assert got.usage.cost_usd_micros is None


def test_a_call_is_counted_once_however_often_it_is_considered():
    got = tally(considered("1.0"), considered("1.0"), considered("1.1", tool="fetch"))
    assert got.calls == 2
    assert got.calls_per_tool == {"search": 1, "fetch": 1}


def test_calls_beyond_the_limit_are_refused_in_order():
    budget = Budget(calls=6, repeats=None)
    found, admitted = Tally(), []
    for position in range(8):
        admitted.append(found.admit(budget, "search", f"d{position}"))
        found = found.count(Recorded("run", position + 1, 0, considered(f"1.{position}", digest=f"d{position}")))
    assert admitted == [None] * 6 + ["budget.calls"] * 2


def test_calls_of_one_tool_are_limited_for_all_tools_or_by_name():
    got = tally(considered("1.0"))
    assert got.admit(Budget(calls_per_tool=1), "search", "d2") == "budget.calls_per_tool"
    assert got.admit(Budget(calls_per_tool=1), "fetch", "d2") is None
    assert got.admit(Budget(calls_per_tool={"search": 1}), "search", "d2") == "budget.calls_per_tool"
    assert got.admit(Budget(calls_per_tool={"fetch": 0}), "search", "d2") is None


def test_errors_in_a_row_are_limited_and_a_success_ends_the_row():
    bad = [event for n in range(2) for event in (considered(f"1.{n}", digest=f"d{n}"), ended(f"1.{n}", REFUSED))]
    failed = ended("2.0", Failed(code="x", message=""))
    budget = Budget(consecutive_errors=3)
    assert tally(*bad).admit(budget, "search", "dx") is None
    assert tally(*bad, failed).admit(budget, "search", "dx") == "budget.errors"
    assert tally(*bad, failed, ended("2.1")).consecutive_errors == 0
    neither = [ended("3.0", Unknown(code="x", message="")), ended("3.1", NotRun(code="x", message=""))]
    assert tally(*bad, *neither).consecutive_errors == 2


def test_the_same_call_is_repeated_only_so_often():
    budget = Budget(repeats=2)
    got = tally(considered("1.0"), ended("1.0"), considered("2.0"), ended("2.0"))
    assert got.admit(budget, "search", "d1") == "budget.repeats"
    assert got.admit(budget, "search", "d2") is None
    assert got.admit(budget, "fetch", "d1") is None
    assert got.admit(budget, "search", None) is None


def test_a_polling_call_is_repeated_only_while_its_result_stays_equal():
    budget = Budget(repeats=2)
    results = [Succeeded(value="waiting"), Succeeded(value="waiting"), Succeeded(value="done")]
    events = [event for n, one in enumerate(results) for event in (considered(f"{n}.0"), ended(f"{n}.0", one))]
    assert tally(*events[:4]).admit(budget, "search", "d1", polls=True) == "budget.repeats"
    assert tally(*events).admit(budget, "search", "d1", polls=True) is None
    assert tally(*events).admit(budget, "search", "d1") == "budget.repeats"


def test_questions_to_people_are_limited():
    got = tally(asked("1.0"), asked("1.1"))
    assert got.may_ask(Budget(approvals=2)) == "budget.approvals"
    assert got.may_ask(Budget(approvals=3)) is None
    assert got.may_ask(NONE) is None


def test_active_time_leaves_out_waiting_for_people_and_time_without_an_owner():
    resumed = Resumed(owner="o", scopes=(), scopes_from="recorded")
    waiting = Waiting(approvals=())
    got = tally(started(), waiting, resumed, at=[1_000, 3_000, 90_000])
    assert got.active_ms(91_000) == 3_000
    crashed = tally(started(), considered("1.0"), resumed, at=[1_000, 2_000, 60_000])
    assert crashed.active_ms(60_500) == 1_500
    over = tally(started(), RunEnded(how="finished", reason=""), at=[1_000, 4_000])
    assert over.active_ms(99_000) == 3_000


def ask(found, budget, *, now_ms=10, tokens=100, usd=50):
    return found.may_request(budget, now_ms=now_ms, reserve_tokens=tokens, reserve_usd_micros=usd)


def test_each_limit_stops_the_next_request_by_name():
    got = tally(started(), requested(), replied())
    assert ask(got, NONE) is None
    assert ask(got, Budget(turns=1)) == "budget.turns"
    assert ask(got, Budget(turns=2)) is None
    assert ask(got, Budget(tokens=114)) == "budget.tokens"
    assert ask(got, Budget(tokens=115)) is None
    assert ask(got, Budget(usd="0.000056")) == "budget.usd"
    assert ask(got, Budget(usd="0.000057")) is None
    assert ask(got, Budget(seconds=1), now_ms=1_000) == "budget.seconds"
    assert ask(got, Budget(seconds=1), now_ms=999) is None
    moment = datetime(2026, 1, 1, tzinfo=UTC)
    at_ms = int(moment.timestamp() * 1000)
    assert ask(got, Budget(deadline=moment), now_ms=at_ms) == "budget.deadline"
    assert ask(got, Budget(deadline=moment), now_ms=at_ms - 1) is None


def test_an_unknown_price_is_refused_where_usd_is_bounded():
    assert ask(Tally(), Budget(usd="100"), usd=None) == "budget.usd"
    assert ask(Tally(), NONE, usd=None) is None


events = st.lists(
    st.one_of(
        st.builds(requested, st.integers(1, 4), st.integers(1, 3), st.integers(0, 99), st.integers(0, 99)),
        st.builds(replied, st.integers(1, 4)),
        st.builds(
            considered, st.sampled_from(["1.0", "1.1", "2.0"]), st.sampled_from(["a", "b"]), st.sampled_from(["d", None])
        ),
        st.builds(ended, st.sampled_from(["1.0", "1.1", "2.0"]), st.sampled_from([OK, REFUSED])),
        st.builds(asked, st.just("1.0")),
        st.builds(started),
        st.just(Waiting(approvals=())),
    ),
    max_size=30,
)


@given(events)
def test_counting_is_total_pure_and_never_negative(some):
    before, found = Tally(), Tally()
    for number, event in enumerate(some):
        found = found.count(Recorded("run", number + 1, number, event))
        assert min(found.turns, found.calls, found.approvals, found.consecutive_errors, found.active_ms(number)) >= 0
    assert found == tally(*some)
    assert before == Tally()


@given(events, st.integers(0, 6))
def test_no_more_calls_are_admitted_than_the_budget_has(some, limit):
    budget, found, admitted = Budget(calls=limit, repeats=None, consecutive_errors=None), Tally(), 0
    for number in range(12):
        if found.admit(budget, "a", None) is None:
            admitted += 1
        found = found.count(Recorded("run", number + 1, 0, considered(f"x.{number}")))
    assert admitted == min(limit, 12)
