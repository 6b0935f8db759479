"""Conversations: a chain of runs under one name, and histories brought in from elsewhere.

Knows names and provider-form messages as the application has them. It does not know the ledger, in
which the chain itself is kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from remit import ambient
from remit.errors import InputError
from remit.types.ident import ConversationId, Json
from remit.types.label import UNTRUSTED, Label

__all__ = ["Conversation"]


@dataclass(frozen=True, slots=True)
class Conversation:
    """A conversation to run in: `remit.run(..., conversation=Conversation("ticket-4711"))`, or just its id.

    Args:
        id: the application's own name for it, unique in the ledger.
        messages: an imported history in the provider's form; goes before the first run's request.
        label: what is claimed of that history.
    """

    id: ConversationId
    messages: tuple[Json, ...] = ()
    label: Label = UNTRUSTED

    @classmethod
    def load(cls, messages: Sequence[Json], *, id: str | None = None, label: Label = UNTRUSTED) -> Conversation:
        """A new conversation that goes on from `messages`, as the agent's provider has them.

        The history is untrusted unless `label` says otherwise: then every write needs an approval. It is
        checked by the provider's rules when the first run starts.

        Raises:
            InputError: `messages` is empty or no list of JSON objects.
        """
        if isinstance(messages, str) or not messages or not all(isinstance(one, dict) for one in messages):
            raise InputError(
                "messages: give the provider's list of message objects, with at least one", code="conversation.messages"
            )
        return cls(ConversationId(id or ambient.new_id("conv")), tuple(messages), label)
