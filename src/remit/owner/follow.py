"""Following a run: its committed events, in order, and what is written between them; from any process.

Knows the ledger's events and its counter of changes. It does not know who drives the run. Invariant:
every event is given once, in the order of its sequence number, and only after it is durable.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator

from remit.errors import InputError, NotFound
from remit.owner.delta import DeltaCursor
from remit.owner.state import need_principal
from remit.types.event import Recorded
from remit.types.given import given_id, is_count
from remit.types.ident import RunId
from remit.types.ledger import Ledger
from remit.types.principal import Principal
from remit.types.run import RunRow, Standing
from remit.types.stream import Delta, Retracted

__all__ = ["follow", "row_of"]

_PAGE = 500
_LOOK_S = 1.0


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


async def follow(
    ledger: Ledger,
    run: RunId,
    *,
    after: int,
    principal: Principal | None,
    ear: DeltaCursor | None = None,
    still: asyncio.Future[Standing] | None = None,
) -> AsyncGenerator[Recorded | Delta | Retracted, None]:
    """Yield events with a sequence number above `after`, as they come; end when nothing more can.

    Args:
        ear: gives what is written between them as well.
        still: done once the run stands still; then it ends when all is given. None: it ends once the run has ended.
    """
    await row_of(ledger, run, principal)
    if not is_count(after):
        raise InputError("after= of follow is a sequence number, 0 or more", code="follow.after")
    if ear is not None:
        await ear.catch_up(after)
    seen, over = await ledger.changed(-1, timeout_s=0), False
    while True:
        events = await ledger.read(run, after=after, limit=_PAGE)
        for recorded in events:
            after = recorded.sequence
            for step in [] if ear is None else await ear.before(recorded):
                yield step
            yield recorded
        if events:
            continue
        for delta in [] if ear is None else await ear.hear():
            yield delta
        if over:
            return
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
