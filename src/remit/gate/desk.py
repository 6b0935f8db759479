"""What every step of a gate may use: the catalogue, the ledger, policy, slots, and which handlers still run here.

Knows no run. Invariant: one for each gate, and nothing in it is about a single call but what is at work.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

from remit.gate.runner import Runner
from remit.gate.slot import Rates, Slots
from remit.gate.step.redact import Redaction
from remit.policy import Policy
from remit.tool import Catalogue
from remit.types.ident import CallId, OperationId, RunId
from remit.types.ledger import Ledger

if TYPE_CHECKING:
    from remit.gate.draft import Draft, Stop

__all__ = ["AtWork", "Desk", "Progress"]

T = TypeVar("T")

Progress = Callable[[RunId, CallId, float, str], None]
"""Run, call, fraction from 0 to 1, and the handler's own words."""


@dataclass(frozen=True, slots=True)
class AtWork:
    """What this process does to operations, for all gates on one ledger: whose tool it was says nothing about whether a
    handler can still act.

    Args:
        running: (operation, attempt) of handlers that run here now, those included that nobody waits for.
        recovering: operations that a task of this process is recovering now.
    """

    running: set[tuple[OperationId, int]] = field(default_factory=set[tuple[OperationId, int]])
    recovering: set[OperationId] = field(default_factory=set[OperationId])


@dataclass(slots=True)
class Desk:
    """The gate's own things.

    Args:
        policy_version: digest of the policies, shown on approvals.
        runner: does what calls ask for.
        before_asking: what to answer instead of asking a person or dispatching; None lets the call go on.
        progress: told how far a handler says that it is.
    """

    tools: Catalogue
    ledger: Ledger
    policies: tuple[Policy, ...]
    policy_version: str
    deps: object
    redaction: Redaction
    slots: Slots
    rates: Rates
    runner: Runner
    before_asking: Callable[[Draft], Stop | None]
    progress: Progress | None = None
    at_work: AtWork = field(default_factory=AtWork)
    background: set[asyncio.Future[object]] = field(default_factory=set["asyncio.Future[object]"])

    def runs_here(self, operation: OperationId) -> bool:
        """Whether a handler of this operation, of whatever attempt, is alive in this process."""
        return any(one == operation for one, _ in tuple(self.at_work.running))

    async def shielded(self, work: Awaitable[T]) -> T:
        """Wait for `work`, which goes on if the waiter is cancelled."""
        task = asyncio.ensure_future(work)
        self.background.add(task)  # pyright: ignore[reportArgumentType]
        task.add_done_callback(self.background.discard)  # pyright: ignore[reportArgumentType]
        return await asyncio.shield(task)
