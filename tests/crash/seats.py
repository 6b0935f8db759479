"""A process whose tool writes into the ledger's own file, and that may be killed at a crash point.

Usage: seats.py DIR kill FIRST STEP forks, for every crash point, a process that is killed there, one that says what it finds
(DIR/n/found), and one that does the same again (DIR/n/said). seats.py DIR load SEED makes many runs that want the same seats.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from pathlib import Path

from remit import (
    TRUSTED,
    Agent,
    Budget,
    Context,
    NoEffect,
    Principal,
    Remit,
    ScriptedModel,
    SqliteLedger,
    ambient,
    call,
    never,
    tool,
    transactional,
    write,
)

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from crash.worker import Counted, forked

WHO = Principal("alice")


@tool(effect=write(once_per="seat", recovery=transactional), approve=never, label=TRUSTED)
def book(seat: str, number: int, ctx: Context[object]) -> str:
    """Book a seat.

    Args:
        seat: which
        number: who asks
    """
    ctx.connection.execute("CREATE TABLE IF NOT EXISTS seat (id TEXT PRIMARY KEY, operation TEXT NOT NULL)")
    ctx.connection.execute("INSERT INTO seat VALUES (?, ?)", (seat, ctx.operation_id))
    if number % 7 == 3:
        raise NoEffect("sold out")
    ctx.connection.execute("UPDATE seat SET id = ? WHERE id = ?", (f"seat {seat}", seat))
    return "booked"


def two_seats(body: dict[str, object]) -> object:
    if "tool_result" in json.dumps(body["messages"]):
        return "Done."
    return [call("book", seat="1A", number=1), call("book", seat="2B", number=2)]


async def two(folder: Path) -> dict[str, object]:
    agent = Agent("two", model=ScriptedModel(two_seats), instructions="Book.", tools=[book])
    async with Remit(ledger=folder / "remit.db", agents=[agent]) as remit:
        run = await remit.run("two", "go", principal=WHO, request_id="one")
        return {"how": type(run).__name__, "open": list(run.open_operations), "run": run.id}


async def found(folder: Path) -> dict[str, object]:
    """The application's rows, and the operations that the ledger says succeeded."""
    if not (folder / "remit.db").exists():
        return {"rows": [], "succeeded": [], "faults": []}
    ledger = SqliteLedger(folder / "remit.db")
    await ledger.open()
    rows: list[list[object]] = []

    def look(connection: object) -> None:
        if connection.execute("SELECT 1 FROM sqlite_schema WHERE name = 'seat'"):  # type: ignore[attr-defined]
            rows.extend(map(list, connection.execute("SELECT id, operation FROM seat ORDER BY id")))  # type: ignore[attr-defined]

    try:
        await ledger.transact(look, lambda _: None, timeout_s=5)
        done = await ledger.operations(state=("succeeded",), limit=None)
        said = sorted([f"seat {json.loads(one.arguments)['seat']}", one.id] for one in done)
        return {"rows": rows, "succeeded": said, "faults": await ledger.verify()}
    finally:
        await ledger.aclose()


def kill_at_every(folder: Path, first: int, step: int) -> None:
    for at in range(first, 400, step):
        place = folder / str(at)
        place.mkdir()

        def die(point: str, place: Path = place) -> None:
            (place / "point").write_text(point)
            os.kill(os.getpid(), signal.SIGKILL)

        def once(source: ambient.Machine, place: Path = place) -> None:
            with ambient.use(source):
                (place / "said").write_text(json.dumps(asyncio.run(two(place))))

        killed = forked(lambda: once(Counted(at, "", die)))  # noqa: B023
        forked(lambda: (place / "found").write_text(json.dumps(asyncio.run(found(place)))))  # noqa: B023
        if killed == 0:
            return
        if killed != -signal.SIGKILL or forked(lambda: once(ambient.Machine())) != 0:
            raise SystemExit(f"point {at}: {killed}")
        forked(lambda: (place / "after").write_text(json.dumps(asyncio.run(found(place)))))  # noqa: B023


async def load(folder: Path, seed: int, runs: int = 60) -> None:
    def one_seat(body: dict[str, object]) -> object:
        text = json.dumps(body["messages"])
        if "tool_result" in text:
            return "Done."
        number = int(text.split("number ")[1].split(".")[0])
        return call("book", seat=str(number * seed % 20), number=number)

    agent = Agent("load", model=ScriptedModel(one_seat), instructions="Book.", tools=[book], budget=Budget(turns=4))
    async with Remit(ledger=folder / "remit.db", agents=[agent]) as remit:
        limit = asyncio.Semaphore(8)

        async def one(number: int) -> None:
            async with limit:
                await remit.run("load", f"number {number}.", principal=WHO)

        await asyncio.gather(*(one(number) for number in range(runs)))


def main() -> None:
    folder, role = Path(sys.argv[1]), sys.argv[2]
    if role == "kill":
        kill_at_every(folder, int(sys.argv[3]), int(sys.argv[4]))
    else:
        asyncio.run(load(folder, int(sys.argv[3])))


if __name__ == "__main__":
    main()
