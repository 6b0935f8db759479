"""Telling the application that people are waited for.

Knows pending approvals as the ledger has them. It does not know who made them wait. Invariant: each
is told at least once by some open owner, also after a crash between the commit and the telling.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Collection

from remit.types.approval import Approval
from remit.types.ident import ApprovalId, RunId
from remit.types.ledger import Ledger

__all__ = ["OnWaiting", "Teller"]

OnWaiting = Callable[[Approval], Awaitable[None] | None]
_MOST = 10_000


class Teller:
    """Calls `on_waiting` for every pending approval and question of these agents' runs.

    A call that raises is made again when something changes in the ledger.
    """

    def __init__(self, ledger: Ledger, agents: Collection[str], on_waiting: OnWaiting) -> None:
        self._ledger = ledger
        self._agents = agents
        self._on_waiting = on_waiting
        self._told: set[ApprovalId] = set()
        self._ours: dict[RunId, bool] = {}

    async def tell(self) -> None:
        """Tell what is pending and was not told yet."""
        pending = await self._ledger.approvals(state=("pending",), limit=_MOST)
        self._told &= {approval.id for approval in pending}
        runs = {approval.run for approval in pending}
        self._ours = {run: ours for run, ours in self._ours.items() if run in runs}
        for approval in pending:
            if approval.id not in self._told and await self._is_ours(approval.run) and await self._call(approval):
                self._told.add(approval.id)

    async def _call(self, approval: Approval) -> bool:
        try:
            answer = self._on_waiting(approval)
            if inspect.isawaitable(answer):
                await answer
        except Exception:
            return False
        return True

    async def _is_ours(self, run: RunId) -> bool:
        if run not in self._ours:
            row = await self._ledger.run(run)
            self._ours[run] = row is not None and row.agent in self._agents
        return self._ours[run]
