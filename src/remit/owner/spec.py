"""What the loop is told of the agent of now.

Knows agents and the loop's `RunSpec`. Invariant: nothing in it changes what a run recorded.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable

from remit.loop import RunSpec
from remit.owner.state import Bound, State
from remit.tool import Context
from remit.types.ident import RunId
from remit.types.principal import Principal

__all__ = ["spec_of"]


def spec_of(bound: Bound, state: State, run: RunId, principal: Principal) -> RunSpec:
    """The spec of one run of this agent."""
    agent = bound.agent
    return RunSpec(
        model=bound.model,
        answer=None if agent.answer_type is None else agent.answer_type.check,
        done=_done(bound, state, run, principal),
        log=bound.recorder.log_event,
        polls=frozenset(tool.name for tool in agent.catalogue.tools if tool.polls),
    )


def _done(bound: Bound, state: State, run: RunId, principal: Principal) -> Callable[[], Awaitable[object]] | None:
    done = bound.agent.done
    if done is None:
        return None

    async def ask() -> object:
        context = Context(principal=principal, deps=state.deps, run=run)
        answer = done(context) if inspect.iscoroutinefunction(done) else await asyncio.to_thread(done, context)
        return await answer if inspect.isawaitable(answer) else answer

    return ask
