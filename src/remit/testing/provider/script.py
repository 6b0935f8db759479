"""From a script's items to response bodies.

Knows no socket. Invariant: equal scripts say equal bytes to equal requests; a request that breaks a rule takes no turn.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace

from remit.errors import ModelError
from remit.model import Said, scripted_body
from remit.testing.provider.asked import Asked
from remit.testing.provider.error import error_body, status_of
from remit.testing.provider.fault import Fault
from remit.types.ident import Json
from remit.wire import wire_for

__all__ = ["Script", "Speaker", "Turns"]

Speaker = Callable[[dict[str, Json]], Said | Fault | Awaitable[Said | Fault]]
"""Makes a reply from the request body, at once or as a coroutine."""

Turns = Sequence[Said | Fault | Speaker] | Speaker
"""The replies in their order, or one function for all of them."""


class Script:
    """What a fake provider says.

    Args:
        turns: as for `ScriptedModel`, with faults among them.
    """

    def __init__(self, turns: Turns) -> None:
        self._turns = turns
        self._told = 0

    def peek(self) -> Said | Fault | Speaker | None:
        """The next item, None where there is none."""
        if callable(self._turns):
            return self._turns
        return self._turns[self._told] if self._told < len(self._turns) else None

    def skip(self) -> None:
        """Leave the next item out: nobody was told it."""
        self._told += 1

    async def next(self, asked: Asked) -> Fault:
        """The next item as a fault, which may be one without any: its reply has become a body."""
        item = self.peek()
        self._told += 1
        if item is None:
            count = self._told - 1
            message = f"the script has {count} turns and was asked for one more"
            return Fault(status=400, body=error_body(asked.protocol, 400, message))
        if callable(item):
            item = await _told(item, asked)
        fault = item if isinstance(item, Fault) else Fault(reply=item)
        return _worded(fault, asked)


async def _told(speaker: Speaker, asked: Asked) -> Said | Fault:
    try:
        said = speaker(dict(asked.body))
        return await said if inspect.isawaitable(said) else said
    except ModelError as error:
        return error


def _worded(fault: Fault, asked: Asked) -> Fault:
    """The fault with its body, in the protocol's words."""
    if fault.body is not None or fault.unheard:
        return fault
    if fault.reply is None:
        return replace(fault, body=error_body(asked.protocol, fault.status))
    if isinstance(fault.reply, BaseException):
        status, message = status_of(fault.reply)
        after = fault.reply.details.get("retry_after_s") if isinstance(fault.reply, ModelError) else None
        headers = {**fault.headers, **({} if after is None else {"retry-after": str(after)})}
        return replace(fault, status=status, headers=headers, body=error_body(asked.protocol, status, message))
    if isinstance(fault.reply, bytes):
        return replace(fault, body=fault.reply)
    return replace(fault, body=scripted_body(fault.reply, wire_for(asked.protocol), len(asked.messages)))
