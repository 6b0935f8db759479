"""What every step of a gate may use: the catalogue, the ledger, policy, slots, and which handlers still run here.

Knows no run. Invariant: one for each gate, and nothing in it is about a single call but what is at work.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

from remit import ambient
from remit.gate.delegate import Delegate
from remit.gate.runner import Runner
from remit.gate.slot import Rates, Slots
from remit.gate.step.redact import Redaction
from remit.policy import Policy
from remit.tool import Catalogue, Webs
from remit.types.ident import CallId, OperationId, RunId
from remit.types.ledger import Ledger

if TYPE_CHECKING:
    from remit.gate.draft import Draft, Stop

__all__ = ["IN_THREADS", "AtWork", "Desk", "Progress"]

T = TypeVar("T")

IN_THREADS: set[tuple[OperationId, int]] = set()
"""(operation, attempt) of handlers that run in threads of this process: those outlive the owner that began them."""

os.register_at_fork(after_in_child=IN_THREADS.clear)

Progress = Callable[[RunId, CallId, float, str], None]
"""Run, call, fraction from 0 to 1, and the handler's own words."""


@dataclass(frozen=True, slots=True)
class AtWork:
    """What this process does to operations, for all gates on one ledger: whose tool it was says nothing about whether a
    handler can still act.

    Args:
        running: (operation, attempt) of handlers that run here now, those included that nobody waits for.
        recovering: operations that a task of this process is recovering now.
        quiet_s: when an attempt that was made here, and whose end is not known, cannot land any more; on the clock that
            nobody can set.
    """

    running: set[tuple[OperationId, int]] = field(default_factory=set[tuple[OperationId, int]])
    recovering: set[OperationId] = field(default_factory=set[OperationId])
    quiet_s: dict[OperationId, float] = field(default_factory=dict[OperationId, float])

    def left_s(self, operation: OperationId) -> float:
        """How long what was begun here of this operation may still land; 0 if it cannot, or if that is not known here."""
        left_s = self.quiet_s.get(operation, 0.0) - ambient.monotonic_s()
        if left_s <= 0:
            self.quiet_s.pop(operation, None)
        return max(left_s, 0.0)


@dataclass(slots=True)
class Desk:
    """The gate's own things.

    Args:
        policy_version: digest of the policies, shown on approvals.
        runner: does what calls ask for.
        before_asking: what to answer instead of asking a person or dispatching; None lets the call go on.
        progress: told how far a handler says that it is.
        web: makes the HTTP clients of attempts; None: there are none.
        delegate: runs the agents that answer calls; None: there is nobody who does.
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
    web: Webs | None = None
    delegate: Delegate | None = None
    at_work: AtWork = field(default_factory=AtWork)
    background: set[asyncio.Future[object]] = field(default_factory=set["asyncio.Future[object]"])

    def runs_here(self, operation: OperationId) -> bool:
        """Whether a handler of this operation, of whatever attempt, is alive in this process."""
        return any(one == operation for one, _ in (*self.at_work.running, *IN_THREADS))

    async def shielded(self, work: Awaitable[T]) -> T:
        """Wait for `work`, which goes on if the waiter is cancelled."""
        task = asyncio.ensure_future(work)
        self.background.add(task)  # pyright: ignore[reportArgumentType]
        task.add_done_callback(self.background.discard)  # pyright: ignore[reportArgumentType]
        return await asyncio.shield(task)
