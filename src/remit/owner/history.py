"""What conversations have said so far, as far as this process has read it.

Knows the order of a conversation's runs. It does not know what their words mean. Invariant: what is given is what
`Ledger.transcript` would give; of a conversation that went on elsewhere nothing that was kept is used.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass

from remit.loop import Transcript
from remit.types.ident import ConversationId, RunId
from remit.types.ledger import Ledger

__all__ = ["Histories"]

_MOST = 64
"""Conversations that are kept; a run in another one reads its history whole."""

_Name = tuple[str, ConversationId]


@dataclass(frozen=True, slots=True)
class _Known:
    """A run, and what was said before it. Of a run that is not its conversation's last any more nothing changes."""

    run: RunId
    before: Transcript


class Histories:
    """The histories of the conversations in which runs began here last."""

    def __init__(self) -> None:
        self._known: OrderedDict[_Name, _Known] = OrderedDict()

    async def of(self, ledger: Ledger, tenant: str, conversation: ConversationId, *, last: RunId | None) -> Transcript:
        """What the conversation's runs have said, up to the end of its run `last`."""
        known = self._known.get((tenant, conversation))
        if last is None or known is None or known.run != last:
            return Transcript(await ledger.transcript(conversation, tenant=tenant))
        said = known.before.copied()
        for recorded in await ledger.read(last):
            said.add(recorded)
        return said

    def keep(self, tenant: str, conversation: ConversationId, run: RunId, before: Transcript) -> None:
        """This run has begun in the conversation, right behind what `before` says."""
        self._known[tenant, conversation] = _Known(run, before)
        self._known.move_to_end((tenant, conversation))
        while len(self._known) > _MOST:
            self._known.popitem(last=False)
