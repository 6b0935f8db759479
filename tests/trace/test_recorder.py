"""One record for each event: a line for people, a description for machines, and no words."""

from __future__ import annotations

import logging

import pytest

from remit.errors import Conflict
from remit.trace import MASK, Recorder, Redactor, explain
from remit.types.event import CallEnded, CancelRequested, Recorded, RequestFailed
from remit.types.ident import CallId, RunId
from remit.types.label import TRUSTED
from remit.types.outcome import Failed


def _place(event: CallEnded | CancelRequested | RequestFailed) -> Recorded:
    return Recorded(RunId("run_1"), 3, 1_000, event)


def _failed() -> CallEnded:
    outcome = Failed(code="tool.error", message="postgres://bob:pw@db said no")
    return CallEnded(call=CallId("1.0"), tool="refund", outcome=outcome, label=TRUSTED, changed=False)


def test_an_event_is_one_line_with_ids_and_codes_and_a_description_beside_it(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, logger="remit"):
        Recorder().log_event(_place(_failed()))
    (record,) = caplog.records
    assert record.getMessage() == "call.ended run=run_1 call=1.0 tool=refund outcome=failed outcome_code=tool.error"
    assert record.__dict__["remit"]["sequence"] == 3
    assert "said no" not in str(record.__dict__)


def test_with_content_the_words_are_there_and_redacted(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, logger="remit"):
        Recorder(content=True).log_event(_place(_failed()))
    (record,) = caplog.records
    assert record.__dict__["remit"]["outcome"]["message"] == f"postgres://{MASK} said no"


def test_what_a_person_should_look_at_is_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    failed = RequestFailed(turn=1, attempt=1, code="model.unavailable", message="no", retryable=True)
    with caplog.at_level(logging.INFO, logger="remit"):
        Recorder().log_event(_place(failed))
        Recorder().log_event(_place(CancelRequested(by="bob")))
    assert [record.levelname for record in caplog.records] == ["WARNING", "INFO"]


def test_a_logger_that_does_not_listen_costs_nothing_and_gets_nothing(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.ERROR, logger="remit"):
        Recorder().log_event(_place(_failed()))
    assert caplog.records == []


def test_an_error_is_logged_with_its_code_and_without_a_traceback(caplog: pytest.LogCaptureFixture) -> None:
    Recorder().log_error(Conflict("the row has moved"), run="run_1")
    (record,) = caplog.records
    assert record.getMessage() == "the row has moved [conflict] run=run_1"
    assert record.exc_info is None
    assert record.__dict__["remit"] == {"kind": "error", "run": "run_1", "code": "conflict"}


def test_our_own_error_is_explained_by_its_message_and_code_redacted() -> None:
    assert explain(Conflict("the row has moved", code="operation.moved")) == "the row has moved [operation.moved]"
    assert explain(Conflict("found hunter2 there"), redactor=Redactor(["hunter2"])) == f"found {MASK} there [conflict]"


def test_a_foreign_error_is_explained_by_class_and_place_alone() -> None:
    try:
        int("hunter2")
    except ValueError as error:
        text = explain(error)
    assert text.startswith("something unexpected happened: ValueError at ")
    assert "hunter2" not in text
    assert "\n" not in text
