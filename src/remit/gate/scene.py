"""What the gate is told: a proposal, the run that it belongs to; and what it gives back, a plan.

Knows nothing of loops or hosts: whoever owns the run fills a `Scene`. Invariant: a `Plan` exists only
for a call that passed steps 1 to 6 in this process, and is never stored.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from remit import ambient
from remit.ledger.journal import Journal
from remit.tool import Arguments, Tool
from remit.types.approval import Approval
from remit.types.budget import Spent
from remit.types.change import Change
from remit.types.ident import CallId, ConversationId, Digest, OperationId, RunId
from remit.types.label import Label
from remit.types.principal import Principal
from remit.types.quick import quick

__all__ = ["Bell", "Plan", "Proposal", "Scene"]


async def _free(amounts: Spent) -> str | None:
    """Nobody else takes from the run's budgets."""
    del amounts


def _nothing() -> tuple[Change, ...]:
    return ()


class Bell:
    """Wakes everybody who waits for news of a run. `ring` it when the inbox brought something."""

    def __init__(self) -> None:
        self._news = asyncio.Event()

    def ring(self) -> None:
        """Wake all who wait now."""
        news, self._news = self._news, asyncio.Event()
        news.set()

    async def heard(self, timeout_s: float) -> bool:
        """Return True at the next ring, False when `timeout_s` of the current clock are over."""
        if timeout_s <= 0:
            return False
        ring = asyncio.ensure_future(self._news.wait())
        late = asyncio.ensure_future(ambient.sleep(timeout_s))
        try:
            await asyncio.wait({ring, late}, return_when=asyncio.FIRST_COMPLETED)
            return ring.done()
        finally:
            ring.cancel()
            late.cancel()


@dataclass(slots=True)
class Scene:
    """One run as the gate sees it.

    Args:
        principal: who asks, with the scopes of now.
        journal: the run's pen; the gate notes and commits its own events with it.
        recorded: the run's allowlist: tool name -> contract digest as this run recorded it.
        admit: call budgets, asked once for each proposal, in order, by tool name and arguments digest: None, or the code
            of the one that is used up.
        may_ask: the same for one more request to a person.
        take: where other runs share the budgets, takes one more call or request to a person of all of them in the ledger,
            once `admit` or `may_ask` has nothing against it: None, or the code of the one that is used up.
        book: what the run has used and not told the ledger yet; it goes with the beginning of a child.
        cancelled: the run is being cancelled; nothing new starts.
        woken: rung when the inbox brought something; holders read their operation again.
        stable_calls: whether call ids mean the same call after a crash.
    """

    run: RunId
    root: RunId
    agent: str
    conversation: ConversationId | None
    principal: Principal
    journal: Journal
    recorded: Mapping[str, Digest]
    admit: Callable[[str, Digest | None], str | None]
    may_ask: Callable[[], str | None]
    take: Callable[[Spent], Awaitable[str | None]] = _free
    book: Callable[[], tuple[Change, ...]] = _nothing
    cancelled: asyncio.Event = field(default_factory=asyncio.Event)
    woken: Bell = field(default_factory=Bell)
    stable_calls: bool = True
    on_wait: Literal["hold", "answer"] = "hold"

    async def ask_over(self) -> str | None:
        """None, and one more person is asked for; or the code of the budget that is used up."""
        return self.may_ask() or await self.take(Spent(approvals=1))


@quick
@dataclass(frozen=True, slots=True)
class Proposal:
    """A call that a model asks for.

    Args:
        arguments: JSON text as sent.
        label: of the context that the model saw when it proposed.
        cut: the reply ended inside this call.
        again: this call was considered before (after a resume, or because the call it joined has ended), and is
            already counted: budgets are not asked again.
        joined: the earlier call whose pending operation this one shared, once that call has ended: this call gets
            the same answer.
    """

    call: CallId
    name: str
    arguments: str
    label: Label
    cut: bool = False
    again: bool = False
    joined: CallId | None = None


@quick
@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """A call that may start.

    Args:
        key, once_per: identity of the operation; None for a read.
        operation: the awaiting operation that this call dispatches, None if dispatch makes a new row.
        approval: the decision that lets it run.
        author: who wrote the arguments, if an approver did.
        follow: the operation that held the key when this was considered; the call gets its answer.
        shown: the arguments as the model is told them where an approver changed them.
    """

    proposal: Proposal
    tool: Tool
    arguments: Arguments
    key: Digest | None = None
    once_per: str = ""
    operation: OperationId | None = None
    approval: Approval | None = None
    author: str | None = None
    follow: OperationId | None = None
    shown: str | None = None

    @property
    def call(self) -> CallId:
        """The call's identity."""
        return self.proposal.call
