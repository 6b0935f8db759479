"""Wherever the service breaks off, what the ledger says is no more than its books bear out."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from remit.types.outcome import Failed, Succeeded, Unknown
from service.payments import PLACES, Desk, Way, told
from service.tools import RECOVERIES, refund

PATH = "/refunds/a"
KINDS = [("manual", False), ("manual", True), ("idempotent", False), ("reconcile", False), ("reconcile, blocking", True)]


async def is_no_lie(desk: Desk) -> None:
    """A yes is in the books once, a no is not in them; and nothing was done twice."""
    operation, did = await desk.operation(), desk.service.did(PATH)
    expected = {"succeeded": {1}, "failed": {0}, "unknown": {0, 1}}[operation.state]
    assert did in expected, (operation.state, did, operation.evidence)
    assert all(by == operation.id for by in desk.service.books.values())
    if desk.service.asked:
        assert {headers["idempotency-key"] for method, _, headers, _ in desk.service.asked if method == "POST"} <= {
            operation.id
        }


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize(("kind", "blocking"), KINDS)
@pytest.mark.parametrize("atomic", [False, True])
def test_wherever_the_service_breaks_off_the_operation_is_no_lie(place: str, kind: str, blocking: bool, atomic: bool) -> None:
    async def story(desk: Desk) -> None:
        outcome = await desk.call("refund")
        await is_no_lie(desk)
        assert [move.state for move in await desk.moves()][1] == "unknown"
        match kind:
            case "manual":
                assert isinstance(outcome, Unknown)
            case "idempotent":
                assert isinstance(outcome, Succeeded)
                assert outcome.value == {"by": (await desk.operation()).id}
            case _:
                assert isinstance(outcome, Succeeded), "asked, and if it had not happened, sent once more"

    tool = refund(RECOVERIES[kind], atomic=atomic, blocking=blocking, content=b"x" * 300_000, json=None)
    told(story, tool, ways=[Way(breaks=place)], dedupes=kind == "idempotent")


STATUSES = [200, 201, 202, 301, 303, 307, 400, 404, 408, 409, 412, 422, 429, 499, 500, 502, 503, 504]
DECLINING = {307, 400, 404, 422, 429}
HONEST = st.sampled_from(STATUSES).flatmap(
    lambda status: st.builds(
        Way, status=st.just(status), does=st.just(status < 300) if status < 300 or status in DECLINING else st.booleans()
    )
)
"""Answers of a service that says no untruth: it may have done what it says nothing sure about."""


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    ways=st.lists(st.one_of(HONEST, st.sampled_from(PLACES).map(lambda place: Way(breaks=place))), min_size=1, max_size=3),
    kind=st.sampled_from(KINDS),
    atomic=st.booleans(),
)
def test_whatever_a_service_answers_or_breaks_off_the_operation_is_no_lie(
    ways: list[Way], kind: tuple[str, bool], atomic: bool
) -> None:
    async def story(desk: Desk) -> None:
        outcome = await desk.call("refund")
        await is_no_lie(desk)
        operation = await desk.operation()
        assert isinstance(outcome, {"succeeded": Succeeded, "failed": Failed, "unknown": Unknown}[operation.state])
        again = await desk.call("refund", call="2")
        if operation.state == "succeeded":
            assert isinstance(again, Succeeded)
            assert again.repeat
            await is_no_lie(desk)

    told(story, refund(RECOVERIES[kind[0]], atomic=atomic, blocking=kind[1]), ways=ways, dedupes=kind[0] == "idempotent")
