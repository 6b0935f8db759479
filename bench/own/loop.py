"""Remit: an agent of one tool, in memory or on SQLite, with every step of the gate on."""

from __future__ import annotations

import tempfile
from contextlib import AsyncExitStack
from pathlib import Path

from task import Task, add

from remit import CALL, READ, TRUSTED, Agent, Budget, Finished, MemoryLedger, Principal, Remit, Tool, manual, never, tool, write
from remit.model import Anthropic, OpenAIChat, OpenAIResponses

MODELS = {"anthropic": Anthropic, "chat": OpenAIChat, "responses": OpenAIResponses}
ALICE = Principal("alice", scopes=frozenset({"numbers"}))
LIMITS = Budget(turns=10_000, calls=100_000, calls_per_tool=100_000, tokens=10**9, seconds=86_400)
"""Beyond the longest run; the other limits are the usual ones. None is in dollars: the fake model has no price."""

_open: dict[tuple[object, ...], Remit] = {}
_stack = AsyncExitStack()


@tool(effect=READ, scopes={"numbers"}, label=TRUSTED, name="add")
async def read_add(a: int, b: int) -> str:
    """Add two integers."""
    return add(a, b)


@tool(effect=write(once_per=CALL, recovery=manual), scopes={"numbers"}, approve=never, label=TRUSTED, name="add")
async def write_add(a: int, b: int) -> str:
    """Add two integers."""
    return add(a, b)


def model_of(protocol: str, url: str) -> Anthropic | OpenAIChat | OpenAIResponses:
    """The protocol's model at the fake's address."""
    return MODELS[protocol]("m", base_url=url if protocol == "anthropic" else f"{url}/v1", api_key="k")


def agent_of(protocol: str, url: str, add: Tool, *, stream: bool = False) -> Agent:
    """The agent that is measured."""
    return Agent(
        "bench",
        model=model_of(protocol, url),
        instructions="Add numbers.",
        tools=[add],
        budget=LIMITS,
        max_tokens=1024,
        **({"stream": True} if stream else {}),
    )


async def opened(task: Task, *, protocol: str, durable: bool, effect: str, stream: bool) -> Remit:
    """The process's `Remit` of this kind; it stays open from run to run, as in a service."""
    here = (protocol, durable, effect, stream)
    if here not in _open:
        agent = agent_of(protocol, task.url, write_add if effect == "write" else read_add, stream=stream)
        where = Path(tempfile.mkdtemp(prefix="bench-remit-")) / "remit.db" if durable else MemoryLedger()
        _open[here] = await _stack.enter_async_context(Remit(ledger=where, agents=[agent]))
    return _open[here]


async def run(
    task: Task, *, protocol: str = "anthropic", durable: bool = False, effect: str = "read", stream: bool = False
) -> None:
    remit = await opened(task, protocol=protocol, durable=durable, effect=effect, stream=stream)
    stands = await remit.run("bench", task.prompt, principal=ALICE)
    if not isinstance(stands, Finished):
        raise RuntimeError(f"the run did not finish: {stands.reason}")


async def close() -> None:
    """Close what is open."""
    await _stack.aclose()
    _open.clear()
