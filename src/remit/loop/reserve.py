"""What the next request may take, and whether that fits: reserved before it is sent.

Knows prices, limits and sizes; sends nothing. Invariant: what is reserved is at least what the request can take, so a
request that was let through never passes a limit.
"""

from __future__ import annotations

from dataclasses import dataclass

from remit import ambient
from remit.budget import price_bound
from remit.errors import BudgetExceeded, InputError
from remit.loop import server_write
from remit.loop.choice import next_ask, telling_failure
from remit.loop.command import Ask
from remit.loop.guard import CONTEXT_FULL
from remit.loop.live import Live
from remit.loop.state import Ending, RunState
from remit.loop.transcript import bulk_of, size_of
from remit.types.event import ModelRequested
from remit.types.model import Model

__all__ = ["fitting", "over"]

_BOUND_BYTES_PER_TOKEN = 2
"""For what is reserved: holds for prose, code and JSON."""
_LIKELY_BYTES_PER_TOKEN = 4
"""For what surely does not fit: a request that might is sent, and the provider counts it."""


@dataclass(frozen=True, slots=True)
class _Reserved:
    """Upper bounds of what a request may take, and how many tokens it likely sends (`likely_tokens`)."""

    tokens: int
    usd_micros: int
    likely_tokens: int


def fitting(live: Live, state: RunState, command: Ask, *, fresh: int) -> tuple[Ask, ModelRequested] | Ending:
    """The event of the next request, with what it is of: another model's, where the context of the one that is to be asked
    is too small. Or how the run ends instead.

    Args:
        fresh: bulk that it adds to what is said already.

    Raises:
        InputError: there is a usd budget, and the model's price is unknown.
    """
    too_small: frozenset[str] = frozenset()
    while True:
        event = _requested(live, state, command, fresh)
        if event is not None:
            return event if isinstance(event, Ending) else (command, event)
        too_small |= {command.model}
        other = next_ask(state, without=too_small)
        if other is None:
            failure = telling_failure(state)
            if failure is None or failure.code == CONTEXT_FULL:
                return Ending("stopped", "context.full")
            return Ending("escalated", failure.code)
        command = other


def _requested(live: Live, state: RunState, command: Ask, fresh: int) -> ModelRequested | Ending | None:
    """None: the model's context is too small for it."""
    model = live.roster.model(command.model)
    reserved = _reserve(live, state, model, fresh)
    reason = live.limits.may_request(state, ambient.now_ms(), tokens=reserved.tokens, usd_micros=reserved.usd_micros)
    if reason is not None:
        return Ending("stopped", reason)
    if live.roster.is_too_long(model, reserved.likely_tokens):
        return None
    return ModelRequested(
        turn=command.turn,
        attempt=command.attempt,
        model=model.identity,
        reserved_tokens=reserved.tokens,
        reserved_usd_micros=reserved.usd_micros,
        label=state.label,
        operation=server_write.named(live),
    )


def _reserve(live: Live, state: RunState, model: Model, fresh: int) -> _Reserved:
    uncounted = state.new_bytes + fresh
    if not state.known_tokens:
        uncounted = size_of(live.started.head) + sum(map(bulk_of, live.said)) + fresh
    input_tokens = state.known_tokens + -(-uncounted // _BOUND_BYTES_PER_TOKEN)
    output = live.started.max_tokens
    usd_micros = 0
    if live.limits.needs_price:
        bound = price_bound(model.identity, input_tokens, output)
        if bound is None:
            message = "the usd budget needs the model's price, which is unknown; give a tokens budget instead"
            raise InputError(message, code="budget.price_unknown", model=model.identity)
        usd_micros = bound
    return _Reserved(input_tokens + output, usd_micros, state.known_tokens + uncounted // _LIKELY_BYTES_PER_TOKEN)


def over(error: BudgetExceeded) -> Ending:
    """How a run ends at a limit that the ledger held."""
    name = str(error.details.get("budget", "tokens"))
    return Ending("stopped", f"budget.{'usd' if name == 'usd_micros' else name}")
