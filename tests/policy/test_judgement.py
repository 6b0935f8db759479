from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remit.policy import Allow, Ask, Deny, Request, digest_of, judge, stricter
from remit.types.label import TRUSTED
from remit.types.principal import Principal

REQUEST = Request(
    tool="refund", effect="write", arguments={"cents": 1}, principal=Principal("alice"), label=TRUSTED, run="run_1"
)
verdicts = st.sampled_from([Allow("a"), Deny("d"), Ask(reason="q"), Ask(scope="other", two_person=True)])
ORDER = {Allow: 0, Ask: 1, Deny: 2}


def says(verdict):
    return lambda request: verdict


def raises(request):
    raise KeyError("secret")


async def later(request):
    return Allow()


@given(st.lists(verdicts | st.none(), max_size=5), verdicts)
def test_the_strictest_verdict_wins_and_the_default_only_where_nobody_has_one(said, default):
    got = judge([says(one) for one in said], REQUEST, default=default)
    opinions = [one for one in said if one is not None]
    assert type(got) is max((type(one) for one in opinions or [default]), key=ORDER.__getitem__)


@given(st.lists(verdicts, min_size=1, max_size=5))
def test_the_order_of_policies_does_not_change_how_strict_the_verdict_is(said):
    assert type(judge([says(one) for one in said], REQUEST)) is type(judge([says(one) for one in reversed(said)], REQUEST))


def test_without_a_rule_and_a_default_it_is_denied():
    assert judge([], REQUEST) == Deny("policy.none")
    assert judge([says(None)], REQUEST) == Deny("policy.none")


@pytest.mark.parametrize(
    "policy",
    [raises, later, says(True), says("allow"), says("alow"), says(1), says(Allow), says([Allow()]), says({"allow": True})],
)
def test_an_error_or_anything_that_is_no_verdict_denies(policy):
    assert judge([says(Allow()), policy, says(Allow())], REQUEST, default=Allow()) == Deny("policy.error")


def test_a_policy_reads_the_request():
    def small(request):
        return Allow() if request.arguments["cents"] < 5 else Ask(scope="billing:approve")

    assert judge([small], REQUEST) == Allow()


def test_two_asks_become_one_that_satisfies_both():
    both = stricter(Ask(scope="a", expires_s=10, reason="x"), Ask(scope="b a", expires_s=5, two_person=True, reason="y"))
    assert both == Ask(scope="a b", expires_s=5, two_person=True, reason="x; y")
    assert judge([says(Ask(scope="a")), says(Ask(scope="a"))], REQUEST) == Ask(scope="a")


def test_the_version_changes_when_a_policy_does():
    def one(request):
        return Allow()

    def two(request):
        return Deny("no")

    assert digest_of([one]) == digest_of([one])
    assert len({digest_of(some) for some in ([], [one], [two], [one, two], [two, one])}) == 5
