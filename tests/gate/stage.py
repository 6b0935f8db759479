"""A run without a loop: enough of a driver to put proposals through a gate and look at what was recorded."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncGenerator, Callable, Sequence
from dataclasses import dataclass, field

from remit.budget import Tally
from remit.gate import Gate, Plan, Proposal, Scene
from remit.ledger import Journal, MemoryLedger
from remit.policy import Policy
from remit.tool import Arguments, Catalogue, Tool
from remit.types.approval import Approval
from remit.types.budget import Budget
from remit.types.change import Create
from remit.types.delivery import CancelRun, Decision, Delivered
from remit.types.event import ApprovalDecided, CallConsidered, CallEnded, Event, OperationMoved, Recorded, RunStarted
from remit.types.ident import CallId, ConversationId, Digest, Json, OperationId, RunId, Wording
from remit.types.label import TRUSTED, Label
from remit.types.ledger import Ledger
from remit.types.operation import Operation
from remit.types.outcome import Outcome
from remit.types.principal import Principal
from remit.types.run import RunRow

ALICE = Principal("alice", "acme", frozenset({"use"}))
BOB = Principal("bob", "acme", frozenset({"use", "remit:approve"}))


@dataclass
class Stage:
    """One run, its gate and its ledger."""

    ledger: Ledger
    gate: Gate
    scene: Scene
    events: list[Recorded]
    proposals: dict[str, Proposal] = field(default_factory=dict[str, Proposal])

    async def consider(
        self,
        name: str,
        arguments: dict[str, Json] | str | None = None,
        *,
        call: str = "1.0",
        label: Label = TRUSTED,
        **more: object,
    ) -> Plan | None:
        text = arguments if isinstance(arguments, str) else json.dumps(arguments or {})
        proposal = Proposal(CallId(call), name, text, label, **more)  # type: ignore[arg-type]
        self.proposals[call] = proposal
        return await self.gate.consider(proposal, self.scene)

    async def call(
        self,
        name: str,
        arguments: dict[str, Json] | str | None = None,
        *,
        call: str = "1.0",
        label: Label = TRUSTED,
        **more: object,
    ) -> Outcome:
        """Consider and execute; the outcome, durable."""
        plan = await self.consider(name, arguments, call=call, label=label, **more)
        if plan is not None:
            await self.gate.execute(plan, self.scene)
        await self.scene.journal.flush()
        return self.outcome(call)

    async def decide(
        self, call: str, *, allow: bool = True, by: str = "bob", edited: dict[str, Json] | None = None, reason: str = ""
    ) -> Plan | None:
        """Decide the call's approval, journal it as an owner does, and put it to the gate again."""
        from remit.canonical import encode

        [row] = [one for one in await self.approvals() if one.call == call and one.state == "pending"]
        await self.ledger.decide(
            Decision(
                approval=row.id,
                verdict="approved" if allow else "denied",
                by=by,
                reason=reason,
                edited=None if edited is None else encode(edited),
            )
        )
        return await self.take_decision(call)

    async def take_decision(self, call: str) -> Plan | None:
        plan = None
        for one in await self.ledger.inbox(self.scene.run):
            decision = one.delivery
            assert isinstance(decision, Decision)
            row = await self.ledger.approval(decision.approval)
            assert row is not None
            decided = ApprovalDecided(
                approval=row.id,
                call=row.call,
                verdict=decision.verdict,
                by=decision.by,
                reason=decision.reason,
                edited=None if decision.edited is None else Arguments(decision.edited).digest,
                answer=decision.answer,
            )
            await self.scene.journal.commit(decided, taken=(one.id,))
            if row.call == call:
                plan = await self.gate.reconsider(self.proposals[call], row, self.scene)
        if plan is None:
            await self.scene.journal.flush()
        return plan

    async def go(self, plan: Plan | None, call: str = "1.0") -> Outcome:
        assert plan is not None
        await self.gate.execute(plan, self.scene)
        await self.scene.journal.flush()
        return self.outcome(call)

    async def take(self) -> None:
        """Deliver what the inbox holds."""
        for one in await self.ledger.inbox(self.scene.run):
            if not isinstance(one.delivery, Decision | CancelRun):
                await self.gate.deliver(one, self.scene)
        await self.scene.journal.flush()

    async def delivered(self, delivery: object) -> None:
        await self.ledger.post(self.scene.run, delivery)  # type: ignore[arg-type]
        await self.take()

    def of(self, kind: type[Event]) -> list[Event]:
        return [one.event for one in self.events if isinstance(one.event, kind)]

    def of_kind(self, kind: str) -> list[Event]:
        return [one.event for one in self.events if one.event.kind == kind]

    def outcome(self, call: str) -> Outcome:
        ended = [one.event for one in self.events if isinstance(one.event, CallEnded) and one.event.call == call]
        assert len(ended) == 1, ended
        return ended[0].outcome

    def ended(self, call: str = "1.0") -> CallEnded:
        [one] = [one.event for one in self.events if isinstance(one.event, CallEnded) and one.event.call == call]
        return one

    def considered(self, call: str = "1.0") -> CallConsidered:
        return [one.event for one in self.events if isinstance(one.event, CallConsidered) and one.event.call == call][-1]

    def moves(self) -> list[str]:
        return [one.event.on for one in self.events if isinstance(one.event, OperationMoved)]

    async def operations(self) -> list[Operation]:
        return await self.ledger.operations(run=self.scene.run)

    async def operation(self) -> Operation:
        return (await self.operations())[-1]

    async def approvals(self) -> list[Approval]:
        return await self.ledger.approvals(run=self.scene.run)


