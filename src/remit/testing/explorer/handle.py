"""One process's ledger: writes are counted, it can die before or after any of them, and a dead one writes nothing.

Knows a store in memory that outlives it. Invariant: after the crash nothing of the process gets into the store.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from typing import Literal, NoReturn, Protocol, TypeVar

from remit import ambient
from remit.errors import InputError
from remit.ledger import MemoryLedger
from remit.types.approval import Approval
from remit.types.connection import Connection, SqlRow, SqlValues
from remit.types.delivery import Decision, Delivery, LateReport
from remit.types.ident import RunId
from remit.types.ledger import Append, Committed

__all__ = ["Crash", "Handle"]

T = TypeVar("T")

OnWrite = Callable[[Literal["before", "after"]], None]


class Crash(BaseException):
    """The process is gone: raised in it where it stood, so that this very step ends as well."""


class _Nothing:
    """The connection of a transaction whose handler is a model: it has no statements."""

    def execute(self, sql: str, values: SqlValues = ()) -> list[SqlRow]:
        self._refuse()

    def execute_many(self, sql: str, rows: Iterable[SqlValues]) -> None:
        self._refuse()

    def _refuse(self) -> NoReturn:
        raise InputError("an explored transactional tool is a model, and runs no SQL", code="explore.transaction")


class Outside(Protocol):
    """Where a transactional handler's own tables are."""

    def overruns(self) -> bool:
        """Whether the handler that has just run takes longer than it may."""
        ...

    def kept(self) -> None:
        """What it wrote is committed."""
        ...


class Handle(MemoryLedger):
    """A process's own handle of the shared store.

    Args:
        store: shared by all.
        on_write: told before and after each write; it may kill the process.
        outside: told what becomes of transactions. They are as they would be, but for their statements: there are none.
    """

    def __init__(self, store: MemoryLedger, on_write: OnWrite, outside: Outside) -> None:
        super().__init__(store=store)
        self._on_write = on_write
        self._outside = outside
        self.dead = False

    def kill(self) -> None:
        """The process is gone."""
        self.dead = True
        self.abandon()

    def _told(self, side: Literal["before", "after"]) -> None:
        if not self.dead:
            self._on_write(side)
        if self.dead:
            raise Crash

    async def commit(self, append: Append) -> Committed:
        """Commit, unless the process dies first."""
        self._told("before")
        done = await super().commit(append)
        self._told("after")
        return done

    async def post(self, run: RunId, delivery: Delivery) -> int:
        """Post, unless the process dies first."""
        self._told("before")
        done = await super().post(run, delivery)
        self._told("after")
        return done

    async def decide(self, decision: Decision) -> Approval:
        """Decide, unless the process dies first."""
        self._told("before")
        done = await super().decide(decision)
        self._told("after")
        return done

    async def transact(
        self, work: Callable[[Connection], T], outcome: Callable[[T], Append | None], *, timeout_s: float
    ) -> Committed | None:
        """Do the work, here and in no thread, and commit what it wrote together with `outcome` of it."""
        self._told("before")
        await asyncio.sleep(0)
        value = work(_Nothing())
        if self._outside.overruns():
            await ambient.sleep(timeout_s)
            raise TimeoutError("the transaction was ended at its deadline")
        append = outcome(value)
        if append is None:
            return None
        done = await super().commit(append)
        self._outside.kept()
        self._told("after")
        return done

    def post_late(self, run: RunId, report: LateReport) -> None:
        """Post, unless the process is dead."""
        if not self.dead:
            super().post_late(run, report)
