"""One record for each event: a line for people, a description for machines, and no words."""

from __future__ import annotations

import logging

import pytest

from remit.errors import Conflict
from remit.trace import Recorder, Redactor, explain, log_traceback
from remit.types.event import CallEnded, CancelRequested, OperationMoved, Recorded, RequestFailed
from remit.types.ident import CallId, OperationId, RunId
from remit.types.label import TRUSTED
from remit.types.outcome import Failed, Unknown
from remit.types.secret import MASK


def _place(event: CallEnded | CancelRequested | OperationMoved | RequestFailed) -> Recorded:
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


def test_progress_is_a_line_with_ids_and_with_the_handlers_words_only_where_words_are_asked_for(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with caplog.at_level(logging.INFO, logger="remit"):
        Recorder().log_progress(RunId("run_1"), CallId("1.0"), 0.5, "of hunter2")
        Recorder(redactor=Redactor(["hunter2"]), content=True).log_progress(RunId("run_1"), CallId("1.0"), 0.5, "of hunter2")
    lines = [record.getMessage() for record in caplog.records]
    assert lines == ["progress run=run_1 call=1.0 50%", f"progress run=run_1 call=1.0 50% of {MASK}"]


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


def test_doubt_is_a_warning_once_the_call_is_answered_so(caplog: pytest.LogCaptureFixture) -> None:
    moved = OperationMoved(operation=OperationId("op_1"), call=CallId("1.0"), on="in_doubt", state="unknown", attempt=1)
    unknown = Unknown(code="unknown", message="It is not known.")
    ended = CallEnded(call=CallId("1.0"), tool="refund", outcome=unknown, label=TRUSTED, changed=None)
    with caplog.at_level(logging.INFO, logger="remit"):
        Recorder().log_event(_place(moved))
        Recorder().log_event(_place(ended))
    assert [record.levelname for record in caplog.records] == ["INFO", "WARNING"]


def test_a_traceback_is_for_debugging_alone_and_without_secrets(caplog: pytest.LogCaptureFixture) -> None:
    try:
        raise ValueError("postgres://bob:pw@db and the word sesame")
    except ValueError as caught:
        error = caught
    with caplog.at_level(logging.INFO, logger="remit"):
        log_traceback(error, mask=lambda text: text.replace("sesame", MASK), run="run_1")
    assert caplog.records == []
    with caplog.at_level(logging.DEBUG, logger="remit"):
        log_traceback(error, mask=lambda text: text.replace("sesame", MASK), run="run_1")
    (record,) = caplog.records
    assert "raised run=run_1" in record.getMessage()
    assert "Traceback" in record.getMessage()
    assert "bob:pw" not in record.getMessage()
