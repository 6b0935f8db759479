"""A process on a ledger, for stories of several: `worker.py PLACE ROLE NAME COUNT`."""

from __future__ import annotations

import asyncio
import sys

from ledger.support import Pen, moved, operation, said
from remit.errors import KeyTaken
from remit.ledger import SqliteLedger, ledger_named
from remit.ledger.postgres import PostgresLedger
from remit.types.change import OpenOperation
from remit.types.delivery import CancelRun
from remit.types.ident import Digest, OperationId, RunId
from remit.types.stream import Delta


async def write(ledger: SqliteLedger | PostgresLedger, name: str, count: int) -> None:
    """Many runs at once, each with an operation; keys are shared with whoever else runs this."""

    async def one(number: int) -> bool:
        pen = Pen(ledger, RunId(f"run_{name}_{number}"))
        await pen.start()
        await pen.write(said("a"), said("b"))
        try:
            row = operation(id=OperationId(f"op_{name}_{number}"), run=pen.run, key=Digest(f"key_{number}"))
            await pen.write(moved(row, "allowed"), changes=(OpenOperation(row),))
        except KeyTaken:
            return False
        return True

    print(sum(await asyncio.gather(*(one(number) for number in range(count)))), flush=True)


async def endless(ledger: SqliteLedger | PostgresLedger, name: str, count: int) -> None:
    """Append without end, telling each sequence once it is durable."""

    async def one(number: int) -> None:
        pen = Pen(ledger, RunId(f"run_{name}_{number}"))
        await pen.start()
        while True:
            await pen.write(*(said("x" * 500) for _ in range(3)))
            print(pen.run, pen.sequence, flush=True)

    await asyncio.gather(*(one(number) for number in range(count)))


async def hold(ledger: SqliteLedger | PostgresLedger, name: str, count: int) -> None:
    """Own a run until the parent closes the pipe."""
    await Pen(ledger, RunId(f"run_{name}")).start()
    print(ledger.owner, flush=True)
    await asyncio.to_thread(sys.stdin.read)


async def tell(ledger: SqliteLedger | PostgresLedger, name: str, count: int) -> None:
    """Post to a run when the parent says so."""
    print("ready", flush=True)
    await asyncio.to_thread(sys.stdin.readline)
    await ledger.post(RunId(f"run_{name}"), CancelRun(by="another process"))
    print("posted", flush=True)


async def say(ledger: SqliteLedger | PostgresLedger, name: str, count: int) -> None:
    """Publish a delta for each line of the parent's, and stay."""
    run = RunId(f"run_{name}")
    print(ledger.owner, flush=True)
    for index in range(count):
        await asyncio.to_thread(sys.stdin.readline)
        ledger.publish_deltas([Delta(run=run, after=1, turn=1, attempt=1, index=index, kind="text", text=f"word {index}")])
        print("said", flush=True)
    await asyncio.to_thread(sys.stdin.read)


async def main(place: str, role: str, name: str, count: int) -> None:
    ledger = ledger_named(place)
    await ledger.open()
    await {"write": write, "endless": endless, "hold": hold, "tell": tell, "say": say}[role](ledger, name, count)
    await ledger.aclose()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4])))
