"""What a fresh process takes: CPU time and memory of an import, and of everything up to the end of a first run.

Each is the best of three, with bytecode that an earlier process has written: as after an installation, and whatever
the environment says of writing it.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence

import environments
from fleet import Worker, fake_model
from subjects import SUBJECTS
from table import Measured

PROBE = """
import json, sys, time
began = time.process_time()
exec(sys.argv[1])
taken = time.process_time() - began
try:
    held = next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmRSS")) / 1024
except OSError:
    held = 0.0
print(json.dumps([taken, held]))
"""

OWN = ("import httpx2", "import remit", "from remit import Agent, Remit, tool")
FIRST = ("floor anthropic", "lean floor anthropic", "remit anthropic", "remit anthropic sqlite write")
PEERS = {
    "anthropic_sdk": "from anthropic import AsyncAnthropic",
    "openai_sdk": "from openai import AsyncOpenAI",
    "openai_agents": "from agents import Agent, Runner, function_tool",
    "pydantic_ai": "from pydantic_ai import Agent; from pydantic_ai.models.anthropic import AnthropicModel",
    "langchain": "from langchain.agents import create_agent; from langchain_anthropic import ChatAnthropic",
    "agno": "from agno.agent import Agent; from agno.models.openai import OpenAIChat",
}
TIMES = 3


def compiled(place: str) -> dict[str, str]:
    """The environment of a process that keeps its bytecode here."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return {**environment, "PYTHONPYCACHEPREFIX": place}


def measure(measured: Measured, families: Sequence[str], *, first: Sequence[str] = ()) -> None:
    """Add what imports take, ours and those of these families of peers, and a first run of these subjects."""
    wanted: list[tuple[str | None, str]] = [(None, statement) for statement in OWN]
    wanted += [(family, PEERS[family]) for family in families if environments.make(family) is None]
    with tempfile.TemporaryDirectory(prefix="bench-bytecode-") as place:
        for family, statement in wanted:
            found = _imported(family, statement, compiled(place))
            if isinstance(found, str):
                measured.missing[f"`{statement}`"] = found
            else:
                measured.imports[f"`{statement}`"] = found
        for name in first:
            measured.imports[f"{name}: to the end of a first run of one tool turn"] = _first_run(name, compiled(place))


def _imported(family: str | None, statement: str, environment: dict[str, str]) -> tuple[float, float] | str:
    taken: list[tuple[float, float]] = []
    for _ in range(TIMES + 1):
        command = [str(environments.python_of(family)), "-c", PROBE, statement]
        done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
        if done.returncode:
            return (done.stderr.strip().splitlines() or ["it failed"])[-1]
        cpu_s, megabytes = json.loads(done.stdout)
        taken.append((cpu_s, megabytes))
    return min(taken[1:])  # the first one compiled


def _first_run(name: str, environment: dict[str, str]) -> tuple[float, float]:
    taken: list[tuple[float, float]] = []
    with fake_model() as url:
        for _ in range(TIMES + 1):
            worker = Worker(SUBJECTS[name], url, environment=environment)
            asked = worker.ask(turns=1)
            worker.close()
            if "error" in asked:
                raise SystemExit(f"{name}: {asked['error']}")
            taken.append((worker.loaded["import_cpu_s"] + asked["cpu_us"] / 1e6, asked["rss_kb"] / 1024))
            print(f"{name}, first run", file=sys.stderr, flush=True)
    return min(taken[1:])
