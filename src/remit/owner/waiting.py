"""Telling the application that people are waited for.

Knows pending approvals as the ledger has them. It does not know who made them wait. Invariant: each
is told at least once by some open owner, also after a crash between the commit and the telling; and
no telling, however long it takes, keeps anything else waiting.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Collection

from remit.foreign import contained
from remit.trace import Recorder
from remit.types.approval import Approval
from remit.types.ident import ApprovalId, RunId
from remit.types.ledger import Ledger

__all__ = ["OnWaiting", "Teller"]

OnWaiting = Callable[[Approval], Awaitable[None] | None]
TELL_S = 30.0
"""How long one call of `on_waiting` may take."""


class Teller:
    """Calls `on_waiting` for every pending approval and question of these agents' runs, one after the other.

    A call that raises, or does not end in time, is made again when something changes in the ledger; that is logged
    once for each approval.

    Args:
        nudge: has `tell` called again.
    """

    def __init__(
        self,
        ledger: Ledger,
        agents: Collection[str],
        on_waiting: OnWaiting,
        *,
        recorder: Recorder,
        nudge: Callable[[], None],
    ) -> None:
        self._ledger = ledger
        self._agents = agents
        self._on_waiting = on_waiting
        self._recorder = recorder
        self._nudge = nudge
        self._more = False
        self._told: set[ApprovalId] = set()
        self._failed: set[ApprovalId] = set()
        self._ours: dict[RunId, bool] = {}
        self._telling: asyncio.Task[None] | None = None

    async def tell(self) -> None:
        """Begin to tell what is pending and was not told yet, unless a telling is under way: whatever it has not seen
        is told by a later call."""
        self._more = self._telling is not None and not self._telling.done()
        if self._more:
            return
        untold = await self._untold()
        self._telling = asyncio.ensure_future(self._tell(untold)) if untold else None

    async def aclose(self) -> None:
        """Interrupt the telling: what it has not told is told by the next owner."""
        if self._telling is not None:
            self._telling.cancel()
            await asyncio.gather(self._telling, return_exceptions=True)

    async def _untold(self) -> list[Approval]:
        pending = await self._ledger.approvals(state=("pending",), limit=None)
        names = {approval.id for approval in pending}
        self._told &= names
        self._failed &= names
        runs = {approval.run for approval in pending}
        self._ours = {run: ours for run, ours in self._ours.items() if run in runs}
        return [one for one in pending if one.id not in self._told and await self._is_ours(one.run)]

    async def _tell(self, approvals: list[Approval]) -> None:
        for approval in approvals:
            if await self._call(approval):
                self._told.add(approval.id)
        if self._more:
            self._nudge()

    async def _call(self, approval: Approval) -> bool:
        try:
            async with asyncio.timeout(TELL_S):
                with contained(awaiting=True):
                    answer = self._on_waiting(approval)
                    if inspect.isawaitable(answer):
                        await answer
        except Exception as error:  # the application's own function
            if approval.id not in self._failed:
                self._failed.add(approval.id)
                self._recorder.log_hook("on_waiting=", error, run=approval.run, approval=approval.id)
            return False
        return True

    async def _is_ours(self, run: RunId) -> bool:
        if run not in self._ours:
            row = await self._ledger.run(run)
            self._ours[run] = row is not None and row.agent in self._agents
        return self._ours[run]
