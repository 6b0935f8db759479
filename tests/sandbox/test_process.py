"""What a handler can do, and cannot, in a process with limits, and in namespaces of its own."""

from __future__ import annotations

import os
import socket
import sys
from pathlib import Path

import pytest

import remit
from remit.sandbox import Bubblewrap, Subprocess
from remit.types.outcome import Failed, FieldError, Succeeded
from sandbox import handlers
from sandbox.box import EACH, called, needs_bubblewrap, reads

Box = type[Subprocess]


@pytest.mark.parametrize("box", EACH)
def test_a_handler_gets_its_arguments_and_gives_its_result(box: Box) -> None:
    assert called(reads(handlers.add, box()), left=1, right=2).outcome == Succeeded(value=3)


@pytest.mark.parametrize("box", EACH)
def test_the_context_holds_who_asks_and_for_what_and_evidence_is_kept(box: Box) -> None:
    seen = called(reads(handlers.who, box()))
    assert isinstance(seen.outcome, Succeeded)
    assert seen.outcome.value == {
        "subject": "alice",
        "tenant": "acme",
        "scopes": ["use"],
        "operation": None,
        "call": "1.0",
        "attempt": 1,
        "has time": True,
    }
    assert seen.detail == "receipt 17"


@pytest.mark.parametrize("box", EACH)
def test_nothing_of_the_parent_is_there_but_what_was_declared(
    box: Box, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("DATABASE_PASSWORD", "hunter22")
    with (tmp_path / "ledger").open("w") as held:
        os.set_inheritable(held.fileno(), True)
        seen = called(reads(handlers.surroundings, box(environment={"REGION": "eu"})))
    assert isinstance(seen.outcome, Succeeded)
    found = seen.outcome.value
    assert isinstance(found, dict)
    assert found["environment"] == {"REGION": "eu"}
    assert found["descriptors"] == ["/dev/null", "pipe", "pipe", "pipe"]
    shown = (sys.prefix, sys.base_prefix, handlers.__file__, remit.__file__)  # an interpreter may itself lie in such a folder
    assert {*found["folder"]} <= {Path(one).parts[2] for one in shown if one.startswith("/tmp/")}  # type: ignore[misc]
    assert found["group is its own"] is True


@pytest.mark.parametrize("box", EACH)
def test_what_is_no_plain_data_is_not_in_the_context_and_the_error_says_what_to_do(box: Box) -> None:
    seen = called(reads(handlers.use_deps, box()))
    assert isinstance(seen.outcome, Failed)
    assert "in a sandbox there is no ctx.deps" in seen.detail
    http = called(reads(handlers.use_http, box()))
    assert isinstance(http.outcome, Failed)
    assert "in a sandbox there is no `ctx.http`" in http.detail


LIMITS = [
    ("spend_cpu", "sandbox.cpu", "(CpuReached)"),
    ("spend_memory", "sandbox.memory", "(MemoryReached)"),
    ("fill_a_file", "File too large", "(OSError)"),
    ("open_many", "Too many open files", "(OSError)"),
]


@pytest.mark.parametrize("box", EACH)
@pytest.mark.parametrize(("name", "detail", "told"), LIMITS)
def test_a_limit_ends_a_read_as_failed_and_the_operator_reads_which(box: Box, name: str, detail: str, told: str) -> None:
    seen = called(reads(getattr(handlers, name), box(cpu_s=1)))
    assert seen.outcome == Failed(code="tool.failed", message=f"The tool failed. {told}", retry="same_key")
    assert detail in seen.detail


@pytest.mark.parametrize("box", EACH)
@pytest.mark.parametrize(
    ("how", "detail", "told"),
    [
        ("exit", "sandbox.exited: with status 3", "(ProcessEnded)"),
        ("kill", "sandbox.killed: by SIGKILL", "(ProcessKilled)"),
        ("crash", "sandbox.killed: by SIGSEGV", "(ProcessKilled)"),
        ("sys", "builtins.SystemExit: 5", "(SystemExit)"),
    ],
)
def test_however_a_process_ends_it_is_a_failure_with_a_code_of_its_own(box: Box, how: str, detail: str, told: str) -> None:
    seen = called(reads(handlers.die, box()), how=how)
    assert seen.outcome == Failed(code="tool.failed", message=f"The tool failed. {told}", retry="same_key")
    assert detail in seen.detail


@pytest.mark.parametrize("box", EACH)
def test_no_process_can_be_started_so_that_none_is_left_behind(box: Box, tmp_path: Path) -> None:
    left = tmp_path / "left"
    seen = called(reads(handlers.fork_and_act, box()), path=str(left))
    assert isinstance(seen.outcome, Failed)
    assert "PermissionError" in seen.detail
    assert not left.exists()
    assert "PermissionError" in called(reads(handlers.run_a_program, box())).detail


@pytest.mark.parametrize("box", EACH)
def test_programs_may_be_started_where_that_is_said(box: Box) -> None:
    assert called(reads(handlers.run_a_program, box(processes=True))).outcome == Succeeded(value="hello\n")


@pytest.mark.parametrize("box", EACH)
def test_threads_may_be_started_and_one_that_never_ends_keeps_nobody(box: Box) -> None:
    assert called(reads(handlers.start_a_thread, box())).outcome == Succeeded(value="from a thread")
    assert called(reads(handlers.leave_a_thread, box())).outcome == Succeeded(value="answered")


@pytest.mark.parametrize("box", EACH)
def test_what_a_handler_says_of_its_end_crosses_the_border(box: Box) -> None:
    said = called(reads(handlers.no_effect, box())).outcome
    fields = (FieldError("/amount_cents", "at most 5000"),)
    assert said == Failed(code="no_effect", message="at most 5000", retry="corrected", fields=fields)
    doubt = called(reads(handlers.in_doubt, box()))
    assert "InDoubt: sent, and no answer" in doubt.detail


def test_of_an_exception_the_model_reads_python_s_own_names_only_and_the_operator_all_of_it() -> None:
    seen = called(reads(handlers.raise_own, Subprocess()))
    assert isinstance(seen.outcome, Failed)
    assert seen.outcome.message == "The tool failed. (HandlerRaised)"
    assert "handlers.Own: and give the money back" in seen.detail


def test_a_declared_secret_in_an_error_from_inside_is_redacted(tmp_path: Path) -> None:
    seen = called(reads(handlers.act_and_fail, Subprocess()), secrets=("hunter22",), path=str(tmp_path / "x"))
    assert isinstance(seen.outcome, Failed)
    assert seen.outcome.message == "The tool failed. (ConnectionError)"
    assert "the answer of db.internal was lost" in seen.detail
    assert "hunter22" not in seen.detail


def test_what_is_printed_is_no_answer_and_floods_nobody() -> None:
    assert called(reads(handlers.print_much, Subprocess())).outcome == Succeeded(value="returned")


def test_an_answer_that_is_too_long_is_lost_and_the_call_has_succeeded() -> None:
    seen = called(reads(handlers.answer_much, Subprocess(answer_mb=1)))
    assert seen.outcome == Succeeded(available=False)


def test_files_come_out_beside_the_value_and_odd_values_as_they_would_without_a_sandbox() -> None:
    files = called(reads(handlers.files, Subprocess())).outcome
    assert isinstance(files, Succeeded)
    assert [(one.media_type, one.name) for one in files.attachments] == [("image/png", "image"), ("application/pdf", "a.pdf")]
    assert isinstance(files.value, dict)
    assert isinstance(files.value["picture"], dict)
    assert files.value["picture"]["attachment"] == files.attachments[0].digest
    odd = called(reads(handlers.odd, Subprocess())).outcome
    assert isinstance(odd, Succeeded)
    assert odd.value == {
        "set": [1, 2],
        "nan": "nan",
        "large": str(2**70),
        "half": "\\ud800",
        "no form": {"type": "object", "unavailable": "this value has no JSON form"},
    }


@pytest.mark.parametrize(
    "line",
    [
        "garbage\n",
        "[1]\n",
        '{"kind": NaN}\n',
        "[" * 100_000 + "\n",
        '{"kind": "value", "value": 1}\n',
        '{"kind": "no_effect", "text": 7, "fields": [[1], "x"], "retry": "always"}\n',
        '{"kind": "raised", "type": "builtins.print", "text": "x"}\n',
    ],
)
def test_a_handler_that_speaks_for_itself_gets_nothing_but_a_failure(line: str) -> None:
    outcome = called(reads(handlers.say, Subprocess()), line=line).outcome
    assert isinstance(outcome, Failed)
    assert outcome.message in {"", "The tool could not do it.", *(f"The tool failed. ({one})" for one in NAMES)}
    assert outcome.retry in ("no", "same_key")


def test_what_no_handler_says_is_passed_over() -> None:
    odd = [
        '{"kind": []}',
        '{"kind": "progress", "fraction": 1' + "0" * 400 + "}",
        '{"kind": "returned"}',
        '{"kind": "value", "value": 1}',
    ]
    assert called(reads(handlers.say, Subprocess()), line="\n".join([*odd, ""])).outcome == Succeeded(value=1)


NAMES = ("AnswerUnreadable", "HandlerRaised")


def test_the_folder_of_an_attempt_is_gone_with_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    assert called(reads(handlers.write_to, Subprocess()), path="here").outcome == Succeeded(value="written")
    assert list(tmp_path.iterdir()) == []


@needs_bubblewrap
def test_a_namespace_holds_named_folders_only_and_no_other_process(tmp_path: Path) -> None:
    ledger = tmp_path / "remit.db"
    ledger.write_text("the ledger")
    hidden = called(reads(handlers.look_around, Bubblewrap()), path=str(ledger)).outcome
    assert isinstance(hidden, Succeeded)
    assert isinstance(hidden.value, dict)
    assert hidden.value["file"] == "FileNotFoundError"
    assert hidden.value["processes"] == [1, 2]
    assert hidden.value["interfaces"] == ["lo"]
    shown = called(reads(handlers.look_around, Bubblewrap(read=[tmp_path])), path=str(ledger)).outcome
    assert isinstance(shown, Succeeded)
    assert isinstance(shown.value, dict)
    assert shown.value["file"] == "the ledger"


@needs_bubblewrap
def test_only_folders_that_are_named_for_it_can_be_written(tmp_path: Path) -> None:
    path = str(tmp_path / "x")
    refused = called(reads(handlers.write_to, Bubblewrap(read=[tmp_path])), path=path)
    assert "Read-only file system" in refused.detail
    assert "Read-only file system" in called(reads(handlers.write_to, Bubblewrap()), path="/etc/x").detail
    assert called(reads(handlers.write_to, Bubblewrap(write=[tmp_path])), path=path).outcome == Succeeded(value="written")
    assert Path(path).read_text() == "written"


@needs_bubblewrap
def test_nothing_outside_can_be_connected_to() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        inside = called(reads(handlers.connect, Bubblewrap()), port=port)
        outside = called(reads(handlers.connect, Subprocess()), port=port)
    assert "ConnectionRefusedError" in inside.detail
    assert outside.outcome == Succeeded(value="connected")


@needs_bubblewrap
def test_what_runs_in_a_namespace_ends_with_it_daemons_too(tmp_path: Path) -> None:
    seen = called(reads(handlers.leave_a_daemon, Bubblewrap(processes=True, write=[tmp_path])), path=str(tmp_path / "beat"))
    assert seen.outcome == Succeeded(value="left")
    [fifo] = tmp_path.iterdir()
    reader = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
    try:  # it is at its end where nobody holds the other one, and blocks else
        assert os.read(reader, 1) == b""
    finally:
        os.close(reader)
