"""Asking a model: record, send, read.

Knows the wire of the one that is asked, and the journal. Invariant: nothing is sent before its `ModelRequested`, with
everything that precedes it, is durable; a reply that cannot be read, or is not whole, is a failed attempt.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace

from remit import ambient
from remit.budget import foresee, price
from remit.errors import BudgetExceeded, InputError, ModelError, ProtocolError
from remit.foreign import contained, origin
from remit.loop import server_write
from remit.loop.command import Ask
from remit.loop.live import Live
from remit.loop.notice import notices
from remit.loop.phase import Phase
from remit.loop.reserve import requested, stop_reason
from remit.loop.state import RunState
from remit.loop.transcript import bulk_of
from remit.types.event import MessageAppended, ModelRequested, Replied, RequestFailed
from remit.types.label import TRUSTED, Label
from remit.types.model import Model, Reading, Reply, Streaming

__all__ = ["ask"]

_FOUND_BY_PROVIDER = Label(trusted=False, sources=frozenset({"tools that the provider runs"}))

_DECLINED = frozenset({400, 401, 403, 404, 413, 429})
"""HTTP statuses with which a provider says that it did nothing with a request."""


@dataclass(frozen=True, slots=True)
class _End:
    """How an attempt ended. `declined`: it is known that the provider did nothing with it."""

    event: Replied | RequestFailed
    declined: bool = False


async def ask(live: Live, command: Ask) -> None:
    """Make one request and record what came of it; or stop the run where it does not fit."""
    if command.wait_s or command.least_s:
        await ambient.sleep(_pause_s(command))
    if live.state.phase is Phase.CHECK_BUDGETS and not await _request(live, command):
        return
    if _is_asked(live, command):
        await _send(live, command)


def _pause_s(command: Ask) -> float:
    """At random between half and all of the delay, so that many runs do not come back at once."""
    share = 0.5 + int.from_bytes(ambient.random_bytes(2), "big") / 0x20000
    return max(command.least_s, command.wait_s * share)


def _is_asked(live: Live, command: Ask) -> bool:
    return live.state.phase is Phase.ASK_MODEL and _is_open(live, command)


def _is_open(live: Live, command: Ask) -> bool:
    state = live.state
    return state.requested and (state.turn, state.attempt) == (command.turn, command.attempt)


async def _request(live: Live, command: Ask) -> bool:
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


def _fitting(live: Live, state: RunState, messages: Sequence[MessageAppended], command: Ask) -> ModelRequested | str:
    if messages:
        label = state.label
        for message in messages:
            label = label.join(message.label)
        state = replace(state, label=label)
    try:
        return requested(live, state, command, fresh=sum(bulk_of(message.wording) for message in messages))
    except InputError as error:
        return error.code


async def _send(live: Live, command: Ask) -> None:
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


async def _reply(live: Live, command: Ask, model: Model) -> _End:
    started_s = ambient.monotonic_s()
    ambient.reach("model.requested")
    try:
        raw = await _raw(live, model)
        reply = model.wire.read(raw, _reading(live, command.turn))
    except ModelError as error:
        return _End(_failed(command, error), _is_declined(error))
    except ProtocolError as error:
        return _End(_failed(command, error))
    ambient.reach("model.replied")
    return _End(_replied(command, reply, model, round((ambient.monotonic_s() - started_s) * 1000)))


async def _raw(live: Live, model: Model) -> bytes:
    """Send the request, and return the response body.

    Raises:
        ModelError: it failed; whatever a model raises that is no error of ours is one of its own (`model.error`).
        ProtocolError: the transcript or the stream is not of the protocol's shape.
    """
    wire, roster = model.wire, live.roster
    streamed = live.spec.streams is not None and live.spec.streams()
    body = wire.body(roster.head(model), live.said, stream=streamed)
    stream = Streaming(wire.gather(roster.names), live.speech.heard) if streamed else None
    foresee(model.identity)
    try:
        with contained(awaiting=True):
            return await model.ask(body, stream)
    except (ModelError, ProtocolError):
        raise
    except Exception as error:  # a model of the application's own
        message = f"the model raised {type(origin(error)).__name__}"
        raise ModelError(message, code="model.error", retryable=False) from error


def _reading(live: Live, turn: int) -> Reading:
    return Reading(
        max_tokens=live.started.max_tokens,
        names=live.roster.names,
        used_ids=live.used_ids,
        mint=lambda position: _minted(live, turn, position),
    )


def _is_declined(error: ModelError) -> bool:
    """Whether it is known that nothing was sent, or that the provider did nothing with it."""
    return error.details.get("sent") is False or error.details.get("status") in _DECLINED


def _minted(live: Live, turn: int, position: int) -> str:
    """An id for a call whose own cannot stand: the same for the same call."""
    return f"call_{hashlib.sha256(f'{live.run}/{turn}/{position}'.encode()).hexdigest()[:24]}"


def _failed(command: Ask, error: ModelError | ProtocolError) -> RequestFailed:
    """A reply that cannot be read may be read when it is given again."""
    after = error.details.get("retry_after_s")
    return RequestFailed(
        turn=command.turn,
        attempt=command.attempt,
        code=error.code,
        message=error.message,
        retryable=error.retryable or isinstance(error, ProtocolError),
        retry_after_s=float(after) if isinstance(after, (int, float)) else None,
    )


def _replied(command: Ask, reply: Reply, model: Model, latency_ms: int) -> Replied:
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
