"""The background of an open owner: takes up what may go on, and tells who is waited for.

Knows the ledger's list of claimable runs. It does not know what they do. Invariant: a run that cannot
be taken up is tried again later, and never keeps others from being taken up.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress

from remit import ambient
from remit.owner.record import record, take_or_record
from remit.owner.state import State, recorder_for
from remit.owner.waiting import Teller
from remit.owner.workflow import needs_workflow
from remit.types.ident import ConversationId, RunId
from remit.types.run import RunRow

__all__ = ["sweep", "watch"]

_LOOK_S = 1.0
_CALM_S = 0.1
_AGAIN_S = 30.0
_AT_ONCE = 64


async def watch(state: State, teller: Teller | None) -> None:
    """Sweep whenever something changed, and about once a second for owners that died; until cancelled.

    Whatever goes wrong is logged, and tried again a second later.
    """
    try:
        while True:
            state.news.clear()
            try:
                seen = await state.ledger.changed(-1, timeout_s=0)
                await sweep(state)
                if teller is not None:
                    await teller.tell()
            except Exception as error:
                recorder_for(state.secrets).log_error(error)
                await _again(state)
            else:
                await _news(state, seen)
    finally:
        if teller is not None:
            await teller.aclose()


async def sweep(state: State) -> None:
    """Take up, once, all that may go on now."""
    rows = [row for row in await state.ledger.claimable(sorted(state.names)) if _is_ours_to_take(state, row)]
    rows += [row for row in await _lost(state) if all(one.id != row.id for one in rows)]
    rows = _first_of_each_queue(rows)
    for start in range(0, len(rows), _AT_ONCE):
        some = rows[start : start + _AT_ONCE]
        ends = await asyncio.gather(*(_take(state, row) for row in some), return_exceptions=True)
        for row, end in zip(some, ends, strict=True):
            _note(state, row, end)


async def _lost(state: State) -> list[RunRow]:
    """Runs that are ours and that no task drives, because one ended in an error."""
    rows: list[RunRow] = []
    for run in list(state.lost):
        row = await state.ledger.run(run)
        if row is None or row.status != "active" or row.owner != state.ledger.owner:
            state.lost.pop(run, None)
        elif _is_ours_to_take(state, row):
            rows.append(row)
    return rows


async def _take(state: State, row: RunRow) -> bool:
    """A host's run goes on when its host calls; what others told it is journaled now."""
    if row.host and row.status != "ended" and not needs_workflow(state, row):
        await record(state, row.id)
        return True
    return await take_or_record(state, row)


def _is_ours_to_take(state: State, row: RunRow) -> bool:
    if row.id in state.live:
        return False
    return state.again_s.get(row.id, 0.0) <= ambient.monotonic_s()


def _first_of_each_queue(rows: list[RunRow]) -> list[RunRow]:
    queues: set[tuple[str, ConversationId | RunId]] = set()
    first: list[RunRow] = []
    for row in rows:
        queue = (row.tenant, row.id if row.status != "queued" or row.conversation is None else row.conversation)
        if queue not in queues:
            queues.add(queue)
            first.append(row)
    return first


def _note(state: State, row: RunRow, end: bool | BaseException) -> None:
    """One run that cannot be taken up is no reason to leave the others; it is tried again later."""
    if isinstance(end, BaseException):
        state.again_s[row.id] = ambient.monotonic_s() + _AGAIN_S
        recorder_for(state.secrets).log_error(end, run=row.id)
    else:
        state.again_s.pop(row.id, None)


async def _again(state: State) -> None:
    """Return when something here asks for it, or a second later."""
    with suppress(TimeoutError):
        async with asyncio.timeout(_LOOK_S):
            await state.news.wait()


async def _news(state: State, seen: int) -> None:
    """Return when something here asks for it, or a little after the ledger changed, or late."""
    here = asyncio.ensure_future(state.news.wait())
    there = asyncio.ensure_future(state.ledger.changed(seen, timeout_s=_LOOK_S))
    try:
        await asyncio.wait({here, there}, return_when=asyncio.FIRST_COMPLETED)
        if not here.done():
            await asyncio.wait({here}, timeout=_CALM_S)
    finally:
        here.cancel()
        there.cancel()
        await asyncio.gather(here, there, return_exceptions=True)
