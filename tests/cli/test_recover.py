"""What a killed process left in doubt is listed the first time that somebody asks."""

from __future__ import annotations

import os
import subprocess
import sys

from cli.conftest import Desk

HANGING = """
import asyncio
from pathlib import Path
from remit import Agent, ScriptedModel, call, manual, never, tool, write

@tool(effect=write(once_per="to", recovery=manual), approve=never, timeout_s=120)
async def hang(to: str) -> str:
    '''Hang until somebody says something.

    Args:
        to: whom
    '''
    return await asyncio.to_thread(Path("hold").read_text)

slow = Agent("slow", model=ScriptedModel([call("hang", to="x"), "done"]), tools=[hang])
"""


def _killed(desk: Desk) -> None:
    """A run whose process was killed while its handler ran."""
    (desk.here / "slow.py").write_text(HANGING)
    os.mkfifo(desk.here / "hold")
    script = "import sys; from remit.cli import main; sys.exit(main())"
    argv = [sys.executable, "-c", script, "run", "slow:slow", "x", "--principal", "alice"]
    with subprocess.Popen(argv, cwd=desk.here, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        assert any("dispatched" in line for line in process.stderr)
        process.kill()
    (desk.here / "hold").unlink()
    (desk.here / "hold").write_text("a second time")


def test_the_first_recover_after_a_kill_names_what_is_unknown_with_an_exit_code_of_its_own(desk: Desk) -> None:
    _killed(desk)
    said = desk("recover", "--agent", "slow:slow", "--json")
    assert said.code == 14
    (unknown,) = said.json["unknown"]
    assert (unknown["tool"], unknown["state"]) == ("hang", "unknown")
    again = desk("recover", "--agent", "slow:slow")
    assert (again.code, unknown["id"] in again.out) == (14, True)
    assert desk("settle", unknown["id"], "--happened", "--by", "bob", "--reason", "seen").code == 0
    done = desk("recover", "--agent", "slow:slow")
    assert (done.code, done.out) == (0, "nothing is in doubt\n")


def test_a_run_that_ends_with_an_open_operation_has_an_exit_code_of_its_own(desk: Desk) -> None:
    said = desk.run("mailer")
    assert (said.code, said.json["status"], said.json["verified"]) == (14, "finished", False)
    assert desk("resume", said.json["run"], "--agent", "shop:mailer").code == 14
    verified = desk.run("talker")
    assert (verified.code, verified.json["verified"]) == (0, True)
