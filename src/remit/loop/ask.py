"""Asking a model: reserve, record, send, read.

Knows the wire of the one that is asked, and the journal. Invariant: nothing is sent before its `ModelRequested`, with
everything that precedes it, is durable; a reply that cannot be read, or is not whole, is a failed attempt.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace

from remit import ambient
from remit.budget import foresee, price, price_bound
from remit.errors import BudgetExceeded, InputError, ModelError, ProtocolError
from remit.foreign import contained, origin
from remit.loop import server_write
from remit.loop.command import Ask, Backoff
from remit.loop.live import Live
from remit.loop.notice import notices
from remit.loop.phase import Phase
from remit.loop.state import RunState
from remit.loop.transcript import bulk_of, size_of
from remit.types.event import MessageAppended, ModelRequested, Replied, RequestFailed
from remit.types.label import TRUSTED, Label
from remit.types.model import Model, Reading, Reply

__all__ = ["ask", "requested", "stop_reason"]

_FOUND_BY_PROVIDER = Label(trusted=False, sources=frozenset({"tools that the provider runs"}))

_BOUND_BYTES_PER_TOKEN = 2
"""For what is reserved: holds for prose, code and JSON."""
_LIKELY_BYTES_PER_TOKEN = 4
"""For what surely does not fit: a request that might is sent, and the provider counts it."""

_DECLINED = frozenset({400, 401, 403, 404, 413, 429})
"""HTTP statuses with which a provider says that it did nothing with a request."""


@dataclass(frozen=True, slots=True)
class _Reserved:
    """Upper bounds of what a request may take, and how many tokens it likely sends (`likely_tokens`)."""

    tokens: int
    usd_micros: int
    likely_tokens: int


@dataclass(frozen=True, slots=True)
class _End:
    """How an attempt ended. `declined`: it is known that the provider did nothing with it."""

    event: Replied | RequestFailed
    declined: bool = False


# before it is sent


def requested(live: Live, state: RunState, command: Ask | Backoff, *, fresh: int) -> ModelRequested | str:
    """The event of the next request, or the reason with which the run stops instead.

    Args:
        fresh: bulk that it adds to what is said already.

    Raises:
        InputError: there is a usd budget, and the model's price is unknown.
    """
    model = live.roster.model(command.model)
    reserved = _reserve(live, state, model, fresh)
    reason = live.limits.may_request(state, ambient.now_ms(), tokens=reserved.tokens, usd_micros=reserved.usd_micros)
    if reason is not None:
        return reason
    if live.roster.is_too_long(model, reserved.likely_tokens):
        return "context.full"
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
    return live.state.phase is Phase.ASK_MODEL and _is_open(live, command)


def _is_open(live: Live, command: Ask | Backoff) -> bool:
    state = live.state
    return state.requested and (state.turn, state.attempt) == (command.turn, command.attempt)


async def _request(live: Live, command: Ask | Backoff) -> bool:
    messages, taken = await notices(live)
    state = live.state
    if state.phase is not Phase.CHECK_BUDGETS:
        return False
    event = _fitting(live, state, messages, command)
    if isinstance(event, str):
        live.stop(event)
        return False
    moves, opened = server_write.begun(live, event)
    changes = (*taken, *opened, *live.limits.request(state, event, ambient.now_ms()))
    try:
        await live.journal.commit(*messages, event, *moves, changes=changes)
    except BudgetExceeded as error:
        live.stop(stop_reason(error))
        return False
    return True


def _fitting(live: Live, state: RunState, messages: Sequence[MessageAppended], command: Ask | Backoff) -> ModelRequested | str:
    if messages:
        label = state.label
        for message in messages:
            label = label.join(message.label)
        state = replace(state, label=label)
    try:
        return requested(live, state, command, fresh=sum(bulk_of(message.wording) for message in messages))
    except InputError as error:
        return error.code


def stop_reason(error: BudgetExceeded) -> str:
    """The stable reason of a limit that the ledger held."""
    name = str(error.details.get("budget", "tokens"))
    return f"budget.{'usd' if name == 'usd_micros' else 'seconds' if name == 'active_ms' else name}"


# sending, and what comes of it


async def _send(live: Live, command: Ask | Backoff) -> None:
    end = await _reply(live, command, live.roster.model(live.state.model))
    if not isinstance(end.event, Replied):
        live.speech.retract()
    if live.state.operation is None:
        if _is_asked(live, command):
            live.journal.note(end.event, changes=live.limits.settle(live.state, end.event))
        return
    event, (moves, changes) = await server_write.ended(live, end.event, declined=end.declined)
    if _is_open(live, command):
        changes = (*changes, *live.limits.settle(live.state, event))
        live.journal.note(*moves, event, changes=changes)


async def _reply(live: Live, command: Ask | Backoff, model: Model) -> _End:
    wire, roster, started_s = model.wire, live.roster, ambient.monotonic_s()
    ambient.reach("model.requested")
    try:
        streamed = live.spec.streams is not None and live.spec.streams()
        body = wire.body(roster.head(model), live.said, stream=streamed)
        foresee(model.identity)
        with contained(awaiting=True):
            if streamed:
                raw = await model.ask(body, wire.gather(roster.names), live.speech.heard)
            else:
                raw = await model.ask(body)
        reading = Reading(
            max_tokens=live.started.max_tokens,
            names=roster.names,
            used_ids=live.used_ids,
            mint=lambda position: _minted(live, command.turn, position),
        )
        reply = wire.read(raw, reading)
    except ModelError as error:
        after = error.details.get("retry_after_s")
        after_s = float(after) if isinstance(after, (int, float)) else None
        event = _failed(command, error.code, error.message, retryable=error.retryable, retry_after_s=after_s)
        return _End(event, _is_declined(error))
    except ProtocolError as error:
        return _End(_failed(command, error.code, error.message, retryable=True))
    except Exception as error:
        message = f"the model raised {type(origin(error)).__name__}"
        return _End(_failed(command, "model.error", message, retryable=False))
    ambient.reach("model.replied")
    return _End(_replied(command, reply, model, round((ambient.monotonic_s() - started_s) * 1000)))


def _is_declined(error: ModelError) -> bool:
    """Whether it is known that nothing was sent, or that the provider did nothing with it."""
    details = error.details
    return details.get("sent") is False or details.get("phase") == "connect" or details.get("status") in _DECLINED


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


def _replied(command: Ask | Backoff, reply: Reply, model: Model, latency_ms: int) -> Replied:
    return Replied(
        turn=command.turn,
        attempt=command.attempt,
        wording=reply.wording,
        text=reply.text,
        calls=reply.calls,
        stop=reply.stop,
        raw_stop=reply.raw_stop,
        usage=replace(reply.usage, cost_usd_micros=price(model.identity, reply.usage)),
        model=reply.model,
        response_id=reply.response_id,
        refusal=reply.refusal,
        unresolved=reply.unresolved,
        mends=reply.mends,
        latency_ms=latency_ms,
        label=_FOUND_BY_PROVIDER if reply.server_ran else TRUSTED,
    )
