"""A run's steps as server-sent events, for those who asked for it.

Knows the form of the stream that browsers read, and no web framework. Invariant: what is not named here does not leave:
no instructions, wording, arguments, results, details, evidence or scopes; and no declared secret in what is.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence

from remit.errors import InputError
from remit.owner.steps import Steps
from remit.trace import Redactor
from remit.types.event import (
    ApprovalDecided,
    ApprovalRequested,
    CallConsidered,
    CallEnded,
    Event,
    Recorded,
    RunEnded,
    Waiting,
)
from remit.types.given import is_number
from remit.types.ident import Json
from remit.types.outcome import Outcome, Succeeded
from remit.types.run import Paused
from remit.types.stream import Delta, Retracted, Step

__all__ = ["sse"]

_KEEP_ALIVE_S = 15.0
_NO_SECRETS = Redactor(rules=())
_View = tuple[str, Mapping[str, Json]]


def sse(steps: AsyncIterator[Step], *, keep_alive_s: float = _KEEP_ALIVE_S) -> AsyncGenerator[str, None]:
    """What a client may see of a run, each piece as one server-sent event.

    For `StreamingResponse(remit.sse(...), media_type="text/event-stream")` and the like. `event:` is `delta`,
    `retracted`, `call`, `decision_wanted`, `decided`, `result`, `waiting` or `end`; `data:` is JSON. `id:` is the
    sequence number of a committed event, and of one that a client may not see it comes alone: a client that comes back
    sends the last one as `Last-Event-ID`, and `Remit.follow(run, after=ID, deltas=True)` goes on behind it.

    Args:
        steps: what `Remit.stream` or `Remit.follow(deltas=True)` gives, itself: it knows which secrets the owner, and the
            agent if it is here, declare. It is closed with the response.
        keep_alive_s: seconds of silence, above 0, before a comment is sent, so that nothing on the way hangs up.

    Raises:
        InputError: `keep_alive_s` is no such number (`sse.keep_alive_s`); before any step is asked for.
    """
    if not is_number(keep_alive_s) or keep_alive_s <= 0:
        raise InputError("keep_alive_s= of sse is a number of seconds above 0", code="sse.keep_alive_s")
    return _sse(steps, keep_alive_s)


async def _sse(steps: AsyncIterator[Step], keep_alive_s: float) -> AsyncGenerator[str, None]:
    redactor: Redactor | None = None
    coming: asyncio.Task[Step] | None = None
    try:
        while True:
            coming = coming or asyncio.ensure_future(_next(steps))
            await asyncio.wait({coming}, timeout=keep_alive_s)
            if not coming.done():
                yield ": \n\n"
                continue
            try:
                step, coming = coming.result(), None
            except StopAsyncIteration:
                return
            if redactor is None:
                redactor = await steps.redactor() if isinstance(steps, Steps) else _NO_SECRETS
            text = _text(step, redactor)
            if text is not None:
                yield text
    finally:
        await _leave(steps, coming)


async def _next(steps: AsyncIterator[Step]) -> Step:
    return await anext(steps)


async def _leave(steps: AsyncIterator[Step], coming: asyncio.Task[Step] | None) -> None:
    if coming is not None:
        coming.cancel()
        await asyncio.gather(coming, return_exceptions=True)
    close = getattr(steps, "aclose", None)
    if close is not None:
        await close()


def _text(step: Step, redactor: Redactor) -> str | None:
    view: _View | None
    match step:
        case Recorded(sequence=sequence, event=event):
            view, place = _of_event(event), f"id: {sequence}\n"
        case Delta():
            piece: dict[str, Json] = {"turn": step.turn, "attempt": step.attempt, "index": step.index}
            view, place = ("delta", {"kind": step.kind, "text": step.text, **piece}), ""
        case Retracted():
            view, place = ("retracted", {"turn": step.turn, "attempt": step.attempt}), ""
        case Paused(queued=True):
            view, place = _waiting((), queued=True), ""
        case _:
            view, place = None, ""
    if view is None:
        return f"{place}\n" if place else None
    name, data = view[0], redactor.value(dict(view[1]))
    return f"{place}event: {name}\ndata: {json.dumps(data, separators=(',', ':'))}\n\n"


def _of_event(event: Event) -> _View | None:
    match event:
        case CallConsidered():
            return "call", {"call": event.call, "tool": event.tool, "status": event.verdict}
        case ApprovalRequested():
            asked: dict[str, Json] = {"approval": event.approval, "kind": event.ask, "preview": event.preview}
            return "decision_wanted", {**asked, "expires_ms": event.expires_ms}
        case ApprovalDecided():
            return "decided", {"approval": event.approval, "verdict": event.verdict}
        case CallEnded():
            return "result", {"call": event.call, "tool": event.tool, **_of_outcome(event.outcome)}
        case Waiting():
            return _waiting(event.approvals, queued=False)
        case RunEnded():
            answer = None if event.answer is None else json.loads(event.answer)
            return "end", {"how": event.how, "reason": event.reason, "answer": answer}
        case _:
            return None


def _waiting(approvals: Sequence[str], *, queued: bool) -> _View:
    return "waiting", {"approvals": list(approvals), "queued": queued}


def _of_outcome(outcome: Outcome) -> dict[str, Json]:
    return {"outcome": outcome.kind, "code": None if isinstance(outcome, Succeeded) else outcome.code}
