"""Following a run: its committed events, in order, and what is written between them; from any process.

Knows the ledger's events and its counter of changes. It does not know who drives the run. Invariant:
every event is given once, in the order of its sequence number, and only after it is durable.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing

from remit.errors import InputError, NotFound
from remit.owner.delta import DeltaCursor
from remit.owner.state import need_principal
from remit.trace import Redactor
from remit.types.event import Recorded
from remit.types.given import given_id, is_count
from remit.types.ident import RunId
from remit.types.ledger import Ledger
from remit.types.principal import Principal
from remit.types.run import RunRow, Standing
from remit.types.stream import Delta, Retracted

__all__ = ["follow", "follow_deltas", "row_of"]

_PAGE = 500
_LOOK_S = 1.0
_LAST = 2**63 - 1
"""The last number that a ledger can count to."""


async def row_of(ledger: Ledger, run: RunId, principal: Principal | None = None) -> RunRow:
    """The run's row.

    Raises:
        NotFound: there is none, or it is not this principal's.
        InputError: the id is no text, or the principal is none.
    """
    given_id(run, "the run's id", "give the id that run() or submit() gave")
    if principal is not None:
        need_principal(principal)
    row = await ledger.run(run)
    if row is None or (principal is not None and (row.tenant, row.subject) != (principal.tenant, principal.subject)):
        raise NotFound(f"no run {run!r}; take the id that run() or submit() gave", code="run.not_found", run=run)
    return row


async def follow(ledger: Ledger, run: RunId, *, after: int, principal: Principal | None) -> AsyncGenerator[Recorded]:
    """Yield events with a sequence number above `after`, as they come; end once the run has ended."""
    await _check(ledger, run, after, principal)
    async with aclosing(_pages(ledger, run, after, still=None)) as pages:
        async for page in pages:
            for recorded in page:
                yield recorded


async def follow_deltas(
    ledger: Ledger,
    run: RunId,
    *,
    after: int,
    principal: Principal | None,
    redactor: Redactor,
    still: asyncio.Future[Standing] | None = None,
) -> AsyncGenerator[Recorded | Delta | Retracted]:
    """As `follow`, with what is written between the events.

    Args:
        redactor: takes declared secrets out of what is written.
        still: done once the run stands still; then it ends when all is given. None: it ends once the run has ended.
    """
    await _check(ledger, run, after, principal)
    cursor = DeltaCursor(ledger, run, redactor)
    await cursor.catch_up(after)
    async with aclosing(_pages(ledger, run, after, still=still)) as pages:
        async for page in pages:
            for recorded in page:
                for step in await cursor.before(recorded):
                    yield step
                yield recorded
            if not page:
                for delta in await cursor.fetch():
                    yield delta


async def _check(ledger: Ledger, run: RunId, after: int, principal: Principal | None) -> None:
    await row_of(ledger, run, principal)
    if not is_count(after) or after > _LAST:
        raise InputError("after= of follow is a sequence number, 0 or more and below 2**63", code="follow.after")


async def _pages(
    ledger: Ledger, run: RunId, after: int, *, still: asyncio.Future[Standing] | None
) -> AsyncGenerator[list[Recorded]]:
    """The events page by page. An empty page says that there are no more for now: something may have changed beside them."""
    seen, over = await ledger.changed(-1, timeout_s=0), False
    while True:
        page = await ledger.read(run, after=after, limit=_PAGE)
        yield page
        if page:
            after = page[-1].sequence
        elif over:
            return
        else:
            over = await _is_over(ledger, run) if still is None else still.done()
            if not over:
                seen = await _news(ledger, seen, still)


async def _is_over(ledger: Ledger, run: RunId) -> bool:
    row = await row_of(ledger, run)
    return row.status == "ended" and not await ledger.inbox(run)


async def _news(ledger: Ledger, seen: int, still: asyncio.Future[Standing] | None) -> int:
    """Return when the ledger has changed, or the run stands still, or late."""
    if still is None:
        return await ledger.changed(seen, timeout_s=_LOOK_S)
    changed = asyncio.ensure_future(ledger.changed(seen, timeout_s=_LOOK_S))
    try:
        await asyncio.wait({changed, still}, return_when=asyncio.FIRST_COMPLETED)
        return changed.result() if changed.done() else seen
    finally:
        if not changed.done():
            changed.cancel()
            await asyncio.gather(changed, return_exceptions=True)
