"""The commits with which this process lets go of a run: its pause and its end.

Knows what goes with them. Invariant: neither is written while anything of the run is still under way
here; both free what they must in the same transaction.
"""

from __future__ import annotations

import json

from remit import ambient
from remit.gate.tree import open_below
from remit.loop.answer import read_answer
from remit.loop.ask import close_unsent
from remit.loop.command import End, Pause
from remit.loop.inbox import expire, returned, take_held
from remit.loop.live import Live
from remit.loop.phase import Phase
from remit.types.change import Change, FreeConversation, Post
from remit.types.delivery import ChildEnded
from remit.types.event import RunEnded, Waiting

__all__ = ["end", "pause"]


async def pause(live: Live, command: Pause) -> None:
    """Let go until people decide, unless they have: then the run goes on."""
    async with live.inbox:
        await take_held(live)
        await live.journal.idle()
        await _look_below(live)
        if await expire(live) or live.state.phase is not Phase.WAIT:
            return
        state = live.state
        own = [call for call in state.unanswered if call.child is None]  # a child has an expiry of its own
        expiries = [call.expires_ms for call in own if call.expires_ms is not None]
        free = _free(live) if state.closing and state.on_wait == "answer" else ()
        ambient.reach("run.waiting")
        await live.journal.commit(
            Waiting(approvals=state.asked, text=command.text),
            changes=(*free, *live.limits.book(state, ambient.now_ms())),
            status="paused",
            release=True,
            expires_ms=min(expiries, default=None),
        )


async def end(live: Live, command: End) -> None:
    """Record the end, if it still is one."""
    async with live.inbox:
        await live.journal.idle()
        await close_unsent(live)
        state = live.state
        if state.phase not in (Phase.STOP, Phase.ESCALATE) or state.unanswered:
            return
        changes = (*_free(live), *_told(live), *live.limits.book(state, ambient.now_ms()))
        ambient.reach("run.ended")
        ended = await _ended(live, command)
        await live.journal.commit(ended, changes=changes, status="ended", release=True)


async def _look_below(live: Live) -> None:
    """A child may have ended before it was known here that it waits: then nobody would say so again."""
    for call in live.state.unanswered:
        row = None if call.child is None else await live.ledger.run(call.child)
        if row is not None and row.status == "ended":
            live.journal.note(*returned(live, call.id, row.id))


def _told(live: Live) -> tuple[Change, ...]:
    """The run above may stand waiting for this one, if this one ever did."""
    parent, call = live.started.parent, live.started.parent_call
    if parent is None or call is None or not live.state.waited:
        return ()
    return (Post(parent, ChildEnded(call=call, child=live.run)),)


async def _ended(live: Live, command: End) -> RunEnded:
    state, finished = live.state, command.how == "finished"
    delegates = any(tool.effect == "agent" for tool in live.started.tools)
    unsure = (*state.open_operations, *(await open_below(live.ledger, live.run) if delegates else ()))
    answer = await _answer(live) if finished else None
    return RunEnded(
        how=command.how,
        reason=command.reason,
        answer=answer,
        text=state.so_far,
        verified=finished and not unsure,
        open_operations=unsure,
        explanation=command.explanation,
    )


async def _answer(live: Live) -> str:
    """The answer that was found to hold; null where the agent of now cannot read it any more."""
    try:
        answer, _ = await read_answer(live)
    except Exception:  # the agent's own classes: `AnswerChecked` has said that it holds
        answer = None
    return json.dumps(answer)


def _free(live: Live) -> tuple[Change, ...]:
    conversation = live.started.conversation
    return () if conversation is None else (FreeConversation(conversation, live.state.label),)
