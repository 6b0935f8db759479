"""A process that holds one subject warm: it reads requests as JSON lines and answers each with what it took.

    python bench/worker.py own.loop '{"protocol": "anthropic"}' http://127.0.0.1:8765 --core 1

A request is `{"turns": 50, "parallel": 1, "pad": 0}`; the answer has CPU time of all threads, wall time, the server's
own time meanwhile, how often the tool's body ran, and resident memory; with `"marks": true` also the CPU time at each
start of the tool's body. `{"call": "crowd", ...}` runs another coroutine function of the module and answers with what
it returns.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import gc
import importlib
import json
import os
import sys
import time
import traceback
import urllib.request
from pathlib import Path
from types import ModuleType
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))

import task


def busy(url: str) -> dict[str, float]:
    """What the fake model has spent."""
    with urllib.request.urlopen(f"{url}/busy", timeout=10) as answer:
        return json.load(answer)


def resident_kb() -> int:
    """Memory that the process holds now; 0 where the system does not say."""
    with contextlib.suppress(OSError), open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmRSS"))
    return 0


async def measure(module: ModuleType, given: dict[str, Any], url: str, asked: dict[str, Any]) -> dict[str, Any]:
    """One run of the subject."""
    gc.collect()
    marks = asked.pop("marks", False)
    task.ran, task.marks, before = 0, [] if marks else None, busy(url)
    wall, cpu = time.perf_counter(), time.process_time()
    await module.run(task.Task(url, **asked), **given)
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    after = busy(url)
    return {
        "cpu_us": cpu * 1e6,
        "wall_us": wall * 1e6,
        "server_us": after["busy_us"] - before["busy_us"],
        "requests": after["requests"] - before["requests"],
        "bytes_in": after["bytes_in"] - before["bytes_in"],
        "ran": task.ran,
        "rss_kb": resident_kb(),
        "marks": task.marks,
    }


async def answer(module: ModuleType, given: dict[str, Any], url: str, asked: dict[str, Any]) -> dict[str, Any]:
    """The answer to one request, an error included."""
    named = asked.pop("call", None)
    profiled = asked.pop("profile", None)
    try:
        if named is not None:
            return await getattr(module, named)(url, **asked)
        if profiled is None:
            return await measure(module, given, url, asked)
        import cProfile

        profile = cProfile.Profile()
        with profile:
            taken = await measure(module, given, url, asked)
        profile.dump_stats(profiled)
        return taken
    except Exception as error:
        print(traceback.format_exc(limit=-3), file=sys.stderr)
        return {"error": f"{type(error).__name__}: {error}"[:400]}


async def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("module")
    parser.add_argument("given", type=json.loads)
    parser.add_argument("url")
    parser.add_argument("--core", type=int, default=None)
    given = parser.parse_args()
    if given.core is not None and hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {given.core})
    # What a library prints goes to standard error: standard output is for the answers.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)

    def say(what: dict[str, Any]) -> None:
        answers.write(json.dumps(what) + "\n")
        answers.flush()

    began = time.process_time()
    module = importlib.import_module(given.module)
    say({"import_cpu_s": time.process_time() - began, "rss_kb": resident_kb()})
    loop = asyncio.get_running_loop()
    while line := (await loop.run_in_executor(None, sys.stdin.readline)).strip():
        say(await answer(module, given.given, given.url, json.loads(line)))
    if hasattr(module, "close"):
        await module.close()


if __name__ == "__main__":
    asyncio.run(main())
