"""Notices: what became known of a call after the model had been answered, as a new message.

Knows the ledger's notices and the wire. Invariant: nothing already sent is edited; a notice is taken
in the commit that appends its message.
"""

from __future__ import annotations

from collections.abc import Sequence

from remit.gate import render
from remit.loop.live import Live
from remit.types.event import CallEnded, MessageAppended
from remit.types.label import Label
from remit.types.ledger import Notice, TakeNotice
from remit.types.part import Text

__all__ = ["notices"]


async def notices(live: Live) -> tuple[tuple[MessageAppended, ...], tuple[TakeNotice, ...]]:
    """The message that carries what the conversation has not been told yet, and the changes that take it."""
    conversation = live.started.conversation
    if conversation is None:
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
    """The labels of the results that the notices speak of; one that is not found is nobody's word."""
    label = Label(trusted=True)
    for run in {one.notify.run for one in waiting}:
        calls = {one.notify.call for one in waiting if one.notify.run == run}
        found = {
            one.event.call: one.event.label
            for one in await live.ledger.read(run)
            if isinstance(one.event, CallEnded) and one.event.call in calls
        }
        for call in calls:
            unknown = Label(trusted=False, readers=frozenset({live.started.subject}))
            label = label.join(found.get(call, unknown))
    return label
