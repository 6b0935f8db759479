from __future__ import annotations

import pytest

from remit.errors import DefinitionError
from remit.tool import Arguments, always, never, when

SMALL, LARGE = Arguments('{"cents":1}'), Arguments('{"cents":9900}')


def test_a_person_is_asked_when_the_predicate_says_so():
    rule = when(lambda a: a.cents > 5_000, scope="billing:approve", expires_s=60, two_person=True, reason="large")
    assert rule.wants(LARGE)
    assert not rule.wants(SMALL)
    assert (rule.scope, rule.expires_s, rule.two_person, rule.reason) == ("billing:approve", 60.0, True, "large")


def test_always_asks_and_never_does_not():
    assert always().wants(SMALL)
    assert not never.wants(LARGE)


def test_a_predicate_may_look_at_the_request():
    assert when(lambda a, request: request == "risky").wants(SMALL, "risky")
    assert not when(lambda a, request: request == "risky").wants(SMALL, "safe")
    assert not when(lambda a, limit=5_000: a.cents > limit).wants(SMALL, "anything")


async def later(a):
    return False


@pytest.mark.parametrize("predicate", [lambda a: a.nothing, lambda a: None, lambda a: 0, lambda a: "", lambda a: later(a)])
def test_a_predicate_that_fails_or_does_not_say_yes_or_no_asks(predicate):
    assert when(predicate).wants(SMALL)


def test_an_async_predicate_is_refused():
    with pytest.raises(DefinitionError):
        when(later)
