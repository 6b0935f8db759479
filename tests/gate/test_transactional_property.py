"""Whatever a handler does and wherever the process is cut off: an operation succeeded if and only if its row is there."""

from __future__ import annotations

import asyncio
import contextlib

import apsw
from hypothesis import given, settings
from hypothesis import strategies as st

from gate.stage import stage, verified
from remit import ambient
from remit.errors import RemitError
from remit.ledger import MemoryLedger
from remit.tool import Context, InDoubt, NoEffect, never, tool, transactional, write
from remit.types.connection import Connection
from remit.types.label import TRUSTED

ENDS = ("return", "raise", "no_effect", "in_doubt", "rollback", "denied", "swallow", "exit")
POINTS = ("", "dispatch.after", "transact.begun", "transact.returned", "transact.applied", "transact.committed", "effect.after")

Step = tuple[str, str, str]
"""A seat, what the handler does, and where the process is cut off."""


def act(connection: Connection, end: str) -> None:
    """What a handler may come to after its row is written."""
    match end:
        case "raise":
            raise ValueError("no")
        case "no_effect":
            raise NoEffect("declined")
        case "in_doubt":
            raise InDoubt("something else may have happened")
        case "rollback":
            with contextlib.suppress(apsw.ConstraintError):
                connection.execute("INSERT OR ROLLBACK INTO seat SELECT id, operation FROM seat")
        case "denied":
            connection.execute("DELETE FROM remit_run")
        case "swallow":
            with contextlib.suppress(RemitError):
                connection.execute("COMMIT")
        case "exit":
            raise SystemExit(1)
        case _:
            return


class Cut(ambient.Machine):
    """The process ends at a crash point, as far as the ledger can see."""

    def __init__(self, point: str) -> None:
        self.point = point

    def reach(self, point: str) -> None:
        if self.point and point == self.point:
            raise OSError("the process ends here")


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(st.sampled_from("AB"), st.sampled_from(ENDS), st.sampled_from(POINTS)), min_size=1, max_size=5))
def test_never_an_operation_that_succeeded_without_its_row_nor_a_row_without_it(steps: list[Step]) -> None:
    ends = {"A": "return", "B": "return"}

    @tool(effect=write(once_per="seat", recovery=transactional), approve=never, label=TRUSTED)
    def book(seat: str, ctx: Context[object]) -> str:
        """Book a seat.

        Args:
            seat: which
        """
        ctx.connection.execute("CREATE TABLE IF NOT EXISTS seat (id TEXT PRIMARY KEY, operation TEXT NOT NULL)")
        ctx.connection.execute("INSERT INTO seat VALUES (?, ?)", (seat, ctx.operation_id))
        act(ctx.connection, ends[seat])
        return seat

    async def rows(ledger: MemoryLedger) -> set[object]:
        found: set[object] = set()

        def look(connection: Connection) -> None:
            if connection.execute("SELECT 1 FROM sqlite_schema WHERE name = 'seat'"):
                found.update(operation for (operation,) in connection.execute("SELECT operation FROM seat"))

        await ledger.transact(look, lambda _: None, timeout_s=30)
        return found

    async def story() -> None:
        ledger = MemoryLedger()
        await ledger.open()
        for number, (seat, end, point) in enumerate(steps):
            ends[seat] = end
            one = await stage(ledger, [book], run=f"run_{number}")
            with ambient.use(Cut(point)), contextlib.suppress(OSError, RemitError):
                await one.call("book", {"seat": seat})
            if point:  # the process has ended; another one takes over
                ledger.abandon()
                ledger = MemoryLedger(store=ledger)
                await ledger.open()
            succeeded = {row.id for row in await ledger.operations(state=("succeeded",), limit=None)}
            assert await rows(ledger) == succeeded, (number, seat, end, point)
            await verified(ledger)
        await ledger.aclose()

    asyncio.run(story())
