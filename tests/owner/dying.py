"""A process that dies at a commit of one's choice, and what must hold of a tree of runs whatever died when."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine

from behaviour.family import events_of
from behaviour.shop import Shop
from remit import Agent, LedgerError, MemoryLedger, Remit
from remit.types.delivery import Delivery
from remit.types.event import CallEnded, ChildStarted, Replied
from remit.types.ident import RunId
from remit.types.ledger import Append, Committed


class Dying(MemoryLedger):
    """Its process comes to a stop at the commit of that number: right before it, or once it is durable.

    Attributes:
        commits: how many there were.
        dead: set when it has stopped. `buried`: whatever still waits for it in this process may go.
    """

    def __init__(self, *, at: int = -1, after: bool = False, store: MemoryLedger | None = None) -> None:
        super().__init__(store=store)
        self.at, self.after = at, after
        self.commits = 0
        self.dead = asyncio.Event()
        self.buried = asyncio.Event()

    async def commit(self, append: Append) -> Committed:
        self.commits += 1
        if self.dead.is_set() or (self.commits == self.at and not self.after):
            await self._stop()
        done = await super().commit(append)
        if self.commits >= self.at >= 0 and self.after:
            await self._stop()
        return done

    async def post(self, run: RunId, delivery: Delivery) -> int:
        if self.dead.is_set():
            await self._stop()
        return await super().post(run, delivery)

    async def _stop(self) -> None:
        self.dead.set()
        await self.buried.wait()
        raise LedgerError("its process is dead")


async def lived(remit: Remit, ledger: Dying, work: Coroutine[object, object, None]) -> bool:
    """Whether the work was done before the process died."""
    working = asyncio.ensure_future(work)
    dying = asyncio.ensure_future(ledger.dead.wait())
    await asyncio.wait({working, dying}, return_when=asyncio.FIRST_COMPLETED)
    if working.done():
        dying.cancel()
        await working
        return True
    await remit.abandon()
    working.cancel()
    await asyncio.gather(working, return_exceptions=True)
    ledger.abandon()
    ledger.buried.set()
    return False


async def check(ledger: MemoryLedger, agent: Agent, shop: Shop) -> None:
    """One answer for each proposal, one child for each call, and books that equal the ledger's."""
    async with Remit(ledger=ledger, agents=[agent], deps=shop) as remit:
        assert await remit.verify() == []
        rows = await remit.runs()
        assert {row.status for row in rows} == {"ended"}
        for row in rows:
            events = await events_of(remit, row.id)
            asked = sum(len(event.calls) for event in events if isinstance(event, Replied))
            assert len([event for event in events if isinstance(event, CallEnded)]) == asked
            children = {event.child for event in events if isinstance(event, ChildStarted)}
            assert {one.id for one in rows if one.parent == row.id} == children
            assert await ledger.inbox(row.id) == []
        made = [one for one in await remit.operations() if one.tool == "issue_refund"]
        done = [one for one in made if one.state == "succeeded"]
        assert len(shop.refunds) == len(done) == len(set(shop.refunds))
        assert {one.state for one in made} <= {"succeeded", "failed", "closed"}
