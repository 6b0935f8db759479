"""A process that runs a workflow on a ledger file, and is killed at a crash point.

Usage: worker.py DIR ROLE FIRST STEP. For every point from FIRST on it forks a process that is killed there, and one that asks
for the same again. ROLE is `ends` (a read, three writes of three recovery kinds, a request to a person, a check) or
`fails` (two writes that are taken back, one of them with a person's yes). The outside world is an append-only file.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
import traceback
from collections.abc import Callable
from pathlib import Path

from remit import (
    DID_NOT,
    READ,
    TRUSTED,
    Context,
    Escalated,
    Happened,
    NoEffect,
    Paused,
    Principal,
    Remit,
    Tool,
    always,
    ambient,
    idempotent,
    manual,
    never,
    reconcile,
    tool,
    write,
)
from remit.workflow import Flow, undo, workflow

WHO = Principal("alice")
BOSS = Principal("bob", scopes=frozenset({"boss", "remit:approve"}))


class Counted(ambient.Machine):
    """Kills its process at the n-th crash point."""

    def __init__(self, at: int, folder: Path) -> None:
        self.at = at
        self.folder = folder
        self.seen = 0

    def reach(self, point: str) -> None:
        self.seen += 1
        if self.seen == self.at:
            (self.folder / "point").write_text(point)
            os.kill(os.getpid(), signal.SIGKILL)


class Books:
    """The outside service: one line per effect; dedupes on a key where one is given."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "books"

    def lines(self) -> list[dict[str, str]]:
        return [json.loads(line) for line in self.path.read_text().splitlines()] if self.path.exists() else []

    def enter(self, kind: str, key: str | None = None) -> None:
        if key is not None and any(line["key"] == key for line in self.lines()):
            return
        handle = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        os.write(handle, (json.dumps({"kind": kind, "key": key}) + "\n").encode())
        os.fsync(handle)
        os.close(handle)


def writes(kind: str, **changes: object) -> Tool:
    async def booked(arguments: object, ctx: Context[Books]) -> object:
        return Happened("done") if any(line["kind"] == kind for line in ctx.deps.lines()) else DID_NOT

    settings: dict[str, object] = {
        "effect": write(once_per="name", recovery=reconcile(booked, settle_s=0.05)),
        "timeout_s": 0.3,
        "approve": never,
        "label": TRUSTED,
    }

    @tool(name=kind, **(settings | changes))
    async def enter(name: str, ctx: Context[Books]) -> str:
        """Do it.

        Args:
            name: to what
        """
        ctx.deps.enter(kind, ctx.operation_id if kind == "keyed" else None)
        return "done"

    return enter


@tool(effect=READ, label=TRUSTED)
async def look(name: str) -> str:
    """Look.

    Args:
        name: at what
    """
    return name


async def never_booked(arguments: object, ctx: Context[Books]) -> object:
    return DID_NOT


@tool(
    effect=write(once_per="name", recovery=reconcile(never_booked, settle_s=0.05)), timeout_s=0.3, approve=never, label=TRUSTED
)
async def declined(name: str) -> str:
    """Never happens.

    Args:
        name: what
    """
    raise NoEffect("declined")


keyed = writes("keyed", effect=write(once_per="name", recovery=idempotent(window_s=3600)))
asked, blind = writes("asked"), writes("blind", effect=write(once_per="name", recovery=manual))
unkeyed, unasked = writes("unkeyed"), writes("unasked", approve=always(scope="boss"))


@workflow(tools=[look, keyed, asked, blind])
async def ends(flow: Flow[Books], name: str) -> dict[str, object]:
    name = str(await flow.call(look, name=name))
    await flow.call(keyed, name=name)
    await flow.approve("Go on?", scope="boss")
    await asyncio.gather(flow.call(asked, name=name), flow.call(look, name="beside"))
    await flow.check("asked", lambda ctx: any(line["kind"] == "asked" for line in ctx.deps.lines()))
    await flow.call(blind, name=name)
    return {"name": name}


@workflow(tools=[keyed, asked, unkeyed, unasked, declined])
async def fails(flow: Flow[Books], name: str) -> None:
    (flow.deps.path.parent / "calls").open("a").write(f"{flow.run}\n")
    await flow.call(keyed, name=name, undo=lambda done: undo(unkeyed, name=name))
    await flow.call(asked, name=name, undo=undo(unasked, name=name))
    await flow.call(declined, name=name)


async def once(folder: Path, role: str) -> dict[str, object]:
    async with Remit(folder / "remit.db", workflows=[ends, fails], deps=Books(folder)) as remit:
        run = await remit.run(role, {"name": "x"}, principal=WHO, request_id="one")
        while isinstance(run, Paused):
            for row in run.approvals:
                await remit.decide(row.id, True, by=BOSS)
            run = await remit.run(role, {"name": "x"}, principal=WHO, request_id="one")
        explanation = run.explanation if isinstance(run, Escalated) else None
        return {"how": type(run).__name__, "open": list(run.open_operations), "reason": run.reason, "why": explanation}


def forked(work: Callable[[], object]) -> int:
    """How a child process that does this ended: its exit code, or the signal that killed it, negative."""
    child = os.fork()
    if not child:
        try:
            work()
            os._exit(0)
        except BaseException:
            traceback.print_exc()
            os._exit(1)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def main() -> None:
    folder, role = Path(sys.argv[1]), sys.argv[2]

    def work(place: Path, source: ambient.Ambient) -> None:
        with ambient.use(source):
            (place / "said").write_text(json.dumps(asyncio.run(once(place, role))))

    for at in range(int(sys.argv[3]), 400, int(sys.argv[4])):
        place = folder / str(at)
        place.mkdir()
        killed = forked(lambda: work(place, Counted(at, place)))  # noqa: B023
        if killed == 0:
            return
        if killed != -signal.SIGKILL or forked(lambda: work(place, ambient.Machine())) != 0:  # noqa: B023
            raise SystemExit(f"point {at}: {killed}")


if __name__ == "__main__":
    main()
