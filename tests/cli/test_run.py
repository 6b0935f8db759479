"""Runs from the command line: what they print, where it goes, and how they are gone on with."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys

import pytest

from cli.conftest import Desk


def test_a_run_prints_its_answer_on_standard_output_and_its_progress_on_standard_error(desk: Desk) -> None:
    said = desk("run", "shop:talker", "Hello", "--principal", "alice@acme")
    assert said.code == 0
    assert said.out.splitlines()[0] == "All is well."
    assert said.out.splitlines()[1].startswith("finished, verified  run_")
    assert "user: Hello" in said.err
    assert "turn 1: asking scripted:" in said.err
    assert "finished" in said.err
    assert (desk.here / "remit.db").is_file()


def test_with_json_standard_output_is_one_document_whatever_handlers_print(desk: Desk) -> None:
    said = desk.run("reader")
    assert said.code == 0
    assert said.json["status"] == "finished"
    assert said.json["answer"] == "It is [bold]shipped[/bold].\x1b[2J"
    assert said.json["verified"] is True
    assert "a handler prints this" in said.err


def test_quiet_tells_no_progress(desk: Desk) -> None:
    assert desk.run("talker", "--quiet").err == ""


def test_nothing_that_a_model_or_tool_wrote_reaches_the_terminal_as_a_command(desk: Desk) -> None:
    said = desk("run", "shop:reader", "Where?", "--principal", "alice")
    shown = desk("show", _run(said.out))
    for text in (said.out, said.err, shown.out):
        assert "\x1b" not in text
    assert "It is [bold]shipped[/bold].\\x1b[2J" in said.out
    assert "[link=http://x.test]" in shown.out


def _run(out: str) -> str:
    return next(word for word in out.split() if word.startswith("run_"))


def test_a_secret_in_a_result_is_in_no_output(desk: Desk) -> None:
    said = desk("run", "shop:reader", "Where?", "--principal", "alice")
    run = _run(said.out)
    outputs = [
        said,
        desk("show", run),
        desk("show", run, "--json"),
        desk("show", run, "--no-content"),
        desk("operations", "--json"),
    ]
    assert all("sk-abcdefghijklmnopqrstuv" not in one.out + one.err for one in outputs)
    assert "[redacted]" in desk("show", run).out


@pytest.mark.parametrize(
    ("agent", "code", "status"),
    [("talker", 0, "finished"), ("refunder", 3, "paused"), ("looper", 4, "stopped"), ("mailer", 14, "finished")],
)
def test_the_exit_code_says_how_the_run_stands(desk: Desk, agent: str, code: int, status: str) -> None:
    said = desk.run(agent)
    assert (said.code, said.json["status"]) == (code, status)


def test_without_scopes_the_principal_may_do_what_the_tools_ask_for_and_with_scopes_only_those(desk: Desk) -> None:
    assert desk.run("refunder").json["status"] == "paused"
    assert desk.run("refunder", "--scope", "orders:read").json["status"] == "finished"
    assert desk.books == []


def test_a_request_id_makes_a_second_command_join_the_first_run(desk: Desk) -> None:
    first = desk.run("talker", "--request-id", "r1")
    second = desk.run("talker", "--request-id", "r1")
    assert second.json["run"] == first.json["run"]
    assert desk.run("talker", "--request-id", "r1", request="Something else").code == 9


def test_a_paused_run_shows_what_is_asked_and_how_to_answer(desk: Desk) -> None:
    said = desk("run", "shop:refunder", "Refund ch_1", "--principal", "alice@acme", "--deps", "shop:make_shop")
    assert said.code == 3
    assert "paused" in said.out
    assert '{"amount_cents": 9900, "charge_id": "ch_1"}' in said.out
    assert "needs billing:approve" in said.out
    assert "remit approve apr_" in said.out
    assert desk.books == []


def test_resume_needs_the_runs_own_agent(desk: Desk) -> None:
    run = desk.run("refunder").json["run"]
    assert desk("resume", run, "--agent", "shop:talker").code == 2
    assert desk("resume", run, "--agent", "shop:refunder", "--json").json["status"] == "paused"


def test_a_run_is_found_by_the_beginning_of_its_id_and_near_ids_are_named(desk: Desk) -> None:
    run = desk.run("talker").json["run"]
    assert desk("show", run[:10], "--json").json["run"]["id"] == run
    missing = desk("show", f"{run[:-2]}zz!")
    assert missing.code == 8
    assert run in missing.err
    desk.run("talker")
    assert "is the beginning of several runs" in desk("show", "run_").err


def test_cancel_ends_a_paused_run_without_any_agent(desk: Desk) -> None:
    run = desk.run("refunder").json["run"]
    said = desk("cancel", run, "--by", "bob", "--reason", "the customer called")
    assert (said.code, said.out) == (0, f"{run} is cancelled\n")
    assert desk("show", run, "--json").json["standing"]["status"] == "cancelled"
    assert "had ended already" in desk("cancel", run, "--by", "bob").out
    assert desk("resume", run, "--agent", "shop:refunder", "--json").code == 7
    assert desk("audit", "verify").code == 0


def test_recover_lists_what_a_person_must_settle(desk: Desk) -> None:
    desk.run("mailer")
    said = desk("recover", "--agent", "shop:mailer", "--json")
    assert [one["tool"] for one in said.json["unknown"]] == ["send_mail"]
    assert "nothing is in doubt" in desk("recover", "--agent", "shop:talker", "--ledger", _empty(desk)).out


def _empty(desk: Desk) -> str:
    desk.run("talker", "--ledger", "other.db")
    return "other.db"


@pytest.mark.parametrize(
    ("reference", "said"),
    [
        ("nowhere:agent", "there is no module nowhere here"),
        ("shop", "write MODULE:NAME"),
        ("shop:refundr", "module shop has no 'refundr'; agents there: refunder"),
        ("shop:not_an_agent", "shop:not_an_agent is a int, not an Agent"),
        ("broken:agent", "module broken cannot be imported: ZeroDivisionError at broken.py:3: division by zero"),
        ("typo:agent", "module typo cannot be imported: SyntaxError at typo.py:2"),
        ("leaver:agent", "module leaver cannot be imported: SystemExit at leaver.py:2"),
        ("needy:agent", "module needy cannot be imported: ModuleNotFoundError at needy.py:1: No module named 'not_installed'"),
    ],
)
def test_an_agent_that_cannot_be_loaded_is_said_with_module_and_line(desk: Desk, reference: str, said: str) -> None:
    (desk.here / "broken.py").write_text("def f():\n\n    return 1 / 0\n\n\nf()\n")
    (desk.here / "typo.py").write_text("a = 1\nb = = 2\n")
    (desk.here / "leaver.py").write_text("import sys\nsys.exit(3)\n")
    (desk.here / "needy.py").write_text("import not_installed\n")
    done = desk("run", reference, "x", "--principal", "alice")
    assert (done.code, done.out) == (2, "")
    assert said in done.err
    assert len(done.err.splitlines()) == 1


def test_a_module_that_runs_its_agent_while_it_is_imported_is_told_where_to_put_that(desk: Desk) -> None:
    (desk.here / "eager.py").write_text("import asyncio\n\nasyncio.run(None)\n")
    done = desk("run", "eager:agent", "x", "--principal", "alice")
    assert (done.code, done.out) == (2, "")
    assert 'put what runs it below: if __name__ == "__main__":' in done.err


def test_dependencies_may_be_made_by_a_function_or_an_async_context(desk: Desk) -> None:
    (desk.here / "deps.py").write_text(
        "import contextlib\nfrom shop import make_shop\n"
        "@contextlib.asynccontextmanager\nasync def opened():\n    yield make_shop()\n    print('left')\n"
        "def fails():\n    raise ValueError('password=hunter2')\n"
    )
    small = ("run", "shop:talker", "x", "--principal", "alice", "--json")
    assert "left" in desk(*small, "--deps", "deps:opened").err
    failed = desk(*small, "--deps", "deps:fails")
    assert failed.code == 2
    missing = desk(*small, "--deps", "deps:xyz").err
    assert "module deps has no 'xyz'; there is: opened, fails" in missing
    assert "agents" not in desk(*small, "--deps", "shop:nope").err
    assert "deps:fails failed when it was called: ValueError at deps.py:8: password=[redacted]" in failed.err


@pytest.mark.parametrize("principal", ["", "@", "@acme", "alice@"])
def test_a_principal_without_a_name_is_refused(desk: Desk, principal: str) -> None:
    said = desk("run", "shop:talker", "x", "--principal", principal)
    assert (said.code, said.out) == (2, "")
    assert "write SUBJECT or SUBJECT@TENANT" in said.err


HANGING = """
import asyncio
from pathlib import Path
from remit import TRUSTED, call, manual, never, tool, write

