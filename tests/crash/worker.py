"""A process that does one job on a ledger file and may be killed at the n-th durable write.

Usage: worker.py DIR ROLE [KILL_AT]. Roles: `three` (a run with three writes of three recovery kinds),
`resume` (tries to resume the run that `three` owns), `load` (many runs with conflicting keys).
The outside world is an append-only file in DIR; its lines are the books.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from pathlib import Path

from remit import (
    DID_NOT,
    Agent,
    Budget,
    Context,
    Happened,
    NoEffect,
    Principal,
    Remit,
    ScriptedModel,
    ambient,
    call,
    idempotent,
    manual,
    never,
    reconcile,
    tool,
    write,
)
from remit.errors import RunOwned

WHO = Principal("alice")


class Killer(ambient.Machine):
    """Sends SIGKILL to its own process at the n-th crash point of the ledger."""

    def __init__(self, at: int) -> None:
        self.at = at
        self.seen = 0

    def reach(self, point: str) -> None:
        if point.startswith("commit."):
            self.seen += 1
            if self.seen == self.at:
                os.kill(os.getpid(), signal.SIGKILL)


class Books:
    """The outside service: keeps one line per effect, dedupes on a key where one is given."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "books"

    def lines(self) -> list[dict[str, str]]:
        return [json.loads(line) for line in self.path.read_text().splitlines()] if self.path.exists() else []

    def enter(self, kind: str, name: str, key: str | None = None) -> None:
        if key is not None and any(line["key"] == key for line in self.lines()):
            return
        handle = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        os.write(handle, (json.dumps({"kind": kind, "name": name, "key": key}) + "\n").encode())
        os.fsync(handle)
        os.close(handle)


async def booked(arguments: object, ctx: Context[Books]) -> object:
    name = arguments["name"]  # type: ignore[index]
    found = any(line["kind"] == "asked" and line["name"] == name for line in ctx.deps.lines())
    return Happened("done") if found else DID_NOT


@tool(effect=write(once_per="name", recovery=idempotent(window_s=3600)), timeout_s=0.3, approve=never)
async def keyed(name: str, ctx: Context[Books]) -> str:
    """Write with an idempotency key.

    Args:
        name: what
    """
    ctx.deps.enter("keyed", name, ctx.operation_id)
    return "done"


@tool(effect=write(once_per="name", recovery=reconcile(booked, settle_s=0.05)), timeout_s=0.3, approve=never)
async def asked(name: str, ctx: Context[Books]) -> str:
    """Write, and the books can be asked.

    Args:
        name: what
    """
    ctx.deps.enter("asked", name)
    return "done"


@tool(effect=write(once_per="name", recovery=manual), timeout_s=0.3, approve=never)
async def blind(name: str, ctx: Context[Books]) -> str:
    """Write, and nobody can be asked.

    Args:
        name: what
    """
    ctx.deps.enter("blind", name)
    return "done"


def three_writes(body: dict[str, object]) -> object:
    """Turn one: all three; then the end."""
    if "tool_result" in json.dumps(body["messages"]):
        return "Done."
    return [call("keyed", name="x"), call("asked", name="x"), call("blind", name="x")]


@tool(effect=write(once_per="name", recovery=reconcile(booked, settle_s=0.05)), timeout_s=5, approve=never)
async def contested(name: str, number: int, ctx: Context[Books]) -> str:
    """Write what other runs want to write too.

    Args:
        name: what
        number: which run asks
    """
    if number % 7 == 3:
        raise NoEffect("declined")
    ctx.deps.enter("asked", name)
    return "done"


async def three(folder: Path) -> None:
    agent = Agent("three", model=ScriptedModel(three_writes), instructions="Write.", tools=[keyed, asked, blind])
    async with Remit(ledger=folder / "remit.db", agents=[agent], deps=Books(folder)) as remit:
        run = await remit.run("three", "go", principal=WHO, request_id="one")
        print(json.dumps({"how": type(run).__name__, "open": list(run.open_operations), "run": run.id}))


async def resume(folder: Path) -> None:
    agent = Agent("three", model=ScriptedModel(three_writes), instructions="Write.", tools=[keyed, asked, blind])
    async with Remit(ledger=folder / "remit.db", agents=[agent], deps=Books(folder)) as remit:
        rows = await remit.runs()
        for row in rows:
            try:
                run = await remit.resume(row.id, principal=WHO)
                print(json.dumps({"how": type(run).__name__}))
            except RunOwned as error:
                print(json.dumps({"how": error.code}))


async def load(folder: Path, runs: int = 200) -> None:
    def one_write(body: dict[str, object]) -> object:
        text = json.dumps(body["messages"])
        if "tool_result" in text:
            return "Done."
        number = int(text.split("number ")[1].split(".")[0])
        return call("contested", name=f"charge-{number % 40}", number=number)

    agent = Agent("load", model=ScriptedModel(one_write), instructions="Write.", tools=[contested], budget=Budget(turns=4))
    async with Remit(ledger=folder / "remit.db", agents=[agent], deps=Books(folder)) as remit:
        limit = asyncio.Semaphore(16)

        async def one(number: int) -> None:
            async with limit:
                await remit.run("load", f"number {number}.", principal=WHO)

        await asyncio.gather(*(one(number) for number in range(runs)))
        print(json.dumps({"runs": runs}))


def main() -> None:
    folder, role = Path(sys.argv[1]), sys.argv[2]
    source: ambient.Ambient = Killer(int(sys.argv[3])) if len(sys.argv) > 3 else ambient.Machine()
    with ambient.use(source):
        asyncio.run({"three": three, "resume": resume, "load": load}[role](folder))


if __name__ == "__main__":
    main()
