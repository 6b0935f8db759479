"""`gate.call`: one call under a loop that is not ours, made once however often it is asked for.

Knows hosts' runs. Invariant: an outcome is durable before the host sees it, and the same (run, call)
never has two.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Collection
from dataclasses import replace
from typing import Literal

from remit import ambient
from remit.budget import budget_to_json
from remit.errors import Conflict, NotFound, RunOwned
from remit.gate.code import refuse, unknown
from remit.gate.consider import consider
from remit.gate.desk import Desk
from remit.gate.doubt.rejoin import rejoin
from remit.gate.doubt.resume import recover_call
from remit.gate.host.session import HostCall, HostJournal, Session, View
from remit.gate.patience import Patience
from remit.gate.reconsider import reconsider
from remit.gate.scene import Plan, Proposal, Scene
from remit.gate.step.execute import execute
from remit.gate.stop import stop_call
from remit.gate.tree import open_below
from remit.types.budget import Budget
from remit.types.change import Create
from remit.types.delivery import Decision
from remit.types.event import RunEnded, RunStarted, ToolRecorded
from remit.types.ident import CallId, Digest, OperationId, RunId, Wording
from remit.types.label import UNTRUSTED
from remit.types.outcome import Awaiting, Outcome
from remit.types.principal import Principal
from remit.types.run import RunRow

__all__ = ["Sessions"]

_KEPT = 256
_LOOK_S = 0.5
_WAIT_S = 30.0
_RETRIES = 50
_FIRST = ("journal.sequence", "request.exists", "run.owned", "inbox.taken")
_DISPATCHED = ("dispatched", "unknown", "succeeded", "failed")


class Sessions:
    """The hosts' runs that this process knows.

    Args:
        agent, agent_digest, budget: what their runs are recorded with.
    """

    def __init__(self, desk: Desk, *, agent: str, agent_digest: Digest | None, budget: Budget) -> None:
        self._desk = desk
        self._agent = agent
        self._digest = agent_digest or desk.tools.digest
        self._budget = budget
        self._known: OrderedDict[RunId, Session] = OrderedDict()
        self._opening = asyncio.Lock()

    async def call(self, proposal: Proposal, *, principal: Principal, run: RunId, named: bool) -> Outcome | Awaiting:
        """The outcome of a call, or what it waits for."""
        if not named:
            proposal = replace(proposal, call=CallId(ambient.new_id("host")))
        return await self._desk.shielded(self._call(proposal, principal, run, named))

    async def close(self, run: RunId) -> None:
        """End a run: what waits is void."""
        await self._desk.shielded(self._close(run))

    async def _call(self, proposal: Proposal, principal: Principal, run: RunId, named: bool) -> Outcome | Awaiting:
        tool = self._desk.tools.get(proposal.name)
        with Patience(_WAIT_S if tool is None else tool.timeout_s) as patience:
            for _ in range(_RETRIES):
                session = await self._enter(run, principal, proposal, patience)
                if not isinstance(session, Session):
                    return session
                try:
                    return await self._answer(session, proposal, principal, named)
                except (Conflict, RunOwned) as lost:
                    # another process was there first; what is not claimed has started no effect
                    if lost.code not in _FIRST or session.journal.owned:
                        raise
                    self._known.pop(run, None)
                finally:
                    session.in_flight -= 1
            raise RunOwned("other processes keep taking this run; try again", run=run)

    # opening

    async def _enter(
        self, run: RunId, principal: Principal | None, proposal: Proposal | None, patience: Patience
    ) -> Session | Outcome | Awaiting:
        """The run's session with this call in flight; or the answer, if another process has it."""
        while True:
            seen = await self._desk.ledger.changed(-1, timeout_s=0)
            async with self._opening:
                found = await self._open(run, principal)
                if isinstance(found, Session):
                    found.in_flight += 1
                    return found
            view = await self._read(run)
            call = None if proposal is None else view.calls.get(proposal.call)
            if call is not None and proposal is not None and call.outcome is not None:
                return call.outcome if self._same(call, proposal) else refuse("conflict")
            if patience.over:
                if call is not None and call.operation is not None and view.operations.get(call.operation) == "dispatched":
                    return unknown("in_progress", operation=call.operation)
                raise RunOwned("a live process owns the run", run=run, owner=found.owner)
            await patience.wait(self._changed(seen))

    async def _changed(self, seen: int) -> None:
        await self._desk.ledger.changed(seen, timeout_s=_LOOK_S)

    async def _open(self, run: RunId, principal: Principal | None) -> Session | RunRow:
        """The session; or the run's row, if a live process elsewhere owns it."""
        session = self._known.get(run)
        row = await self._desk.ledger.run(run)
        if row is not None:
            self._check(row, principal)
        if session is not None and (session.in_flight or _unmoved(session, row)):
            self._known.move_to_end(run)
            return session
        if row is not None and row.owner not in (None, self._desk.ledger.owner) and await self._desk.ledger.alive(row.owner):
            return row
        view = View() if row is None else await self._read(run)
        session = Session(self._desk, run, HostJournal(self._desk.ledger, run, view.fold, row=row), view)
        if row is None:
            self._create(session, principal)
        self._known[run] = session
        self._forget()
        return session

    def _check(self, row: RunRow, principal: Principal | None) -> None:
        mine = principal is None or (row.tenant, row.subject) == (principal.tenant, principal.subject)
        if not row.host or row.agent != self._agent or not mine:
            raise Conflict("the run belongs to another principal or agent; give it another name", code="run.foreign")

    async def _read(self, run: RunId) -> View:
        view = View()
        for recorded in await self._desk.ledger.read(run):
            view.fold(recorded)
        return view

    def _create(self, session: Session, principal: Principal | None) -> None:
        if principal is None:
            raise NotFound("no such run", code="run.not_found", run=session.run)
        row = RunRow(
            id=session.run,
            root=session.run,
            agent=self._agent,
            tenant=principal.tenant,
            subject=principal.subject,
            conversation=None,
            request_id=None,
            request_digest=None,
            status="active",
            host=True,
        )
        session.journal.create = Create(row, "{}")
        session.journal.note(self.started(session.run, principal))

    def started(self, run: RunId, principal: Principal) -> RunStarted:
        """The first event of a run."""
        tools = self._desk.tools.tools
        return RunStarted(
            agent=self._agent,
            agent_digest=self._digest,
            model="",
            protocol="",
            head=Wording(""),
            tools=tuple(
                ToolRecorded(name=one.name, wire_name=one.name, contract=one.contract, effect=one.effect.kind) for one in tools
            ),
            tenant=principal.tenant,
            subject=principal.subject,
            scopes=tuple(sorted(principal.scopes)),
            root=run,
            label=UNTRUSTED,
            budget=budget_to_json(self._budget),
            host=True,
        )

    def _forget(self) -> None:
        """Keep the sessions that were used last; one with calls in flight stays."""
        for run in list(self._known):
            if len(self._known) <= _KEPT:
                return
            if not self._known[run].in_flight:
                del self._known[run]

    # answering

    async def answer(self, session: Session, proposal: Proposal, principal: Principal, budget: Budget) -> Outcome | Awaiting:
        """The outcome of a call of a run that this process keeps between its calls, or what it waits for."""
        return await self._answer(session, proposal, principal, True, budget)

    async def _answer(
        self, session: Session, proposal: Proposal, principal: Principal, named: bool, budget: Budget | None = None
    ) -> Outcome | Awaiting:
        async with session.alone(proposal.call):
            scene = session.scene(self._desk, principal, agent=self._agent, budget=budget or self._budget, named=named)
            return await self._go_on(session, proposal, scene)

    async def _go_on(self, session: Session, proposal: Proposal, scene: Scene) -> Outcome | Awaiting:
        calls = session.view.calls
        async with session.lock:
            await session.take_inbox(self._desk)
            known = calls.get(proposal.call)
            if known is not None and not self._same(known, proposal):
                return refuse("conflict")
            if known is not None and known.outcome is not None:
                return known.outcome
            if session.view.ended:
                raise Conflict("the run is closed", code="run.closed", run=session.run)
            begun = known is not None and known.child is not None
            plan = None if begun else await self._plan(session, proposal, scene, known)
        if begun:
            await rejoin(self._desk, replace(proposal, again=True), scene, below=None if known is None else known.below)
        elif plan is not None:
            await execute(self._desk, plan, scene)
        await session.journal.leave(lambda: session.in_flight == 1)
        return await self._told(session, proposal.call)

    async def _plan(self, session: Session, proposal: Proposal, scene: Scene, known: HostCall | None) -> Plan | None:
        """What is next for a call: a plan, or None once its events say the rest."""
        if known is None:
            return await consider(self._desk, proposal, scene)
        again = replace(proposal, again=True)
        state = None if known.operation is None else session.view.operations.get(known.operation)
        if known.operation is not None and state in _DISPATCHED:
            await recover_call(self._desk, again, known.operation, scene)
            return None
        if known.joined is not None:
            holder = session.view.calls.get(known.joined)
            if holder is not None and holder.outcome is None:
                return None
            return await consider(self._desk, replace(again, joined=known.joined), scene)
        if known.approval is None:
            return await consider(self._desk, again, scene)
        approval = await self._desk.ledger.approval(known.approval)
        if approval is not None and approval.state == "pending":
            overdue = approval.expires_ms is not None and approval.expires_ms <= session.journal.now_ms()
            if not overdue:
                return None
            approval = await self._desk.ledger.decide(Decision(approval=approval.id, verdict="expired", by="time"))
            await session.take_inbox(self._desk)
        if approval is None:
            return await consider(self._desk, again, scene)
        return await reconsider(self._desk, again, approval, scene)

    async def _told(self, session: Session, call: CallId) -> Outcome | Awaiting:
        """What the host is told, once all of it is durable."""
        known = session.view.calls[call]
        if known.outcome is not None:
            return known.outcome
        holder = known if known.joined is None else session.view.calls.get(known.joined, known)
        name = known.below[0] if known.below else holder.approval
        approval = None if name is None else await self._desk.ledger.approval(name)
        if approval is None and known.child is not None:
            message = f"run {known.child}, which answers the call, waits for a process that has its agent; ask again later"
            raise RunOwned(message, code="call.child", run=session.run, child=known.child)
        if approval is None:
            raise RunOwned("the call is not answered yet; ask again", run=session.run)
        return Awaiting(approval.id, approval.operation, approval.preview)

    def _same(self, known: HostCall, proposal: Proposal) -> bool:
        """Whether this is the call that was made under this id."""
        return known.tool == proposal.name and known.says(proposal.arguments, self._desk.tools.get(proposal.name))

    # closing

    async def _close(self, run: RunId) -> None:
        with Patience(_WAIT_S) as patience:
            session = await self._enter(run, None, None, patience)
        assert isinstance(session, Session)
        try:
            await self._end(session)
        finally:
            session.in_flight -= 1
            self._known.pop(run, None)

    async def _end(self, session: Session) -> None:
        if session.view.ended:
            return
        await session.take_inbox(self._desk)
        how: Literal["cancelled", "closed"] = "cancelled" if session.view.cancelled.is_set() else "closed"
        session.view.cancelled.set()
        while session.running:
            await asyncio.wait(set(session.running.values()))
        await self.stop(session, session.view.principal or Principal("remit"))
        ended = RunEnded(how=how, reason=how, open_operations=await self.unsure(session))
        await session.journal.commit(ended, status="ended", release=True)

    async def unsure(self, session: Session) -> tuple[OperationId, ...]:
        """Operations of the run, and of the runs that answer its calls, that may have happened, or may still."""
        view = session.view
        delegates = any(call.child is not None for call in view.calls.values())
        return (*view.unsure, *(await open_below(self._desk.ledger, session.run) if delegates else ()))

    async def stop(self, session: Session, principal: Principal, *, but: Collection[CallId] = ()) -> None:
        """Answer the calls that are open, but for these: of a run that ends, or goes another way."""
        scene = session.scene(self._desk, principal, agent=self._agent, budget=self._budget, named=True)
        for call, known in list(session.view.calls.items()):
            if call not in but:
                async with session.alone(call):
                    await self._stop(session, call, known, scene)

    async def _stop(self, session: Session, call: CallId, known: HostCall, scene: Scene) -> None:
        """Answer a call of a run that ends: what was dispatched is asked about, all else does not start."""
        if known.outcome is not None:
            return
        proposal = Proposal(call, known.tool, known.arguments or "{}", known.label, again=True)
        if known.operation is not None and session.view.operations.get(known.operation) in _DISPATCHED:
            await recover_call(self._desk, proposal, known.operation, scene)
        elif known.child is not None:
            await rejoin(self._desk, proposal, scene, stop=True)
        else:
            await stop_call(self._desk, proposal, scene, "cancelled")


def _unmoved(session: Session, row: RunRow | None) -> bool:
    """Whether what an idle session knows is all there is."""
    journal = session.journal
    if row is None:
        return False
    return (row.epoch, row.sequence) == (journal.epoch, journal.sequence) and not journal.pending