@tool(effect=write(once_per="to", recovery=manual), approve=never, timeout_s=120, label=TRUSTED)
async def hang(to: str) -> str:
    '''Hang until somebody says something, and fail.

    Args:
        to: whom
    '''
    raise ValueError(await asyncio.to_thread(lambda: Path("hold").open().readline()))

from remit import Agent, ScriptedModel
things = "things"
slow = Agent("slow", model=ScriptedModel([call("hang", to="x"), "done"]), tools=[hang])
"""


def _slow(desk: Desk, *more: str) -> subprocess.Popen[str]:
    """A process that has dispatched a write and waits for its handler."""
    (desk.here / "slow.py").write_text(HANGING)
    os.mkfifo(desk.here / "hold")
    # Whoever runs the tests in the background of a shell has Ctrl-C ignored, and processes hand that on.
    listen = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)"
    script = f"{listen}; import sys; from remit.cli import main; sys.exit(main())"
    argv = [sys.executable, "-c", script, "run", "slow:slow", "x", "--principal", "alice", *more]
    return subprocess.Popen(argv, cwd=desk.here, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def _let_go(desk: Desk) -> int:
    """Whoever reads the pipe goes on, now or once it gets there; with both ends open, writing waits for nobody."""
    pipe = os.open(desk.here / "hold", os.O_RDWR)
    os.write(pipe, b"let go\n")
    return pipe


def _until(process: subprocess.Popen[str], word: str) -> str:
    assert process.stderr is not None
    told = ""
    for line in process.stderr:
        told += line
        if word in line:
            break
    return told


def test_a_run_of_a_living_process_is_left_to_it_and_hears_of_a_cancel(desk: Desk) -> None:
    with _slow(desk) as process:
        run = next(word for word in _until(process, "dispatched").split() if word.startswith("run_")).rstrip(":")
        assert desk("resume", run, "--agent", "slow:slow").code == 9
        assert desk("operations", "--unknown", "--json").json["operations"] == []
        cancelled = desk("cancel", run, "--by", "bob")
        assert (cancelled.code, cancelled.out) == (0, f"recorded; whoever owns {run}, or takes it up next, will end it\n")
        assert process.stderr is not None
        assert "cancel asked by bob" in _until(process, "cancel asked")
        pipe = _let_go(desk)
        process.stderr.read()
        assert process.wait() == 7
    os.close(pipe)


def test_ctrl_c_ends_with_130_and_says_how_to_go_on(desk: Desk) -> None:
    with _slow(desk, "--ledger", "my runs.db", "--deps", "slow:things") as process:
        told = _until(process, "dispatched")
        assert process.stderr is not None
        process.send_signal(signal.SIGINT)
        told += _until(process, "Go on with")
        pipe = _let_go(desk)
        told += process.stderr.read()
        assert process.wait() == 130
    os.close(pipe)
    assert re.search(
        "Go on with: remit resume run_[0-9a-z]+ --agent slow:slow --deps slow:things --ledger 'my runs.db'\n", told
    )
    assert "Traceback" not in told
    unknown = desk("operations", "--unknown", "--ledger", "my runs.db", "--json").json["operations"]
    assert [one["state"] for one in unknown] == ["unknown"]


def test_without_a_key_nothing_is_started_and_the_variable_is_named(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    (desk.here / "far.py").write_text('from remit import Agent\nfar = Agent("far", model="anthropic:claude-x")\n')
    said = desk("run", "far:far", "x", "--principal", "alice")
    assert (said.code, said.out) == (13, "")
    assert "set ANTHROPIC_API_KEY [model.key]" in said.err
    assert desk("runs", "--json").json["runs"] == []


def _spoken(desk: Desk, *more: str) -> str:
    """Standard error of a run whose mail is in doubt, in a process without a test's own logging."""
    script = "import sys; from remit.cli import main; sys.exit(main())"
    argv = [sys.executable, "-c", script, "run", "shop:mailer", "x", "--principal", "alice", *more]
    return subprocess.run(argv, cwd=desk.here, capture_output=True, text=True, check=False).stderr


def test_a_doubt_that_stays_is_a_warning_and_quiet_is_quiet(desk: Desk) -> None:
    warnings = [line for line in _spoken(desk).splitlines() if line.startswith("remit: ")]
    assert len(warnings) == 1
    assert warnings[0].startswith("remit: call.ended run=run_")
    assert _spoken(desk, "--quiet", "--ledger", "other.db") == ""
