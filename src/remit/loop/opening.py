"""The first commit of a run: what it starts with, and its first request, at once.

Knows nothing that the other requests do not. Invariant: a run that is there has its first request
reserved, or has ended without one.
"""

from __future__ import annotations

from collections.abc import Sequence

from remit import ambient
from remit.errors import BudgetExceeded
from remit.loop import server_write
from remit.loop.command import Ask
from remit.loop.live import Live
from remit.loop.notice import notices
from remit.loop.reserve import fitting, over
from remit.loop.state import Ending
from remit.loop.transcript import bulk_of, transcript
from remit.loop.transition import fold
from remit.types.change import Change, Create, FreeConversation
from remit.types.event import Event, Recorded, RunEnded

__all__ = ["open_run"]


async def open_run(
    live: Live, events: Sequence[Event], *, changes: Sequence[Change] = (), create: Create | None = None
) -> None:
    """Commit `events` and the first request in one transaction.

    Args:
        create: makes the run; None claims its row, which has no events yet.

    Raises:
        InputError: there is a usd budget, and the model's price is unknown; nothing is recorded.
        Conflict, RunOwned: as the ledger says; nothing is recorded.
    """
    messages, taken = await notices(live)
    first = (*events, *messages)
    now = ambient.now_ms()
    imagined = [Recorded(live.run, number, now, event) for number, event in enumerate(first, start=1)]
    state = fold(imagined)
    said = sum(map(bulk_of, transcript(imagined)))
    ending = await server_write.doubted(live)
    found = ending or fitting(live, state, Ask(1, 1, live.started.model), fresh=said)
    if isinstance(found, Ending):
        ending = found
    else:
        _, request = found
        moves, opened = server_write.begun(live, request)
        live.unsent = (request.turn, request.attempt)
        every = (*changes, *taken, *opened, *live.limits.request(state, request, now))
        try:
            await live.journal.commit(
                *first, request, *moves, changes=every, create=create, claim=create is None, status="active"
            )
        except BudgetExceeded as error:
            ending = over(error)
        else:
            return
    free: tuple[Change, ...] = ()
    if live.started.conversation is not None:
        free = (FreeConversation(live.started.conversation, state.label),)
    await live.journal.commit(
        *first,
        RunEnded(how=ending.how, reason=ending.reason, explanation=ending.explanation),
        changes=(*changes, *taken, *free),
        create=create,
        claim=create is None,
        status="ended",
        release=True,
    )
