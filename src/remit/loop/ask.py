"""Asking a model: record, send, read.

Knows the wire of the one that is asked, and the journal. Invariant: nothing is sent before its `ModelRequested`, with
everything that precedes it, is durable; a reply that cannot be read, is not whole, or does not come in the time that the
run has, is a failed attempt.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace

from remit import ambient
from remit.budget import foresee, price
from remit.errors import BudgetExceeded, InputError, ModelError, ProtocolError, RemitError
from remit.foreign import contained, origin
from remit.loop import server_write
from remit.loop.command import Ask
from remit.loop.live import Live
from remit.loop.notice import notices
from remit.loop.phase import Phase
from remit.loop.reserve import fitting, over
from remit.loop.state import Ending, RunState
from remit.loop.transcript import bulk_of
from remit.types.budget import Usage
from remit.types.event import MessageAppended, ModelRequested, Replied, RequestFailed
from remit.types.label import TRUSTED, Label
from remit.types.model import Model, Reading, Reply, Streaming

__all__ = ["ask", "close_unsent"]

_FOUND_BY_PROVIDER = Label(trusted=False, sources=frozenset({"tools that the provider runs"}))

_DECLINED = frozenset({400, 401, 403, 404, 413, 429})
"""HTTP statuses with which a provider says that it did nothing with a request."""
_NOT_STARTED = frozenset(
    {
        "model.rate_limited",
        "model.overloaded",
        "model.refused_request",
        "model.unauthorized",
        "model.not_found",
        "model.context_full",
    }
)
"""Codes of requests that the provider did not take up, unless it said so after it had begun to reply."""


@dataclass(frozen=True, slots=True)
class _End:
    """How an attempt ended. `declined`: it is known that the provider did nothing with it."""

    event: Replied | RequestFailed
    declined: bool = False


async def ask(live: Live, command: Ask) -> None:
    """Make one request and record what came of it; or stop the run where it does not fit."""
    if command.wait_s or command.least_s:
        await ambient.sleep(_pause_s(live, command))
    if live.state.phase is Phase.CHECK_BUDGETS:
        instead = await _request(live, command)
        if instead is not None:
            await ask(live, instead)
            return
    if _is_asked(live, command):
        await _send(live, command)
    else:
        await close_unsent(live)


async def close_unsent(live: Live) -> None:
    """Record that a request was not sent, because a cancel came while it was recorded: nothing is spent, nothing was done."""
    turn, attempt = live.unsent or (0, 0)
    if not live.state.requested or (live.state.turn, live.state.attempt) != (turn, attempt):
        return
    message = "the run was cancelled before this request was sent"
    failed = RequestFailed(turn=turn, attempt=attempt, code="model.not_sent", message=message, retryable=False, started=False)
    event, (moves, changes) = await server_write.ended(live, failed, declined=True)
    if live.unsent is not None:
        live.unsent = None
        live.journal.note(*moves, event, changes=(*changes, *live.limits.settle(live.state, event)))


def _pause_s(live: Live, command: Ask) -> float:
    """At random between half and all of the delay, so that many runs do not come back at once; not longer than the run has."""
    share = 0.5 + int.from_bytes(ambient.random_bytes(2), "big") / 0x20000
    pause_s = max(command.least_s, command.wait_s * share)
    left_s = live.limits.left_s(live.state, ambient.now_ms())
    return pause_s if left_s is None else max(0.0, min(pause_s, left_s))


def _is_asked(live: Live, command: Ask) -> bool:
    return live.state.phase is Phase.ASK_MODEL and _is_open(live, command)


def _is_open(live: Live, command: Ask) -> bool:
    state = live.state
    return state.requested and (state.turn, state.attempt) == (command.turn, command.attempt)


async def _request(live: Live, command: Ask) -> Ask | None:
    """Record the request, or end the run instead; or say whom to ask instead, after a pause."""
    messages, taken = await notices(live)
    doubted = await server_write.doubted(live)
    state = live.state
    if state.phase is not Phase.CHECK_BUDGETS:
        return None
    found = doubted or _fitting(live, state, messages, command)
    if isinstance(found, Ending):
        live.stop(found)
        return None
    asked, event = found
    if asked is not command and asked.wait_s:
        return asked
    moves, opened = server_write.begun(live, event)
    changes = (*taken, *opened, *live.limits.request(state, event, ambient.now_ms()))
    live.unsent = (event.turn, event.attempt)
    try:
        await live.journal.commit(*messages, event, *moves, changes=changes)
    except BudgetExceeded as error:
        live.stop(over(error))
    return None


def _fitting(
    live: Live, state: RunState, messages: Sequence[MessageAppended], command: Ask
) -> tuple[Ask, ModelRequested] | Ending:
    if messages:
        label = state.label
        for message in messages:
            label = label.join(message.label)
        state = replace(state, label=label)
    try:
        return fitting(live, state, command, fresh=sum(bulk_of(message.wording) for message in messages))
    except InputError as error:
        return Ending("stopped", error.code)


async def _send(live: Live, command: Ask) -> None:
    live.unsent = None
    end = await _reply(live, command, live.roster.model(live.state.model))
    if not isinstance(end.event, Replied):
        live.deltas.retract()
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
        ModelError: it failed, or took longer than the run has time; whatever a model raises that is no error of ours is
            one of its own (`model.error`).
        ProtocolError: the transcript or the stream is not of the protocol's shape.
    """
    wire, roster = model.wire, live.roster
    streamed = live.spec.streams is not None and live.spec.streams()
    body = wire.body(roster.head(model), live.said, stream=streamed)
    stream = Streaming(wire.gather(roster.names), live.deltas.write) if streamed else None
    foresee(model.identity)
    limit = asyncio.timeout(_limit_s(live))
    try:
        async with limit:
            return await _answer(model, body, stream)
    except TimeoutError:
        if not limit.expired():
            raise
        message = "the provider did not answer in the time that was left"
        raise ModelError(message, code="model.timeout", retryable=True, sent=True) from None


