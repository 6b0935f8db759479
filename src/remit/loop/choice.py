"""Which model is asked next, of those that a run may ask, and whose failure tells how a turn without a reply ends.

Pure. Invariant: a model that failed in a turn is not asked again in it before the others were; one that would only fail
again is out for the turn, and takes nothing from the others.
"""

from __future__ import annotations

from remit.loop.command import Ask
from remit.loop.state import MAX_ATTEMPTS, Blocked, RunState
from remit.types.event import RequestFailed

__all__ = ["BACKOFF_CAP_S", "BACKOFF_S", "IN_DOUBT", "RETRY_AFTER_CAP_S", "next_ask", "telling_failure"]

BACKOFF_S = 0.5
"""Pause before the second attempt of a request; doubled for each further one."""
BACKOFF_CAP_S = 30.0

RETRY_AFTER_CAP_S = 300.0
"""A provider that asks for a longer pause is not waited for."""

IN_DOUBT = "model.unknown"
"""Code of a request that may have changed something, and nobody knows: no model is asked after it."""


def next_ask(state: RunState, *, without: frozenset[str] = frozenset()) -> Ask | None:
    """The next request; None if nobody may be asked in this turn any more.

    The model that replied last goes on. One that failed waits its time, unless another has not failed yet.

    Args:
        without: models that cannot take it.
    """
    failure = state.failure
    if state.attempt >= MAX_ATTEMPTS or (failure is not None and failure.code == IN_DOUBT):
        return None
    turn, attempt = (state.turn, state.attempt + 1) if state.attempt else (state.turn + 1, 1)
    fresh = _fresh(state, without)
    if fresh is not None:
        return Ask(turn, attempt, fresh)
    waiting = [one for one in state.blocked if one.model in _models(state) and one.model not in without and not one.is_out]
    if not waiting:
        return None
    soonest = min(waiting, key=lambda one: one.free_ms)
    least_s = max(0.0, (soonest.free_ms - state.at_ms) / 1000)
    if least_s > RETRY_AFTER_CAP_S:
        return None
    rounds = (state.attempt - 1) // len(state.blocked)
    return Ask(turn, attempt, soonest.model, wait_s=min(BACKOFF_CAP_S, BACKOFF_S * 2**rounds), least_s=least_s)


def _models(state: RunState) -> tuple[str, ...]:
    """Who may be asked, who was asked last before the others."""
    if not state.models or state.model not in state.models:
        return state.models or (state.model,)
    return (state.model, *state.models)


def _fresh(state: RunState, without: frozenset[str]) -> str | None:
    """The first model that did not fail in this turn."""
    no = without.union([one.model for one in state.blocked])
    return next((name for name in _models(state) if name not in no), None)


def telling_failure(state: RunState) -> RequestFailed | None:
    """The failure that ends a turn: the last that could have been mended by asking again, else that of the first model."""
    if state.failure is None or state.failure.code == IN_DOUBT:
        return state.failure
    waiting: list[Blocked] = [one for one in state.blocked if not one.is_out]
    if waiting:
        return waiting[-1].failure
    order = {name: place for place, name in enumerate(state.models)}
    return min(state.blocked, key=lambda one: order.get(one.model, len(order))).failure
