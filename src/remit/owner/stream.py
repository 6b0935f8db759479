"""Streams: a request as `Remit.run` takes it, with all that happens on the way to where it stands still.

Knows listeners and the ways to follow and to wait. It does not know how anything is written. Invariant: whoever listens
changes nothing for the run, and goes away whenever it likes.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import ExitStack, aclosing

from remit import ambient
from remit.agent import Agent, Conversation
from remit.owner.ask import ask
from remit.owner.delta import DeltaCursor
from remit.owner.follow import follow
from remit.owner.join import until_still
from remit.owner.request import Asked
from remit.owner.state import State
from remit.types.event import Recorded
from remit.types.ident import RunId
from remit.types.principal import Principal
from remit.types.stream import Delta, Retracted, Step

__all__ = ["hear", "stream"]


async def stream(
    state: State,
    agent: str | Agent,
    request: Asked,
    principal: Principal,
    *,
    conversation: str | Conversation | None,
    request_id: str | None,
) -> AsyncGenerator[Step, None]:
    """Ask, and yield what happens until the run stands still; last, how it stands."""
    with ExitStack() as listening:
        new = RunId(ambient.new_id("run"))
        listening.enter_context(state.hearing(new))  # before it exists, so that its first reply is streamed
        run = await ask(state, agent, request, principal, conversation=conversation, request_id=request_id, new=new)
        if run != new:
            listening.enter_context(state.hearing(run))
        still = asyncio.ensure_future(until_still(state, run, principal))
        try:
            ear = DeltaCursor(state.ledger, run)
            async with aclosing(follow(state.ledger, run, after=0, principal=principal, ear=ear, still=still)) as steps:
                async for step in steps:
                    yield step
            yield await still
        finally:
            still.cancel()
            await asyncio.gather(still, return_exceptions=True)


async def hear(
    state: State, run: RunId, *, after: int, principal: Principal | None
) -> AsyncIterator[Recorded | Delta | Retracted]:
    """`follow` with deltas."""
    with state.hearing(run):
        ear = DeltaCursor(state.ledger, run)
        async with aclosing(follow(state.ledger, run, after=after, principal=principal, ear=ear)) as steps:
            async for step in steps:
                yield step