async def stage(
    ledger: Ledger,
    tools: Sequence[Tool],
    *,
    run: str = "run_1",
    policies: Sequence[Policy] = (),
    principal: Principal = ALICE,
    budget: Budget | None = None,
    conversation: str | None = None,
    deps: object = None,
    secrets: Sequence[str] = (),
    recorded: Sequence[str] | None = None,
    claim: bool = False,
    **more: object,
) -> Stage:
    """A new run (or, with `claim`, one that a former owner left) and its gate."""
    budget = budget or Budget()
    events: list[Recorded] = []
    tally = [Tally()]

    def fold(one: Recorded) -> None:
        events.append(one)
        tally[0] = tally[0].count(one)

    name = RunId(run)
    catalogue = Catalogue(tools)
    gate = Gate(tools=catalogue, ledger=ledger, policies=policies, deps=deps, secrets=secrets, read_limit=2)
    row = await ledger.run(name) if claim else None
    if row is not None:
        for one in await ledger.read(name):
            fold(one)
    journal = Journal(
        ledger,
        name,
        fold,
        epoch=row.epoch if row else 0,
        sequence=row.sequence if row else 0,
        last_ms=row.updated_ms if row else 0,
    )
    scene = Scene(
        run=name,
        root=name,
        agent="tester",
        conversation=None if conversation is None else ConversationId(conversation),
        principal=principal,
        journal=journal,
        recorded={tool.name: tool.contract for tool in tools} if recorded is None else dict.fromkeys(recorded, Digest("")),
        admit=lambda tool, digest: tally[0].admit(budget, tool, digest),
        may_ask=lambda: tally[0].may_ask(budget),
        **more,  # type: ignore[arg-type]
    )
    if row is None:
        await journal.commit(_started(name, principal), create=Create(_row(name, principal, conversation), "{}"))
    else:
        await journal.commit(claim=True)
    return Stage(ledger, gate, scene, events)


def _row(id: RunId, principal: Principal, conversation: str | None) -> RunRow:
    return RunRow(
        id=id,
        root=id,
        agent="tester",
        tenant=principal.tenant,
        subject=principal.subject,
        conversation=None if conversation is None else ConversationId(conversation),
        request_id=None,
        request_digest=None,
        status="active",
    )


def _started(id: RunId, principal: Principal) -> RunStarted:
    return RunStarted(
        agent="tester",
        agent_digest=Digest("0" * 64),
        model="scripted:none",
        protocol="anthropic",
        head=Wording("{}"),
        tools=(),
        tenant=principal.tenant,
        subject=principal.subject,
        scopes=(),
        root=id,
        label=TRUSTED,
        budget="{}",
    )


@contextlib.asynccontextmanager
async def opened(ledger: Ledger | None = None) -> AsyncGenerator[Ledger]:
    ledger = ledger or MemoryLedger()
    await ledger.open()
    try:
        yield ledger
    finally:
        await ledger.aclose()


def on_stage(*tools: Tool, **options: object) -> Callable[[Callable[[Stage], object]], Callable[[], None]]:
    """A test that is an async function of one stage on a memory ledger."""

    def wrap(body: Callable[[Stage], object]) -> Callable[[], None]:
        def test() -> None:
            async def go() -> None:
                async with opened() as ledger:
                    one = await stage(ledger, tools, **options)  # type: ignore[arg-type]
                    await body(one)  # type: ignore[misc]
                    await one.scene.journal.flush()
                    await verified(ledger)

            asyncio.run(go())

        test.__name__ = body.__name__
        return test

    return wrap


async def verified(ledger: Ledger) -> None:
    """Chain, rows and events agree."""
    problems = await ledger.verify()
    assert problems == [], problems


async def until(condition: Callable[[], bool]) -> None:
    """Let other tasks and threads go on until something is true."""
    async with asyncio.timeout(5):
        while not condition():
            await turn()


async def turn() -> None:
    """Let other tasks and threads go on for a moment."""
    await asyncio.to_thread(int)


__all__ = ["ALICE", "BOB", "Delivered", "OperationId", "Stage", "on_stage", "opened", "stage", "turn", "until", "verified"]
