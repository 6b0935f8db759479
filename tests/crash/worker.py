"""A process that does one job on a ledger file, and may be killed or held at a crash point.

Usage: worker.py DIR ROLE. Roles: `load` (many runs with conflicting keys), `hold` (a run in each of DIR/1, DIR/2, ...,
that stands still at that durable write) and `beside` (resumes what is held, asks for the same, and lets it go on; the
two speak through the pipes `held` and `go`). worker.py DIR kill ROLE POINTS FIRST STEP forks for every point a
process that is killed there and one that does the same again; ROLE is `three` (a run with three writes of three
recovery kinds), `people` (a write, a write with an approval, a question), `family` (two agents that are asked at once: one
with a write and a write with an approval, one with a write of which nobody can be asked) or `hosted` (two requests in which
the provider changes something, and a write between them; streamed). The outside world is an append-only file; its lines are
the books.
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

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from crash.store import ledger_of
from remit import (
    CALL,
    DID_NOT,
    TRUSTED,
    Agent,
    Budget,
    Context,
    Happened,
    NoEffect,
    Paused,
    Principal,
    Remit,
    ScriptedModel,
    always,
    ambient,
    ask_user,
    call,
    idempotent,
    manual,
    never,
    reconcile,
    server_tool,
    tool,
    write,
)
from remit.errors import RunOwned
from remit.model.scripted import ScriptedCall

WHO = Principal("alice")


class Counted(ambient.Machine):
    """Does something at the n-th crash point whose name begins with `points`."""

    def __init__(self, at: int, points: str, act: Callable[[str], None]) -> None:
        self.at = at
        self.points = points
        self.act = act
        self.seen = 0

    def reach(self, point: str) -> None:
        if point.startswith(self.points):
            self.seen += 1
            if self.seen == self.at:
                self.act(point)


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


@tool(effect=write(once_per="name", recovery=idempotent(window_s=3600)), timeout_s=0.3, approve=never, label=TRUSTED)
async def keyed(name: str, ctx: Context[Books]) -> str:
    """Write with an idempotency key.

    Args:
        name: what
    """
    ctx.deps.enter("keyed", name, ctx.operation_id)
    return "done"


@tool(effect=write(once_per="name", recovery=reconcile(booked, settle_s=0.05)), timeout_s=0.3, approve=never, label=TRUSTED)
async def asked(name: str, ctx: Context[Books]) -> str:
    """Write, and the books can be asked.

    Args:
        name: what
    """
    ctx.deps.enter("asked", name)
    return "done"


@tool(effect=write(once_per="name", recovery=manual), timeout_s=0.3, approve=never, label=TRUSTED)
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


@tool(effect=write(once_per="name", recovery=reconcile(booked, settle_s=0.05)), timeout_s=5, approve=never, label=TRUSTED)
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


@tool(
    effect=write(once_per="name", recovery=reconcile(booked, settle_s=0.05)),
    timeout_s=0.3,
    approve=always(scope="boss"),
    label=TRUSTED,
)
async def signed(name: str, ctx: Context[Books]) -> str:
    """Write what a person has agreed to.

    Args:
        name: what
    """
    ctx.deps.enter("asked", name)
    return "done"


def with_people(body: dict[str, object]) -> object:
    if "tool_result" in json.dumps(body["messages"]):
        return "Done."
    return [call("keyed", name="x"), call("signed", name="x"), call("ask_user", question="Really?")]


def trio(folder: Path) -> Remit:
    agent = Agent("three", model=ScriptedModel(three_writes), instructions="Write.", tools=[keyed, asked, blind])
    return Remit(ledger=ledger_of(folder), agents=[agent], deps=Books(folder))


async def three(folder: Path) -> dict[str, object]:
    async with trio(folder) as remit:
        run = await remit.run("three", "go", principal=WHO, request_id="one")
        return {"how": type(run).__name__, "open": list(run.open_operations), "run": run.id}


async def people(folder: Path) -> dict[str, object]:
    boss = Principal("bob", scopes=frozenset({"boss"}))
    agent = Agent("people", model=ScriptedModel(with_people), instructions="Ask.", tools=[keyed, signed, ask_user])
    async with Remit(ledger=ledger_of(folder), agents=[agent], deps=Books(folder)) as remit:
        run = await remit.run("people", "go", principal=WHO, request_id="one")
        while isinstance(run, Paused):
            for row in run.approvals:
                await remit.decide(row.id, True, by=boss)
            for row in run.questions:
                await remit.answer(row.id, "yes", by=WHO)
            run = await remit.run("people", "go", principal=WHO, request_id="one")
        return {"how": type(run).__name__, "open": list(run.open_operations), "run": run.id}


async def family(folder: Path) -> dict[str, object]:
    boss = Principal("bob", scopes=frozenset({"boss"}))

    def says(*calls: ScriptedCall) -> ScriptedModel:
        return ScriptedModel(lambda body: "Done." if "tool_result" in json.dumps(body["messages"]) else list(calls))

    clerk = Agent("clerk", model=says(call("keyed", name="x"), call("signed", name="x")), tools=[keyed, signed])
    teller = Agent("teller", model=says(call("blind", name="x")), tools=[blind])
    both = says(call("clerk", task="Write."), call("teller", task="Write as well."))
    agent = Agent("family", model=both, tools=[clerk.as_tool(description="Writes."), teller.as_tool(description="Writes.")])
    async with Remit(ledger=ledger_of(folder), agents=[agent], deps=Books(folder)) as remit:
        run = await remit.run("family", "go", principal=WHO, request_id="one")
        while isinstance(run, Paused):
            for row in run.approvals:
                await remit.decide(row.id, True, by=boss)
            run = await remit.run("family", "go", principal=WHO, request_id="one")
        runs = sorted((row.agent, row.status) for row in await remit.runs())
        return {"how": type(run).__name__, "open": list(run.open_operations), "run": run.id, "runs": runs}


async def hosted(folder: Path) -> dict[str, object]:
    books = Books(folder)

    def provider(body: dict[str, object]) -> object:
        answered = "tool_result" in json.dumps(body["messages"])
        books.enter("provider", "second" if answered else "first")
        return "Done." if answered else call("keyed", name="x")

    runs_code = {"type": "code_execution_20250825", "name": "code_execution"}
    code = server_tool(runs_code, effect=write(once_per=CALL, recovery=manual))
    agent = Agent("hosted", model=ScriptedModel(provider), stream=True, tools=[keyed], server_tools=[code])
    async with Remit(ledger=ledger_of(folder), agents=[agent], deps=books) as remit:
        run = await remit.run("hosted", "go", principal=WHO, request_id="one")
        return {"how": type(run).__name__, "open": list(run.open_operations), "run": run.id, "reason": run.reason}


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


def kill_at_every(folder: Path, role: str, points: str, first: int, step: int) -> None:
    """One folder for each point: what was done there before the kill and after it."""
    job = {"three": three, "people": people, "family": family, "hosted": hosted}[role]

    def die(place: Path, point: str) -> None:
        (place / "point").write_text(point)
        os.kill(os.getpid(), signal.SIGKILL)

    def once(place: Path, source: ambient.Ambient) -> None:
        with ambient.use(source):
            (place / "said").write_text(json.dumps(asyncio.run(job(place))))

    for at in range(first, 400, step):
        place = folder / str(at)
        place.mkdir()
        killed = forked(lambda: once(place, Counted(at, points, lambda point: die(place, point))))  # noqa: B023
        if killed == 0:
            return
        if killed != -signal.SIGKILL or forked(lambda: once(place, ambient.Machine())) != 0:  # noqa: B023
            raise SystemExit(f"point {at}: {killed}")


async def hold(folder: Path) -> None:
    """One place after the other: a run that stands still at its n-th durable write, with its whole process, until told."""
    for at in range(1, 60):
        place = folder / str(at)

        def stop(point: str, place: Path = place) -> None:
            (place / "held").write_text(point)
            (place / "go").read_text()

        source = Counted(at, "commit.", stop)
        with ambient.use(source):
            said = await three(place)
        (place / "said").write_text(json.dumps(said))
        if source.seen < at:
            (place / "held").write_text("never")
            return


async def beside(folder: Path) -> None:
    """What another process is told of each run that is held, and of the same request."""
    for at in range(1, 60):
        place = folder / str(at)
        if (place / "held").read_text() == "never":
            return
        async with trio(place) as remit:
            how = "no run"
            for row in await remit.runs():
                try:
                    how = f"{type(await remit.resume(row.id, principal=WHO)).__name__} {row.status}"
                except RunOwned as error:
                    how = error.code
            submitted = await remit.submit("three", "go", principal=WHO, request_id="one")
            (place / "go").write_text("on")
            joined = await remit.run("three", "go", principal=WHO, request_id="one")
            said = {"resumed": how, "submitted": submitted.id, "run": joined.id, "how": type(joined).__name__}
        (place / "beside").write_text(json.dumps(said))


async def load(folder: Path, runs: int = 200) -> None:
    def one_write(body: dict[str, object]) -> object:
        text = json.dumps(body["messages"])
        if "tool_result" in text:
            return "Done."
        number = int(text.split("number ")[1].split(".")[0])
        return call("contested", name=f"charge-{number % 40}", number=number)

    agent = Agent("load", model=ScriptedModel(one_write), instructions="Write.", tools=[contested], budget=Budget(turns=4))
    async with Remit(ledger=ledger_of(folder), agents=[agent], deps=Books(folder)) as remit:
        limit = asyncio.Semaphore(16)

        async def one(number: int) -> None:
            async with limit:
                await remit.run("load", f"number {number}.", principal=WHO)

        await asyncio.gather(*(one(number) for number in range(runs)))
        print(json.dumps({"runs": runs}))


def main() -> None:
    folder, role = Path(sys.argv[1]), sys.argv[2]
    if role == "kill":
        kill_at_every(folder, sys.argv[3], sys.argv[4], int(sys.argv[5]), int(sys.argv[6]))
        return
    asyncio.run({"load": load, "hold": hold, "beside": beside}[role](folder))


if __name__ == "__main__":
    main()
