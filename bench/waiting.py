"""What many waiting runs cost: the memory of a process that could drive them, and the time to take one up.

Usage: python bench/waiting.py ADDRESS [--runs 10000]. ADDRESS is a file or postgresql://... Prints how many runs wait,
resident memory before and after an owner has them all in its ledger, and the time from a decision to the end of its run, when
ten runs wait and when all of them do.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import statistics
import time
from pathlib import Path

from remit import TRUSTED, Agent, Context, Paused, Principal, Remit, ScriptedModel, always, call, manual, tool, write

ALICE = Principal("alice")
BOB = Principal("bob", scopes=frozenset({"boss"}))


@tool(effect=write(once_per="charge", recovery=manual), approve=always(scope="boss"), label=TRUSTED)
async def refund(charge: str, ctx: Context[None]) -> str:
    """Write what a person has agreed to.

    Args:
        charge: what
    """
    del ctx
    return "done"


def reply(body: dict[str, object]) -> object:
    text = json.dumps(body["messages"])
    return "Done." if "tool_result" in text else call("refund", charge=text.split("charge ")[1].split(".")[0])


def resident_mb() -> float:
    text = Path("/proc/self/status").read_text()
    return int(text.split("VmRSS:")[1].split()[0]) / 1024


def owner(address: str) -> Remit:
    return Remit(ledger=address, agents=[Agent("bench", model=ScriptedModel(reply), instructions="Write.", tools=[refund])])


async def ask(address: str, first: int, last: int) -> None:
    """Runs that wait for a person."""
    async with owner(address) as remit:
        limit = asyncio.Semaphore(64)

        async def one(number: int) -> None:
            async with limit:
                run = await remit.run("bench", f"charge c{number}.", principal=ALICE, request_id=f"r{number}")
                assert isinstance(run, Paused)

        await asyncio.gather(*(one(number) for number in range(first, last)))


async def take_up(address: str, times: int = 20) -> tuple[float, float]:
    """Milliseconds from a decision to the end of its run, the median of some; resident megabytes of the owner."""
    async with owner(address) as remit:
        took: list[float] = []
        for row in await remit.approvals(limit=times):
            began_s = time.perf_counter()
            await remit.decide(row.id, True, by=BOB)
            await remit.resume(row.run)
            took.append((time.perf_counter() - began_s) * 1000)
        return statistics.median(took), resident_mb()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("address")
    parser.add_argument("--runs", type=int, default=10_000)
    given = parser.parse_args()
    asyncio.run(ask(given.address, 0, 40))
    few_ms, few_mb = asyncio.run(take_up(given.address))
    began_s = time.perf_counter()
    asyncio.run(ask(given.address, 40, given.runs + 20))
    asked_s = time.perf_counter() - began_s
    many_ms, many_mb = asyncio.run(take_up(given.address))
    print(
        f"{given.runs} runs asked for in {asked_s:.0f} s; taken up in {few_ms:.1f} ms where few wait, {many_ms:.1f} ms where"
        f" all do; resident {few_mb:.0f} MB then, {many_mb:.0f} MB after the process has made them all"
    )


if __name__ == "__main__":
    main()
