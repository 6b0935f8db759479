"""Runs and durable write calls a second on PostgreSQL, by one process and by several on the same ledger, beside the
server's own rate of commits in the same minute.

Usage: python bench/postgres.py [--address postgresql://...] [--runs 400] [--processes 1,2,8]. Without an address a server from
PyPI is started on the local disk, with fsync. A run is two requests to a scripted model and one write call, whose key
is shared by every run of that number in all processes: of n processes that ask for the same writes one makes each of them.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import subprocess
import sys
import threading
import time
from collections import Counter
from pathlib import Path

import psycopg

from remit import TRUSTED, Agent, Budget, Context, Principal, Remit, ScriptedModel, call, idempotent, never, tool, write

WHO = Principal("alice")
AT_ONCE = 32


@tool(effect=write(once_per="charge", recovery=idempotent(window_s=600)), approve=never, label=TRUSTED)
async def refund(charge: str, ctx: Context[list[str]]) -> str:
    """Write.

    Args:
        charge: what
    """
    ctx.deps.append(charge)
    return "done"


def reply(body: dict[str, object]) -> object:
    text = json.dumps(body["messages"])
    return "Done." if "tool_result" in text else call("refund", charge=text.split("charge ")[1].split(".")[0])


async def work(address: str, count: int, first: int) -> None:
    """Ask for the runs, many at once; say how it went."""
    agent = Agent("bench", model=ScriptedModel(reply), instructions="Write.", tools=[refund], budget=Budget(turns=4))
    effects: list[str] = []
    async with Remit(ledger=address, agents=[agent], deps=effects) as remit:
        print("ready", flush=True)
        await asyncio.to_thread(sys.stdin.readline)
        limit = asyncio.Semaphore(AT_ONCE)

        async def one(number: int) -> None:
            async with limit:
                await remit.run("bench", f"charge c{number}.", principal=WHO)

        began_s, cpu_s, before = time.perf_counter(), time.process_time(), remit.ledger.commits  # type: ignore[attr-defined]
        await asyncio.gather(*(one(first + number) for number in range(count)))
        said = {
            "seconds": time.perf_counter() - began_s,
            "cpu": time.process_time() - cpu_s,
            "commits": remit.ledger.commits - before,  # type: ignore[attr-defined]
            "effects": effects,
        }
        print(json.dumps(said), flush=True)


def fleet(address: str, processes: int, count: int, *, shared: bool) -> dict[str, float]:
    """So many processes at once; each its own runs, or all the same writes."""
    command = [sys.executable, __file__, "work", address, str(count)]
    going = [
        subprocess.Popen(
            [*command, "0" if shared else str(number * count)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        for number in range(processes)
    ]
    for one in going:
        assert one.stdout is not None
        assert one.stdout.readline() == "ready\n"
    began_s = time.perf_counter()
    for one in going:
        assert one.stdin is not None
        one.stdin.write("go\n")
        one.stdin.flush()
    said = [json.loads(one.stdout.readline()) for one in going]  # type: ignore[union-attr]
    seconds = time.perf_counter() - began_s
    for one in going:
        one.communicate()
    effects = Counter(name for one in said for name in one["effects"])
    return {
        "runs": processes * count / seconds,
        "writes": sum(effects.values()) / seconds,
        "commits": sum(one["commits"] for one in said) / seconds,
        "duplicates": sum(times - 1 for times in effects.values()),
        "effects": len(effects),
        "cpu_ms": sum(one["cpu"] for one in said) / (processes * count) * 1000,
    }


def floor(address: str, sessions: int, seconds: float = 3.0) -> float:
    """The server's own rate: a row of 200 bytes and a commit, by so many sessions at once."""
    with psycopg.connect(address, autocommit=True) as db:
        db.execute("DROP TABLE IF EXISTS bench_floor; CREATE TABLE bench_floor (id BIGSERIAL PRIMARY KEY, text TEXT)")
    made: list[int] = []

    def commit() -> None:
        with psycopg.connect(address, autocommit=True, prepare_threshold=0) as db:
            until_s, count = time.perf_counter() + seconds, 0
            while time.perf_counter() < until_s:
                db.execute("INSERT INTO bench_floor (text) VALUES (%s)", ("x" * 200,))
                count += 1
            made.append(count)

    threads = [threading.Thread(target=commit) for _ in range(sessions)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    return sum(made) / seconds


@contextlib.contextmanager
def started():
    sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
    from database.server import Server

    made = Server(fsync="on", full_page_writes="on", autovacuum="on", shared_buffers="256MB")
    try:
        yield made.address()
    finally:
        made.remove()


def main() -> None:
    if sys.argv[1:2] == ["work"]:
        asyncio.run(work(sys.argv[2], int(sys.argv[3]), int(sys.argv[4])))
        return
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--address")
    parser.add_argument("--runs", type=int, default=400)
    parser.add_argument("--processes", default="1,2,8")
    given = parser.parse_args()
    with contextlib.nullcontext(given.address) if given.address else started() as address:
        for number, processes in enumerate(int(one) for one in given.processes.split(",")):
            for shared in (False, True):
                if shared and processes == 1:
                    continue
                place = f"{address}&schema=bench_{number}_{int(shared)}"
                one, many = floor(address, 1), floor(address, processes)
                found = fleet(place, processes, given.runs // processes, shared=shared)
                print(
                    f"{processes} processes, {'the same writes' if shared else 'each its own'}: {found['runs']:.0f} runs/s,"
                    f" {found['writes']:.0f} writes/s, {found['commits']:.0f} commits/s, {found['duplicates']} duplicates of"
                    f" {found['effects']} effects, {found['cpu_ms']:.2f} ms of CPU a run; the server commits {one:.0f}/s by one"
                    f" session and {many:.0f}/s by {processes}: writes per own commit {found['writes'] / many:.2f}",
                    flush=True,
                )


if __name__ == "__main__":
    main()
