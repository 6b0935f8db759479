"""What the loop is told of the agent of now.

Knows agents and the loop's `RunSpec`. Invariant: nothing in it changes what a run recorded.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from remit.loop import RunSpec
from remit.model import need_key
from remit.owner.state import Bound, State
from remit.tool import Context
from remit.types.ident import RunId
from remit.types.principal import Principal

__all__ = ["spec_of"]


def spec_of(bound: Bound, state: State, run: RunId, principal: Principal) -> RunSpec:
    """The spec of one run of this agent.

    Raises:
        InputError: there is no key for one of its models (`model.key`).
    """
    for model in bound.models:
        need_key(model)
    agent = bound.agent
    return RunSpec(
        model=bound.model,
        fallbacks=bound.fallbacks,
        streams=partial(state.listeners.wants, run, always=agent.stream),
        answer=None if agent.answer_type is None else agent.answer_type.check,
        done=_done(bound, state, run, principal),
        context_tokens=agent.context_tokens,
        log=bound.recorder.log_event,
        polls=frozenset(tool.name for tool in agent.catalogue.tools if tool.polls),
    )


def _done(bound: Bound, state: State, run: RunId, principal: Principal) -> Callable[[], object] | None:
    done = bound.agent.done
    if done is None:
        return None
    return partial(done, Context(principal=principal, deps=state.deps, run=run, web=state.web))
