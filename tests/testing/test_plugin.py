"""The plugin as pytest loads it: nothing of the library before a test asks, and coroutine tests run."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

TEST = '''
from remit import Agent, READ, tool

ran = []

@tool(effect=READ)
async def look() -> str:
    """Look."""
    return "seen"

async def test_it(remit_test):
    from remit import call
    run = await remit_test.run(Agent("a", model="anthropic:x", tools=[look]), "go", model=[call("look"), "ok"])
    assert run.finished, run.standing
    ran.append(1)

def test_it_ran():
    assert ran == [1]

async def test_fails(remit_test):
    assert False, "as it should"
'''


def pytest_in(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


def test_a_project_that_has_remit_installed_can_use_the_fixture(tmp_path: Path) -> None:
    (tmp_path / "test_app.py").write_text(TEST)
    done = pytest_in(tmp_path)
    assert "2 passed" in done.stdout, done.stdout
    assert "1 failed" in done.stdout
    assert "as it should" in done.stdout


EXPLORING = '''
from remit import CANNOT_TELL, DID_NOT, TRUSTED, Agent, Context, never, reconcile, tool, write

def look_elsewhere(arguments, ctx):
    return DID_NOT

@tool(effect=write(once_per="item", recovery=reconcile(look_elsewhere)), approve=never, label=TRUSTED, timeout_s=1)
def sell(item: str) -> str:
    """Sell."""
    return "sold"

agent = Agent("seller", model="anthropic:x", tools=[sell])

def test_modelled(remit_explore):
    assert remit_explore(agent, schedules=30).schedules == 30

def test_live(remit_explore):
    remit_explore(agent, schedules=["sell: world:sell=lost"], live=True)
'''


def test_the_exploring_fixture_fails_a_test_with_the_script_of_what_was_found(tmp_path: Path) -> None:
    (tmp_path / "test_seller.py").write_text(EXPLORING)
    done = pytest_in(tmp_path)
    assert "1 passed" in done.stdout, done.stdout
    assert "1 failed" in done.stdout
    assert "sell had 2 effects under operation" in done.stdout
    assert "--schedule 'sell: world:sell=lost'" in done.stdout


def test_the_plugin_loads_nothing_else_of_the_library() -> None:
    code = "import sys, remit.testing.plugin; print(*(name for name in sys.modules if name.startswith('remit')))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert set(done.stdout.split()) == {"remit", "remit.testing", "remit.testing.plugin"}
