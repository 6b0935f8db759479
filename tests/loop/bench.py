"""Real parts around a driver: gate, memory ledger, scripted model; handlers that count their effects."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from remit import ambient
from remit.budget import budget_to_json
from remit.gate import Gate
from remit.ledger import MemoryLedger
from remit.loop import Driver, RunSpec, Transcript
from remit.model import ScriptedModel
from remit.tool import CALL, READ, Catalogue, NoEffect, Tool, always, never, tool, write
from remit.tool import manual as by_hand
from remit.tool.builtin import ask_user, withdraw
from remit.types.approval import Approval
from remit.types.budget import Budget
from remit.types.change import Change, Create, HoldConversation
from remit.types.delivery import CancelRun, Decision
from remit.types.event import (
    CallEnded,
    Event,
    MessageAppended,
    OperationMoved,
    Recorded,
    Replied,
    ResultsAppended,
    Resumed,
    RunStarted,
    ToolRecorded,
)
from remit.types.ident import CallId, ConversationId, Digest, RunId
from remit.types.label import TRUSTED
from remit.types.ledger import Ledger
from remit.types.model import HeadSpec
from remit.types.operation import OperationState
from remit.types.outcome import Outcome
from remit.types.part import Text
from remit.types.principal import Principal
from remit.types.run import RunRow, Standing

ALICE = Principal("alice", "t", frozenset({"s"}))


@dataclass
class Shop:
    """The outside world: what was done to it, in order."""

    effects: list[str] = field(default_factory=list[str])
    reads: list[str] = field(default_factory=list[str])
    before: Callable[[str], object] | None = None

    def tools(self) -> list[Tool]:
        shop = self

        async def act(name: str, value: str) -> str:
            if shop.before is not None:
                done = shop.before(value)
                if hasattr(done, "__await__"):
                    await done  # type: ignore[misc]
            if value == "declined":
                raise NoEffect("the card was declined")
            if value == "breaks":
                raise RuntimeError("secret://user:password@host")
            shop.effects.append(f"{name} {value}")
            return f"done {value}"

        @tool(effect=READ, label=TRUSTED)
        async def look(what: str) -> str:
            """Look at something."""
            shop.reads.append(what)
            if what == "breaks":
                raise RuntimeError("secret://user:password@host")
            return f"{what} after {len(shop.effects)}"

        @tool(effect=write(once_per="value", recovery=by_hand), approve=never, label=TRUSTED)
        async def pay(value: str) -> str:
            """Pay once for each value."""
            return await act("pay", value)

        @tool(effect=write(once_per=CALL, recovery=by_hand), approve=never, label=TRUSTED)
        async def append(value: str) -> str:
            """Add a line, each time."""
            return await act("append", value)

        @tool(effect=write(once_per="value", recovery=by_hand), approve=always(scope="boss"), label=TRUSTED)
        async def refund(value: str) -> str:
            """Refund after a person has agreed."""
            return await act("refund", value)

        return [look, pay, append, refund, ask_user, withdraw]


@dataclass
class Bench:
    """One shop, one ledger, runs one after the other."""

    ledger: Ledger = field(default_factory=MemoryLedger)
    shop: Shop = field(default_factory=Shop)
    protocol: str = "anthropic"
    on_wait: str = "hold"
    budget: Budget = field(default_factory=Budget)
    conversation: str | None = None
    conversation_budget: Budget | None = None
    principal: Principal = ALICE
    last: Driver | None = None

    def spec(self, turns: Sequence[object] | Callable[..., object], **more: object) -> RunSpec:
        model = ScriptedModel(turns, protocol=self.protocol)  # type: ignore[arg-type]
        return RunSpec(**{"model": model, **more})  # type: ignore[arg-type]

    def gate(self) -> Gate:
        return Gate(tools=Catalogue(self.shop.tools()), ledger=self.ledger)

    def opening(self, run: RunId, spec: RunSpec, text: str) -> list[Event]:
        wire, tools = spec.model.wire, Catalogue(self.shop.tools()).tools
        names = {ours: theirs for theirs, ours in wire.names([one.name for one in tools]).items()}
        head = wire.head(
            HeadSpec(model="m", instructions="help", tools=tuple(one.declaration for one in tools), max_tokens=1_000)
        )
        started = RunStarted(
            agent="shop",
            agent_digest=Digest("0" * 64),
            model=spec.model.identity,
            protocol=wire.protocol,
            head=head,
            tools=tuple(
                ToolRecorded(name=one.name, wire_name=names[one.name], contract=one.contract, effect=one.effect_kind)
                for one in tools
            ),
            tenant=self.principal.tenant,
            subject=self.principal.subject,
            scopes=tuple(sorted(self.principal.scopes)),
            root=run,
            conversation=None if self.conversation is None else ConversationId(self.conversation),
            label=TRUSTED,
            budget=budget_to_json(self.budget),
            conversation_budget=None if self.conversation_budget is None else budget_to_json(self.conversation_budget),
            on_wait=self.on_wait,  # type: ignore[arg-type]
            max_tokens=1_000,
        )
        return [started, MessageAppended(wording=wire.user([Text(text)]), source="user", label=TRUSTED)]

    async def begin(self, spec: RunSpec, *, text: str = "please", run: str = "run_1") -> Driver:
        name = RunId(run)
        conversation = None if self.conversation is None else ConversationId(self.conversation)
        row = RunRow(
            id=name,
            root=name,
            agent="shop",
            tenant=self.principal.tenant,
            subject=self.principal.subject,
            conversation=conversation,
            request_id=None,
            request_digest=None,
            status="active",
            created_ms=ambient.now_ms(),
        )
        changes: tuple[Change, ...] = ()
        history = Transcript()
        if conversation is not None:
            changes = (HoldConversation(conversation, row.tenant, row.subject, "shop"),)
            history = Transcript(await self.ledger.transcript(conversation, tenant=self.principal.tenant))
        driver = Driver(spec, self.gate(), self.ledger, run=name, principal=self.principal, history=history)
        self.last = driver
        await driver.begin(self.opening(name, spec, text), changes=changes, create=Create(row, "{}"))
        return driver

    async def run(self, turns: Sequence[object], *, text: str = "please", run: str = "run_1", **more: object) -> Standing:
        driver = await self.begin(self.spec(turns, **more), text=text, run=run)
        return await driver.drive()

    async def take_up(self, turns: Sequence[object], *, run: str = "run_1", **more: object) -> Driver:
        name, spec = RunId(run), self.spec(turns, **more)
        row = await self.ledger.run(name)
        assert row is not None
        said = [] if row.conversation is None else await self.ledger.transcript(row.conversation, tenant=row.tenant)
        history = Transcript(one for one in said if one.run != name)
        driver = Driver(spec, self.gate(), self.ledger, run=name, principal=self.principal, history=history)
        self.last = driver
        resumed = Resumed(owner=self.ledger.owner, scopes=(), scopes_from="recorded")
        await driver.take_up(row, await self.ledger.read(name), resumed)
        return driver

    async def resume(self, turns: Sequence[object], *, run: str = "run_1", **more: object) -> Standing:
        return await (await self.take_up(turns, run=run, **more)).drive()

    async def decide(self, verdict: str, *, by: str = "bob", answer: str | None = None, edited: str | None = None) -> None:
        """Decide the oldest that is pending."""
        pending = await self.ledger.approvals(state=("pending",))
        await self.decide_one(pending[0], verdict, by=by, answer=answer, edited=edited)

    async def decide_one(
        self, row: Approval, verdict: str, *, by: str = "bob", answer: str | None = None, edited: str | None = None
    ) -> None:
        decision = Decision(approval=row.id, verdict=verdict, by=by, answer=answer, edited=edited)  # type: ignore[arg-type]
        await self.ledger.decide(decision)

    async def cancel(self, run: str = "run_1") -> None:
        await self.ledger.post(RunId(run), CancelRun(by="bob"))

    async def events(self, run: str = "run_1") -> list[Recorded]:
        return await self.ledger.read(RunId(run))

    async def kinds(self, run: str = "run_1") -> list[str]:
        return [one.event.kind for one in await self.events(run)]

    async def outcomes(self, run: str = "run_1") -> dict[CallId, Outcome]:
        found = [one.event for one in await self.events(run) if isinstance(one.event, CallEnded)]
        assert len({one.call for one in found}) == len(found), "a proposal got two answers"
        return {one.call: one.outcome for one in found}

    async def states(self, run: str = "run_1") -> list[OperationState]:
        return [one.event.state for one in await self.events(run) if isinstance(one.event, OperationMoved)]

    async def check(self, run: str = "run_1") -> None:
        """What holds of every run that has ended."""
        events = [one.event for one in await self.events(run)]
        assert await self.ledger.verify() == []
        ends = [one.call for one in events if isinstance(one, CallEnded)]
        proposed = [f"{one.turn}.{call.position}" for one in events if isinstance(one, Replied) for call in one.calls]
        assert sorted(ends) == sorted(proposed)
        turns = [one.turn for one in events if isinstance(one, Replied) and one.calls]
        assert turns == [one.turn for one in events if isinstance(one, ResultsAppended)]


def with_scopes(bench: Bench, *scopes: str) -> Bench:
    return replace(bench, principal=replace(bench.principal, scopes=frozenset(scopes)))
