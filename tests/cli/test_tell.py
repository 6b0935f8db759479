"""Every event can be told, with its words or without."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cli.events import recorded
from remit.cli.tell import tell
from remit.trace import Redactor, describe
from remit.types.event import CallEnded, Recorded, RequestFailed, Waiting
from remit.types.ident import CallId, RunId
from remit.types.label import TRUSTED
from remit.types.outcome import Succeeded, Unknown

PLAIN = Redactor(rules=())


@given(recorded("somebody's words"), st.booleans())
def test_every_event_can_be_told(event: Recorded, content: bool) -> None:
    assert all(isinstance(line, str) for line in tell(describe(event, content=content, redactor=PLAIN)))


def _told(event: CallEnded | RequestFailed | Waiting) -> list[str]:
    return tell(describe(Recorded(RunId("run_1"), 1, 0, event), content=True))


@pytest.mark.parametrize(
    ("outcome", "line"),
    [
        (Succeeded(value={"a": 1}), '  1.0 refund -> succeeded {"a": 1} (7 ms)'),
        (Succeeded(value=1, repeat=True), "  1.0 refund -> succeeded (it had happened before) 1 (7 ms)"),
        (Succeeded(available=False), "  1.0 refund -> succeeded, its result could not be kept (7 ms)"),
        (Unknown(code="in_progress", message="wait"), "  1.0 refund -> unknown: in_progress: wait (7 ms)"),
    ],
)
def test_an_outcome_is_told_in_one_line(outcome: Succeeded | Unknown, line: str) -> None:
    ended = CallEnded(call=CallId("1.0"), tool="refund", outcome=outcome, label=TRUSTED, changed=None, latency_ms=7)
    assert _told(ended) == [line]


def test_waiting_names_who_is_waited_for() -> None:
    assert _told(Waiting(approvals=())) == ["waiting for a person"]


@pytest.mark.parametrize("retryable", [True, False])
def test_a_failed_request_promises_nothing(retryable: bool) -> None:
    failed = RequestFailed(turn=1, attempt=4, code="model.timeout", message="too late", retryable=retryable)
    assert _told(failed) == ["  attempt 4 failed: model.timeout: too late"]
