"""The commands about calls: the gate does them, here they are only put to it in the right order.

Knows the gate's entries. Invariant: proposals are considered one at a time in the order in which they
were asked for, and what starts has a plan from this process.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import assert_never

from remit.errors import NotFound
from remit.gate import Plan, Proposal
from remit.loop.command import Cancel, Consider, HoldBack, Reconsider, Recover, Start
from remit.loop.crew import Crew
from remit.loop.live import Live
from remit.loop.state import CallState
from remit.types.ident import ApprovalId, CallId

__all__ = ["CallCommand", "Calls"]

CallCommand = Consider | Reconsider | Start | Recover | HoldBack | Cancel


class Calls:
    """What is under way for the calls of one run."""

    def __init__(self, live: Live, crew: Crew) -> None:
        self._live = live
        self._crew = crew
        self._plans: dict[CallId, asyncio.Task[Plan | None]] = {}
        self._in_order = asyncio.Lock()

    def do(self, command: CallCommand) -> None:
        """Begin what the command asks for; a call that has ended meanwhile needs nothing."""
        live = self._live
        call = live.state.call(command.call)
        if call is None or call.status == "ended":
            return
        proposal, gate, scene = _proposal(call), live.gate, live.scene
        match command:
            case Consider():
                self._consider(call.id, lambda: gate.consider(proposal, scene))
            case Reconsider(approval=approval):
                self._consider(call.id, lambda: self._reconsider(proposal, approval))
            case Start():
                self._crew.spawn(self._execute(call.id))
            case Recover(operation=operation):
                self._crew.spawn(gate.recover(proposal, operation, scene))
            case HoldBack(code=code):
                self._crew.spawn(gate.hold_back(proposal, code, scene))
            case Cancel():
                self._crew.spawn(gate.cancel(proposal, scene))
            case _:
                assert_never(command)

    def _consider(self, call: CallId, work: Callable[[], Coroutine[object, object, Plan | None]]) -> None:
        async def in_order() -> Plan | None:
            async with self._in_order:
                return await work()

        task = asyncio.ensure_future(in_order())
        self._plans[call] = task
        self._crew.spawn(_done(task))

    async def _reconsider(self, proposal: Proposal, name: ApprovalId) -> Plan | None:
        approval = await self._live.ledger.approval(name)
        if approval is None:
            raise NotFound(f"approval {name} is not in the ledger", approval=name)
        return await self._live.gate.reconsider(proposal, approval, self._live.scene)

    async def _execute(self, call: CallId) -> None:
        plan = await self._plans[call]
        if plan is None:
            raise AssertionError(f"call {call} was found ready without a plan")
        await self._live.gate.execute(plan, self._live.scene)


async def _done(task: asyncio.Task[Plan | None]) -> None:
    await task


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
