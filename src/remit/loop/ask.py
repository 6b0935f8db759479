"""Asking the model: reserve, record, send, read.

Knows the model's wire and the journal. Invariant: nothing is sent before its `ModelRequested`, with
everything that precedes it, is durable; a reply that cannot be read is a failed attempt.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace

from remit import ambient
from remit.budget import price, price_bound
from remit.errors import BudgetExceeded, InputError, ModelError, ProtocolError
from remit.foreign import contained, origin
from remit.loop.command import Ask, Backoff
from remit.loop.live import Live
from remit.loop.notice import notices
from remit.loop.phase import Phase
from remit.loop.state import RunState
from remit.loop.transcript import bulk_of, size_of
from remit.types.event import MessageAppended, ModelRequested, Replied, RequestFailed
from remit.types.label import TRUSTED, Label
from remit.types.model import Reading, Reply

__all__ = ["Reserved", "ask", "requested", "reserve"]

_FOUND_BY_PROVIDER = Label(trusted=False, sources=frozenset({"tools that the provider runs"}))

_BOUND_BYTES_PER_TOKEN = 2
"""For what is reserved: holds for prose, code and JSON."""
_LIKELY_BYTES_PER_TOKEN = 4
"""For what surely does not fit: a request that might is sent, and the provider counts it."""


@dataclass(frozen=True, slots=True)
class Reserved:
    """Upper bounds of what a request may take, and how many tokens it likely sends (`likely_tokens`)."""

    tokens: int
    usd_micros: int
    likely_tokens: int


def reserve(live: Live, state: RunState, fresh: int) -> Reserved:
    """What the next request may take at most.

    Args:
        fresh: bulk that it adds to what is said already.

    Raises:
        InputError: there is a usd budget, and the model's price is unknown.
    """
    uncounted = state.new_bytes + fresh
    if not state.known_tokens:
        uncounted = size_of(live.started.head) + sum(map(bulk_of, live.said)) + fresh
    input_tokens = state.known_tokens + -(-uncounted // _BOUND_BYTES_PER_TOKEN)
    output = live.started.max_tokens
    usd_micros = 0
    if live.limits.needs_price:
        bound = price_bound(live.spec.model.identity, input_tokens, output)
        if bound is None:
            message = "the usd budget needs the model's price, which is unknown; give a tokens budget instead"
            raise InputError(message, code="budget.price_unknown", model=live.spec.model.identity)
        usd_micros = bound
    return Reserved(input_tokens + output, usd_micros, state.known_tokens + uncounted // _LIKELY_BYTES_PER_TOKEN)


def requested(live: Live, state: RunState, reserved: Reserved, command: Ask | Backoff) -> ModelRequested | str:
    """The event of the next request, or the reason with which the run stops instead."""
    reason = live.limits.may_request(state, ambient.now_ms(), tokens=reserved.tokens, usd_micros=reserved.usd_micros)
    if reason is not None:
        return reason
    window = live.spec.context_tokens
    if window is not None and reserved.likely_tokens >= window:
        return "context.full"
    return ModelRequested(
        turn=command.turn,
        attempt=command.attempt,
        model=command.model,
        reserved_tokens=reserved.tokens,
        reserved_usd_micros=reserved.usd_micros,
        label=state.label,
    )


async def ask(live: Live, command: Ask | Backoff) -> None:
    """Make one request and record what came of it; or stop the run where it does not fit."""
    if isinstance(command, Backoff):
        await ambient.sleep(_pause_s(command))
    if live.state.phase is Phase.CHECK_BUDGETS and not await _request(live, command):
        return
    if _is_asked(live, command):
        await _send(live, command)


def _pause_s(command: Backoff) -> float:
    """At random between half and all of the delay, so that many runs do not come back at once."""
    share = 0.5 + int.from_bytes(ambient.random_bytes(2), "big") / 0x20000
    return max(command.least_s, command.delay_s * share)


def _is_asked(live: Live, command: Ask | Backoff) -> bool:
    state = live.state
    asked = (state.turn, state.attempt) == (command.turn, command.attempt)
    return asked and state.requested and state.phase is Phase.ASK_MODEL


async def _request(live: Live, command: Ask | Backoff) -> bool:
    messages, taken = await notices(live)
    state = live.state
    if state.phase is not Phase.CHECK_BUDGETS:
        return False
    event = _fitting(live, state, messages, command)
    if isinstance(event, str):
        live.stop(event)
        return False
    changes = (*taken, *live.limits.request(state, event, ambient.now_ms()))
    try:
        await live.journal.commit(*messages, event, changes=changes)
    except BudgetExceeded as error:
        live.stop(stop_reason(error))
        return False
    return True


def _fitting(live: Live, state: RunState, messages: Sequence[MessageAppended], command: Ask | Backoff) -> ModelRequested | str:
    for message in messages:
        state = replace(state, label=state.label.join(message.label))
    fresh = sum(bulk_of(message.wording) for message in messages)
    try:
        reserved = reserve(live, state, fresh)
    except InputError as error:
        return error.code
    return requested(live, state, reserved, command)


def stop_reason(error: BudgetExceeded) -> str:
    """The stable reason of a limit that the ledger held."""
    name = str(error.details.get("budget", "tokens"))
    return f"budget.{'usd' if name == 'usd_micros' else 'seconds' if name == 'active_ms' else name}"


async def _send(live: Live, command: Ask | Backoff) -> None:
    started_s = ambient.monotonic_s()
    event = await _reply(live, command)
    if not _is_asked(live, command):
        return
    if isinstance(event, Replied):
        event = replace(event, latency_ms=round((ambient.monotonic_s() - started_s) * 1000))
    live.journal.note(event, changes=live.limits.settle(live.state, event, ambient.now_ms()))


async def _reply(live: Live, command: Ask | Backoff) -> Replied | RequestFailed:
    wire = live.spec.model.wire
    ambient.reach("model.requested")
    try:
        body = wire.body(live.started.head, live.said)
        with contained(awaiting=True):
            raw = await live.spec.model.ask(body)
        reading = Reading(
            max_tokens=live.started.max_tokens,
            names={tool.wire_name: tool.name for tool in live.started.tools},
            used_ids=live.used_ids | live.state.wire_ids,
            mint=lambda position: _minted(live, command.turn, position),
        )
        reply = wire.read(raw, reading)
    except ModelError as error:
        after = error.details.get("retry_after_s")
        after_s = float(after) if isinstance(after, (int, float)) else None
        return _failed(command, error.code, error.message, retryable=error.retryable, retry_after_s=after_s)
    except ProtocolError as error:
        return _failed(command, error.code, error.message, retryable=True)
    except Exception as error:
        return _failed(command, "model.error", f"the model raised {type(origin(error)).__name__}", retryable=False)
    ambient.reach("model.replied")
    return _replied(live, command, reply)


def _minted(live: Live, turn: int, position: int) -> str:
    """An id for a call whose own cannot stand: the same for the same call."""
    return f"call_{hashlib.sha256(f'{live.run}/{turn}/{position}'.encode()).hexdigest()[:24]}"


def _failed(
    command: Ask | Backoff, code: str, message: str, *, retryable: bool, retry_after_s: float | None = None
) -> RequestFailed:
    return RequestFailed(
        turn=command.turn,
        attempt=command.attempt,
        code=code,
        message=message,
        retryable=retryable,
        retry_after_s=retry_after_s,
    )


def _replied(live: Live, command: Ask | Backoff, reply: Reply) -> Replied:
    cost = price(live.spec.model.identity, reply.usage)
    return Replied(
        turn=command.turn,
        attempt=command.attempt,
        wording=reply.wording,
        text=reply.text,
        calls=reply.calls,
        stop=reply.stop,
        raw_stop=reply.raw_stop,
        usage=replace(reply.usage, cost_usd_micros=cost),
        model=reply.model,
        response_id=reply.response_id,
        refusal=reply.refusal,
        mends=reply.mends,
        label=_FOUND_BY_PROVIDER if reply.hosted else TRUSTED,
    )
