"""Streams: a request as `Remit.run` takes it, with all that happens on the way to where it stands still.

Knows listeners and the ways to follow and to wait. It does not know how anything is written. Invariant: whoever listens
changes nothing for the run, and goes away whenever it likes.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import ExitStack, aclosing
from functools import partial

from remit import ambient
from remit.agent import Agent, Conversation
from remit.owner.ask import ask, name_of
from remit.owner.follow import follow, follow_deltas, row_of
from remit.owner.join import until_still
from remit.owner.request import Asked
from remit.owner.state import State
from remit.owner.steps import Steps
from remit.trace import Redactor
from remit.types.event import Recorded
from remit.types.ident import RunId
from remit.types.principal import Principal
from remit.types.stream import Delta, Retracted, Step
from remit.workflow import Workflow

__all__ = ["events", "listen", "stream"]


def stream(
    state: State,
    agent: str | Agent | Workflow,
    request: Asked,
    principal: Principal,
    *,
    conversation: str | Conversation | None,
    request_id: str | None,
) -> Steps[Step]:
    """Ask, and yield what happens until the run stands still; last, how it stands."""

    async def redactor() -> Redactor:
        return state.redactor(name_of(state, agent))

    steps = _stream(state, agent, request, principal, conversation=conversation, request_id=request_id)
    return Steps(steps, redactor)


async def _stream(
    state: State,
    agent: str | Agent | Workflow,
    request: Asked,
    principal: Principal,
    *,
    conversation: str | Conversation | None,
    request_id: str | None,
) -> AsyncGenerator[Step, None]:
    with ExitStack() as listening:
        new = RunId(ambient.new_id("run"))
        listening.enter_context(state.listeners.listening(new))  # before it exists, so that its first reply is streamed
        run = await ask(state, agent, request, principal, conversation=conversation, request_id=request_id, new=new)
        if run != new:
            listening.enter_context(state.listeners.listening(run))
        redactor = state.redactor(name_of(state, agent))
        still = asyncio.ensure_future(until_still(state, run, principal))
        try:
            told = follow_deltas(state.ledger, run, after=0, principal=principal, redactor=redactor, still=still)
            async with aclosing(told) as steps:
                async for step in steps:
                    yield step
            yield await still
        finally:
            still.cancel()
            await asyncio.gather(still, return_exceptions=True)


def listen(state: State, run: RunId, *, after: int, principal: Principal | None) -> Steps[Recorded | Delta | Retracted]:
    """Follow a run with its deltas, which is streamed for it where it goes on here."""
    return Steps(_listen(state, run, after, principal), partial(_redactor, state, run))


def events(state: State, run: RunId, *, after: int, principal: Principal | None) -> Steps[Recorded]:
    """Follow a run's events alone."""
    return Steps(follow(state.ledger, run, after=after, principal=principal), partial(_redactor, state, run))


async def _listen(
    state: State, run: RunId, after: int, principal: Principal | None
) -> AsyncGenerator[Recorded | Delta | Retracted, None]:
    with state.listeners.listening(run):
        redactor = await _redactor(state, run)
        told = follow_deltas(state.ledger, run, after=after, principal=principal, redactor=redactor)
        async with aclosing(told) as steps:
            async for step in steps:
                yield step


async def _redactor(state: State, run: RunId) -> Redactor:
    return state.redactor((await row_of(state.ledger, run)).agent)