def _limit_s(live: Live) -> float | None:
    """How long the request may take: as long as the run has time, and one that may change something not for ever."""
    left_s = live.limits.left_s(live.state, ambient.now_ms())
    if live.state.operation is None:
        return left_s
    return server_write.LONGEST_S if left_s is None else min(left_s, server_write.LONGEST_S)


async def _answer(model: Model, body: bytes, stream: Streaming | None) -> bytes:
    try:
        with contained(awaiting=True):
            return await model.ask(body, stream)
    except (ModelError, ProtocolError):
        raise
    except RemitError as error:  # there is no key, or no way out
        raise ModelError(error.message, code=error.code, retryable=error.retryable, **error.details) from error
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
        started=_is_started(error),
    )


def _is_started(error: ModelError | ProtocolError) -> bool:
    """Whether the provider may have begun with the request; with a success it has."""
    details = error.details
    return not (details.get("sent") is False or (error.code in _NOT_STARTED and details.get("status") != 200))


def _priced(usage: Usage, model: Model) -> Usage:
    cost = price(model.identity, usage) if usage.reported else None
    return usage if cost == usage.cost_usd_micros else replace(usage, cost_usd_micros=cost)


def _replied(command: Ask, reply: Reply, model: Model, latency_ms: int) -> Replied:
    return Replied(
        turn=command.turn,
        attempt=command.attempt,
        wording=reply.wording,
        text=reply.text,
        calls=reply.calls,
        stop=reply.stop,
        raw_stop=reply.raw_stop,
        usage=_priced(reply.usage, model),
        model=reply.model,
        response_id=reply.response_id,
        refusal=reply.refusal,
        unresolved=reply.unresolved,
        mends=reply.mends,
        latency_ms=latency_ms,
        label=_FOUND_BY_PROVIDER if reply.server_ran else TRUSTED,
    )
