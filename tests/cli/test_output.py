"""Where standard output cannot be written, or Ctrl-C comes early: one line, and the exit code that the run's end has."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from cli.conftest import Desk

SCRIPT = "import sys; from remit.cli import main; sys.exit(main())"
RUN = ("run", "shop:talker", "Hello", "--principal", "alice", "--quiet")


def told(desk: Desk, *argv: str, closed: bool = False) -> tuple[int, str]:
    """Exit code and standard error of a command whose standard output is full, or closed."""
    command = [sys.executable, "-c", SCRIPT, *argv]
    if closed:
        command = ["/bin/sh", "-c", 'exec "$@" >&-', "sh", *command]
    with open("/dev/full", "w") as full:
        done = subprocess.run(command, cwd=desk.here, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    return done.returncode, done.stderr


@pytest.mark.parametrize("closed", [False, True])
@pytest.mark.parametrize("more", [(), ("--json",)])
def test_a_run_whose_result_cannot_be_written_says_so_and_ends_as_it_ended(
    desk: Desk, closed: bool, more: tuple[str, ...]
) -> None:
    code, said = told(desk, *RUN, *more, closed=closed)
    why = "it is closed" if closed else "No space left on device"
    assert (code, said) == (0, f"remit: standard output cannot be written: {why}\n")
    assert [one["end"] for one in desk("runs", "--json").json["runs"]] == ["finished"]


def test_a_list_that_cannot_be_written_is_not_done(desk: Desk) -> None:
    desk.run("talker")
    assert told(desk, "runs") == (1, "remit: standard output cannot be written: No space left on device\n")


def test_a_paused_run_whose_result_cannot_be_written_still_waits(desk: Desk) -> None:
    code, said = told(desk, "run", "shop:refunder", "x", "--principal", "alice", "--quiet", "--deps", "shop:make_shop")
    assert (code, said.count("\n")) == (3, 1)


def test_ctrl_c_while_the_command_is_loaded_leaves_no_traceback(desk: Desk) -> None:
    script = f"""
import os, signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)  # in the background of a shell it is ignored
class Interrupt:
    def find_spec(self, name, path=None, target=None):
        if name == "typer":
            os.kill(os.getpid(), signal.SIGINT)
sys.meta_path.insert(0, Interrupt())
{SCRIPT.replace("; ", chr(10))}
"""
    done = subprocess.run([sys.executable, "-c", script, "runs"], cwd=desk.here, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "remit: interrupted\n")
    assert os.listdir(desk.here) == ["shop.py"]


def test_a_module_by_a_path_is_told_how_it_is_named(desk: Desk) -> None:
    for name in ("../x:y", "./shop:talker", "shop/talker:x", ".shop:talker", "shop..x:y"):
        said = desk("run", name, "hi", "--principal", "alice")
        assert said.code == 2
        assert said.err == f"remit: write MODULE:NAME, for example shop:support, in place of '{name}' [agent.load]\n"


def test_a_sequence_number_that_no_ledger_has_is_refused(desk: Desk) -> None:
    run = desk.run("talker").json["run"]
    said = desk("follow", run, "--after", str(2**63))
    assert said.code == 2
    assert "'--after'" in said.err


def test_a_dry_run_does_not_say_that_something_is_done(desk: Desk) -> None:
    said = desk("run", "shop:refunder", "x", "--principal", "alice", "--dry-run", "--deps", "shop:make_shop")
    assert "dry run finished  run_" in said.out
    assert "verified" not in said.out
    document = desk.run("talker", "--dry-run").json
    assert (document["status"], document["verified"], document["dry_run"]) == ("finished", False, True)
