"""The commands about calls: the gate does them, here they are only put to it in the right order.

Knows the gate's entries. Invariant: proposals are considered one at a time in the order in which they
were asked for, and what starts has a plan from this process.
"""

from __future__ import annotations

import asyncio
from typing import assert_never

from remit.errors import NotFound
from remit.gate import Plan, Proposal
from remit.loop.command import Cancel, Consider, HoldBack, Reconsider, Recover, Rejoin, Start
from remit.loop.live import Live
from remit.loop.state import CallState
from remit.types.ident import ApprovalId, CallId

__all__ = ["CallCommand", "Calls"]

CallCommand = Consider | Reconsider | Start | Recover | Rejoin | HoldBack | Cancel


class Calls:
    """What the gate has found of the calls of one run."""

    def __init__(self, live: Live) -> None:
        self._live = live
        self._plans: dict[CallId, Plan] = {}
        self._in_order = asyncio.Lock()

    async def do(self, command: CallCommand) -> None:
        """Do what the command asks for; a call that has ended meanwhile needs nothing."""
        live, gate, scene = self._live, self._live.gate, self._live.scene
        call = live.state.call(command.call)
        if call is None or call.status == "ended":
            return
        match command:
            case Consider():
                async with self._in_order:
                    self._keep(call.id, await gate.consider(_proposal(call), scene))
                await live.journal.ease()
            case Reconsider(approval=approval):
                async with self._in_order:
                    self._keep(call.id, await self._reconsider(_proposal(call), approval))
            case Start():
                plan = self._plan(call.id)
                await gate.execute(plan, scene)
                if plan.tool.effect.kind == "agent":
                    await self._look_below()
            case Recover(operation=operation):
                await gate.recover(_proposal(call), operation, scene)
            case Rejoin(stop=stop):
                await gate.rejoin(_proposal(call), scene, stop=stop)
                await self._look_below()
            case HoldBack(code=code):
                await gate.hold_back(_proposal(call), code, scene)
            case Cancel():
                await gate.cancel(_proposal(call), scene)
            case _:
                assert_never(command)

    async def _look_below(self) -> None:
        """See what the run that answered a call has taken of this one's budgets."""
        live = self._live
        live.limits = await live.limits.looked(live.ledger, lambda: live.state.booked)

    async def _reconsider(self, proposal: Proposal, name: ApprovalId) -> Plan | None:
        approval = await self._live.ledger.approval(name)
        if approval is None:
            raise NotFound(f"approval {name} is not in the ledger", approval=name)
        return await self._live.gate.reconsider(proposal, approval, self._live.scene)

    def _keep(self, call: CallId, plan: Plan | None) -> None:
        if plan is not None:
            self._plans[call] = plan

    def _plan(self, call: CallId) -> Plan:
        """What was found ready; each plan is executed once."""
        plan = self._plans.pop(call, None)
        if plan is None:
            raise AssertionError(f"call {call} was found ready without a plan")
        return plan


def _proposal(call: CallState) -> Proposal:
    return Proposal(
        call=call.id,
        name=call.name,
        arguments=call.arguments,
        label=call.label,
        cut=call.cut,
        again=call.counted,
        joined=call.joined,
    )
