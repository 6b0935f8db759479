"""Following a run: its committed events, in order, from any process.

Knows the ledger's events and its counter of changes. It does not know who drives the run. Invariant:
every event is given once, in the order of its sequence number, and only after it is durable.
"""

from __future__ import annotations

from collections.abc import AsyncIterator

from remit.errors import InputError, NotFound
from remit.owner.state import need_principal
from remit.types.event import Recorded
from remit.types.given import given_id, is_count
from remit.types.ident import RunId
from remit.types.ledger import Ledger
from remit.types.principal import Principal
from remit.types.run import RunRow

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


async def follow(ledger: Ledger, run: RunId, *, after: int, principal: Principal | None) -> AsyncIterator[Recorded]:
    """Yield events with a sequence number above `after`, as they come; end when nothing more can."""
    await row_of(ledger, run, principal)
    if not is_count(after):
        raise InputError("after= of follow is a sequence number, 0 or more", code="follow.after")
    seen = await ledger.changed(-1, timeout_s=0)
    while True:
        row = await row_of(ledger, run)
        ended = row.status == "ended" and not await ledger.inbox(run)
        events = await ledger.read(run, after=after, limit=_PAGE)
        for recorded in events:
            after = recorded.sequence
            yield recorded
        if events:
            continue
        if ended:
            return
        seen = await ledger.changed(seen, timeout_s=_LOOK_S)
