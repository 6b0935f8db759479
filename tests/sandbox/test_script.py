"""A script whose own functions are sandboxed handlers: it is found by its file, its main part is not run again."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from sandbox.box import EACH, Subprocess

SCRIPT = '''
import asyncio
from pathlib import Path

from remit import READ, TRUSTED, Agent, MemoryLedger, Principal, Remit, ScriptedModel, call, tool
from remit.sandbox import {box}


@tool(effect=READ, label=TRUSTED, sandbox={box}({options}))
def double(number: int) -> int:
    """Double it.

    Args:
        number: what
    """
    {body}
    return number * 2


async def main() -> None:
    agent = Agent("a", model=ScriptedModel([call("double", number=21), "done"]), tools=[double])
    async with Remit(ledger=MemoryLedger(), agents=[agent]) as remit:
        run = await remit.run("a", "double it", principal=Principal("alice"))
        print([one.event.outcome for one in await remit.events(run.id) if one.event.kind == "call.ended"])


{guard}asyncio.run(main())
'''


def script(tmp_path: Path, *, box: str, guard: str = 'if __name__ == "__main__": ', body: str = "", options: str = "") -> Path:
    path = tmp_path / "script.py"
    path.write_text(SCRIPT.format(box=box, guard=guard, body=body, options=options))
    return path


def printed(path: Path) -> str:
    done = subprocess.run([sys.executable, path], cwd=path.parent, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("box", EACH)
def test_a_script_s_own_function_runs_in_a_sandbox(box: type[Subprocess], tmp_path: Path) -> None:
    assert "42" in printed(script(tmp_path, box=box.__name__))


def test_a_script_that_runs_whatever_imports_it_runs_nothing_inside(tmp_path: Path) -> None:
    path = script(tmp_path, box="Subprocess", guard="", body=f"Path({str(tmp_path / 'acted')!r}).write_text('x')")
    assert "tool.not_started" in printed(path)
    assert not (tmp_path / "acted").exists()


@pytest.mark.parametrize("box", EACH)
def test_when_the_program_is_killed_its_sandboxes_end_with_it(box: type[Subprocess], tmp_path: Path) -> None:
    fifo = tmp_path / "held"
    os.mkfifo(fifo)
    options = "" if box is Subprocess else f"write=[{str(tmp_path)!r}]"
    body = f"held = open({str(fifo)!r}, 'w'); held.write('x'); held.flush(); __import__('threading').Event().wait()"
    path = script(tmp_path, box=box.__name__, body=body, options=options)
    reader = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
    with subprocess.Popen([sys.executable, path], cwd=tmp_path, stderr=subprocess.DEVNULL) as program:
        try:
            assert said(reader) == b"x"
        finally:
            program.send_signal(signal.SIGKILL)
    assert said(reader) == b""
    os.close(reader)


def said(reader: int) -> bytes | None:
    """What the handler says on the pipe, which ends with it; None if nothing comes."""
    ready, _, _ = select.select([reader], [], [], 60)
    return os.read(reader, 1) if ready else None
