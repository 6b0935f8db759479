"""Remit with many runs at once, many that wait, and long conversations: what one process carries."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import tempfile
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from own.loop import ALICE, agent_of, read_add, write_add
from task import Task, add
from worker import resident_kb

from remit import CALL, TRUSTED, Finished, MemoryLedger, Paused, Remit, always, manual, tool, write

AT_ONCE = 64
"""So many runs are brought to their pause at a time."""


@tool(effect=write(once_per=CALL, recovery=manual), scopes={"numbers"}, approve=always(), label=TRUSTED, name="add")
async def asked_add(a: int, b: int) -> str:
    """Add two integers."""
    return add(a, b)


@contextlib.asynccontextmanager
async def _folder() -> AsyncIterator[Path]:
    with tempfile.TemporaryDirectory(prefix="bench-remit-") as place:
        yield Path(place)


async def crowd(url: str, *, runs: int, turns: int, durable: bool, rounds: int, protocol: str = "anthropic") -> dict[str, Any]:
    """The same runs one after the other, then all at once; the best of a few rounds of each."""
    alone: list[tuple[float, float]] = []
    together: list[tuple[float, float]] = []
    async with _folder() as folder:
        agent = agent_of(protocol, url, write_add if durable else read_add)
        async with Remit(ledger=folder / "crowd.db" if durable else MemoryLedger(), agents=[agent]) as remit:
            task = Task(url, turns)
            await _finished(remit, task)
            for _ in range(rounds):
                gc.collect()
                began = (time.perf_counter(), time.process_time())
                for _ in range(runs):
                    await _finished(remit, task)
                alone.append((time.perf_counter() - began[0], time.process_time() - began[1]))
                gc.collect()
                began = (time.perf_counter(), time.process_time())
                await asyncio.gather(*(_finished(remit, task) for _ in range(runs)))
                together.append((time.perf_counter() - began[0], time.process_time() - began[1]))
    return {
        "sequential_wall_s": min(wall for wall, _ in alone),
        "sequential_cpu_s": min(cpu for _, cpu in alone),
        "concurrent_wall_s": min(wall for wall, _ in together),
        "concurrent_cpu_s": min(cpu for _, cpu in together),
    }


async def active(url: str, *, few: int, many: int, durable: bool, think_ms: int, protocol: str = "anthropic") -> dict[str, Any]:
    """What one run more takes that waits for the model, in kilobytes of resident memory: from a few runs to many."""
    async with _folder() as folder:
        agent = agent_of(protocol, url, write_add if durable else read_add)
        async with Remit(ledger=folder / "active.db" if durable else MemoryLedger(), agents=[agent]) as remit:
            await _finished(remit, Task(url, 2))
            at_few, at_many = [await _most_kb(remit, Task(url, 0, think_ms=think_ms), runs) for runs in (few, many)]
    return {"kb_per_run": (at_many - at_few) / (many - few)}


async def _most_kb(remit: Remit, task: Task, runs: int) -> int:
    """The most memory that the process held while so many runs went on at once."""
    gc.collect()
    going = asyncio.gather(*(_finished(remit, task) for _ in range(runs)))
    most = 0
    while not going.done():
        await asyncio.wait([going], timeout=0.1)
        most = max(most, resident_kb())
    await going
    return most


async def idle(url: str, *, runs: int) -> dict[str, Any]:
    """What runs that wait for a person take: resident memory of the process, and room on disk."""
    async with _folder() as folder:
        agent, place = agent_of("anthropic", url, asked_add), folder / "idle.db"
        async with Remit(ledger=place, agents=[agent]) as remit:
            await _paused(remit, url)
            gc.collect()
            before = resident_kb()
            began = time.process_time()
            for start in range(0, runs, AT_ONCE):
                await asyncio.gather(*(_paused(remit, url) for _ in range(min(AT_ONCE, runs - start))))
            taken = time.process_time() - began
            gc.collect()
            kb = resident_kb() - before
            began = time.process_time()
            await asyncio.sleep(5)
            calm = (time.process_time() - began) / 5
        disk = sum(one.stat().st_size for one in folder.iterdir()) / 1024
    return {"kb_per_run": kb / runs, "disk_kb_per_run": disk / runs, "cpu_ms_per_run": taken / runs * 1e3, "calm": calm}


async def conversation(url: str, *, messages: int, durable: bool) -> dict[str, Any]:
    """CPU time of each message of one conversation, a run of its own each, in seconds."""
    taken: list[float] = []
    async with _folder() as folder:
        agent = agent_of("anthropic", url, read_add)
        async with Remit(ledger=folder / "long.db" if durable else MemoryLedger(), agents=[agent]) as remit:
            await _finished(remit, Task(url, 0))
            for _ in range(messages):
                began = time.process_time()
                await _finished(remit, Task(url, 0), conversation="one")
                taken.append(time.process_time() - began)
    return {"taken_s": taken}


async def _finished(remit: Remit, task: Task, *, conversation: str | None = None) -> None:
    stands = await remit.run("bench", task.prompt, principal=ALICE, conversation=conversation)
    if not isinstance(stands, Finished):
        raise RuntimeError(f"a run did not finish: {stands.reason}")


async def _paused(remit: Remit, url: str) -> None:
    stands = await remit.run("bench", Task(url, 1).prompt, principal=ALICE)
    if not isinstance(stands, Paused):
        raise RuntimeError(f"a run did not wait: {stands.reason}")
