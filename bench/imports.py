"""What it takes to import: CPU time and memory of a fresh process, the best of three."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence

import environments
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

OWN = ("import remit", "from remit import Agent, Remit, tool", "from remit import Agent, Remit, tool; import httpcore2")
PEERS = {
    "anthropic_sdk": "from anthropic import AsyncAnthropic",
    "openai_sdk": "from openai import AsyncOpenAI",
    "openai_agents": "from agents import Agent, Runner, function_tool",
    "pydantic_ai": "from pydantic_ai import Agent; from pydantic_ai.models.anthropic import AnthropicModel",
    "langchain": "from langchain.agents import create_agent; from langchain_anthropic import ChatAnthropic",
    "agno": "from agno.agent import Agent; from agno.models.openai import OpenAIChat",
}


def measure(measured: Measured, families: Sequence[str]) -> None:
    """Add what imports take: ours, and those of these families of peers."""
    wanted: list[tuple[str | None, str]] = [(None, "import httpx2"), *((None, statement) for statement in OWN)]
    wanted += [(family, PEERS[family]) for family in families if environments.make(family) is None]
    for family, statement in wanted:
        taken: list[tuple[float, float]] = []
        for _ in range(4):
            command = [str(environments.python_of(family)), "-c", PROBE, statement]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            if done.returncode:
                print(f"{statement}: {done.stderr.strip().splitlines()[-1:]}", file=sys.stderr)
                break
            cpu_s, megabytes = json.loads(done.stdout)
            taken.append((cpu_s, megabytes))
        else:
            measured.imports[statement] = min(taken[1:])  # the first one read the disk
