"""Whatever is typed, what comes out is an exit code and a line: never a traceback, never a ledger by accident."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cli.conftest import Desk
from remit.cli import EXIT_CODES

COMMANDS = [
    "demo", "run", "runs", "show", "resume", "cancel", "approvals", "approve", "deny", "answer", "operations", "settle",
    "withdraw", "recover", "audit", "audit verify", "audit head", "forget", "compact",
]  # fmt: skip
READING = [
    ["runs"],
    ["show", "run_1"],
    ["resume", "run_1", "--agent", "shop:talker"],
    ["cancel", "run_1", "--by", "bob"],
    ["approvals"],
    ["approve", "apr_1", "--by", "bob", "--reason", "ok"],
    ["deny", "apr_1", "--by", "bob", "--reason", "no"],
    ["answer", "apr_1", "blue", "--by", "bob"],
    ["operations", "--unknown"],
    ["settle", "op_1", "--happened", "--by", "bob", "--reason", "seen"],
    ["withdraw", "op_1", "--by", "bob"],
    ["recover", "--agent", "shop:talker"],
    ["audit", "verify"],
    ["audit", "head"],
    ["forget", "run_1", "--by", "bob", "--reason", "asked"],
    ["compact"],
]
TYPED = """
--json --by --reason --agent --ledger --scope --happened --did-not-happen --arguments --result --run --limit --status
bob run_ {} [1 {"a":1} shop:talker shop:nothing nowhere:x x: :x shop --help -q -h -- 0 -1 99999999999
runs show resume cancel approvals approve deny answer operations settle withdraw recover audit verify run
"""
WORDS = st.sampled_from([*TYPED.split(), "", "no\x00thing", "\udcff"])


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_with_an_example(desk: Desk, command: str) -> None:
    said = desk(*command.split(), "--help")
    assert said.code == 0
    assert "Usage: remit" in said.out
    assert command == "audit" or f"remit {command}" in said.out.split("Examples:")[1]


def test_the_help_lists_every_command_and_exit_code(desk: Desk) -> None:
    said = desk("--help")
    assert said.code == 0
    assert all(f"\n  {command.split()[0]} " in said.out for command in COMMANDS)
    assert all(meaning in said.out for meaning in EXIT_CODES.values())


def test_the_version_is_told(desk: Desk) -> None:
    assert desk("--version").out.startswith("remit ")


@pytest.mark.parametrize(
    "argv",
    [
        [],
        ["frob"],
        ["run"],
        ["runs", "--limit", "x"],
        ["runs", "--status", "odd"],
        ["settle", "op_1", "--by", "b", "--reason", "r"],
    ],
)
def test_a_wrong_command_line_is_said_in_one_line_and_is_exit_code_2(desk: Desk, argv: list[str]) -> None:
    said = desk(*argv)
    assert (said.code, said.out) == (2, "")
    assert "--help" in said.err
    assert not argv or len(said.err.splitlines()) == 1


@pytest.mark.parametrize("argv", READING, ids=lambda argv: argv[0])
def test_what_reads_or_records_makes_no_ledger(desk: Desk, argv: list[str]) -> None:
    said = desk(*argv)
    assert (said.code, said.out) == (10, "")
    assert "there is no ledger at remit.db; name one with --ledger or REMIT_LEDGER" in said.err
    assert not (desk.here / "remit.db").exists()


@pytest.mark.parametrize("argv", READING, ids=lambda argv: argv[0])
def test_with_json_an_error_is_a_document_too(desk: Desk, argv: list[str]) -> None:
    assert desk(*argv, "--json").json["error"]["code"] == "ledger.missing"


@pytest.mark.parametrize("content", [b"this is no ledger, it is a letter" * 100, b"SQLite format 3\x00" + b"\xff" * 5000, b""])
@pytest.mark.parametrize("argv", READING, ids=lambda argv: argv[0])
def test_a_file_that_is_no_ledger_is_said_to_be_none(desk: Desk, argv: list[str], content: bytes) -> None:
    path = desk.here / "letter.db"
    path.write_bytes(content)
    assert desk(*argv, "--ledger", "letter.db").code == 10
    assert path.read_bytes() == content


@pytest.mark.parametrize("argv", READING, ids=lambda argv: argv[0])
def test_what_reads_or_records_makes_no_ledger_in_an_applications_database(desk: Desk, argv: list[str]) -> None:
    path = desk.here / "books.db"
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("CREATE TABLE book (title)")
    before = path.read_bytes()
    said = desk(*argv, "--ledger", "books.db", "--json")
    assert (said.code, said.json["error"]["code"]) == (10, "ledger.none")
    assert path.read_bytes() == before
    assert list(desk.here.glob("books.db*")) == [path]


def test_the_ledger_is_the_named_one_else_that_of_the_environment(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REMIT_LEDGER", "elsewhere.db")
    assert "elsewhere.db" in desk("runs").err
    assert "named.db" in desk("runs", "--ledger", "named.db").err


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(WORDS | st.text(max_size=6), max_size=7))
def test_garbage_on_the_command_line_never_gives_a_traceback(desk: Desk, argv: list[str]) -> None:
    if argv[:1] == ["demo"]:
        return
    said = desk(*argv)
    assert said.code in EXIT_CODES
    assert said.code != 1, said.err


def _spawn(here: Path, argv: list[str]) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", "import sys; from remit.cli import main; sys.exit(main())", *argv]
    return subprocess.Popen(command, cwd=here, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def test_a_reader_that_goes_away_is_no_error(desk: Desk) -> None:
    with _spawn(desk.here, ["--help"]) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == ""
        assert process.wait() == 141


def test_the_command_does_not_load_what_it_does_not_need(desk: Desk) -> None:
    heavy = "rich", "pydantic", "httpx2", "apsw", "re2", "remit.owner", "remit.gate"
    script = f"import sys; from remit.cli import main; main(['--help']); print([n for n in {heavy} if n in sys.modules])"
    done = subprocess.run([sys.executable, "-c", script], cwd=desk.here, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


@pytest.mark.parametrize("argv", [["runs"], ["run", "shop:talker", "x", "--principal", "alice"]], ids=lambda argv: argv[0])
def test_a_directory_in_place_of_a_ledger_is_said_to_be_one(desk: Desk, argv: list[str]) -> None:
    said = desk(*argv, "--ledger", str(desk.here))
    assert (said.code, "is a directory; --ledger and REMIT_LEDGER name the ledger's file" in said.err) == (10, True)


def test_the_demo_says_what_it_writes(desk: Desk) -> None:
    assert "It writes outputs/tool-loop-transcript.json" in " ".join(desk("demo", "--help").out.split())
