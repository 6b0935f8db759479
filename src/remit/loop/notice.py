"""Notices: what became known of a call after the model had been answered, as a new message.

Knows the ledger's notices and the wire. Invariant: nothing already sent is edited; a notice is taken
in the commit that appends its message.
"""

from __future__ import annotations

from collections.abc import Sequence

from remit.gate import render
from remit.label import missing
from remit.loop.live import Live
from remit.types.change import Notice, TakeNotice
from remit.types.event import CallConsidered, CallEnded, ChildStarted, MessageAppended
from remit.types.label import TRUSTED, Label
from remit.types.part import Text

__all__ = ["notices"]


async def notices(live: Live) -> tuple[tuple[MessageAppended, ...], tuple[TakeNotice, ...]]:
    """The message that carries what the conversation has not been told yet, and the changes that take it.

    There is none while the last reply waits for a request that adds no words to it.
    """
    conversation = live.started.conversation
    if conversation is None or live.transcript.waits:
        return (), ()
    waiting = await live.ledger.notices(conversation, tenant=live.started.tenant)
    if not waiting:
        return (), ()
    label = await _label(live, waiting)
    text = "\n".join(["Since then it has become known what happened:", *map(_line, waiting)])
    operations = tuple(one.notify.operation for one in waiting if one.notify.operation is not None)
    wording = live.spec.model.wire.user([Text(text, label)])
    message = MessageAppended(wording=wording, source="notice", label=label, operations=operations)
    return (message,), tuple(TakeNotice(one.id) for one in waiting)


def _line(notice: Notice) -> str:
    notify = notice.notify
    name = f"call {notify.call}" if notify.operation is None else f"operation {notify.operation}"
    return f"- {notify.tool} ({name}): {render(notify.outcome, notify.tool).text}"


async def _label(live: Live, waiting: Sequence[Notice]) -> Label:
    """What the notices do to the context: what a call's result would have done, had it come in time."""
    label = TRUSTED
    for run in {one.notify.run for one in waiting}:
        events = [one.event for one in await live.ledger.read(run)]
        proposed = {event.call: event.label for event in events if isinstance(event, CallConsidered)}
        agents = {event.call for event in events if isinstance(event, ChildStarted)}
        answered = {event.call: event.label for event in events if isinstance(event, CallEnded) and event.call in agents}
        for notify in (one.notify for one in waiting if one.notify.run == run):
            if notify.call in answered:  # what another agent has read is known from its own run alone
                label = label.join(answered[notify.call])
                continue
            context = proposed.get(notify.call, missing(live.started.subject))
            said = live.gate.label_of(notify.tool, notify.outcome, context, subject=live.started.subject)
            label = label.join(said)
    return label
