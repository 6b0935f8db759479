"""What the fixture `remit_test` gives: runs of an agent with everything outside it replaced.

Knows the public names only. Invariant: all runs of one test share one ledger, in memory unless
another is given, and nothing is asked of a network.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass

from remit import ambient
from remit.agent import Agent
from remit.canonical import decode, to_plain
from remit.ledger import MemoryLedger
from remit.model import Said, ScriptedModel
from remit.owner import Asked, Remit
from remit.testing.run import SeenApproval, SeenRun
from remit.testing.stub import Stubs, stubbed
from remit.types.ident import Json
from remit.types.ledger import Ledger
from remit.types.model import Model
from remit.types.operation import HOLDING
from remit.types.principal import Principal

__all__ = ["RemitTest"]

Script = Model | Sequence[Said]
"""A model, or the turns of a scripted one."""


@dataclass(frozen=True, slots=True)
class _Set:
    """An agent and what it runs with, kept for what comes after a decision."""

    agent: Agent
    deps: object
    principal: Principal
    ledger: Ledger | None
    seed: int | None


class RemitTest:
    """Runs agents in a test.

    Attributes:
        effects: (tool, arguments) of every write that ran and may have changed something, in order.
    """

    def __init__(self) -> None:
        self.effects: list[tuple[str, Json]] = []
        self._store = MemoryLedger()
        self._last: dict[str, _Set] = {}

    async def run(
        self,
        agent: Agent,
        request: Asked,
        *,
        model: Script,
        deps: object = None,
        principal: Principal | None = None,
        ledger: Ledger | None = None,
        stubs: Stubs | None = None,
        conversation: str | None = None,
        seed: int | None = None,
    ) -> SeenRun:
        """Run a request until it ends or waits for people.

        Args:
            agent: as the application has it; its own model is never asked.
            request: what is asked for.
            model: turns of a `ScriptedModel`, or a model.
            deps: what handlers find in `ctx.deps`.
            principal: who asks; by default one with every scope that the agent's tools need.
            ledger: in place of the test's own in memory.
            stubs: tool name -> a handler with the same parameters, to be called in its place.
            conversation: the chain that the request belongs to.
            seed: ids and clock from a counter: equal runs are equal bytes.
        """
        played = _Set(stubbed(agent, stubs or {}), deps, principal or _everything(agent), ledger, seed)
        async with self._open(played, model) as remit:
            standing = await remit.run(agent.name, request, principal=played.principal, conversation=conversation)
            self._last[standing.id] = played
            return await self._seen(remit, standing.id)

    async def decide(
        self,
        approval: SeenApproval,
        allow: bool = True,
        *,
        by: Principal | None = None,
        reason: str = "",
        arguments: Mapping[str, Json] | None = None,
        model: Script = ("done",),
    ) -> SeenRun:
        """Decide, and go on with the run: `model` has the turns that come after.

        Args:
            approval: as the run shows it.
            allow: yes or no.
            by: who decides; by default somebody else with the approval's scope.
            reason: for the record.
            arguments: other arguments to run instead.
            model: turns that are asked for after the decision.
        """
        row = approval.row
        played = self._last[row.run]
        person = by or Principal("approver", row.tenant, frozenset(row.scope.split()))
        async with self._open(played, model) as remit:
            await remit.decide(row.id, allow, by=person, reason=reason, arguments=arguments)
            await remit.run_to_end(row.run)
            return await self._seen(remit, row.run)

    async def answer(
        self, question: SeenApproval, value: Json, *, by: Principal | None = None, model: Script = ("done",)
    ) -> SeenRun:
        """Answer a question of `ask_user`, by default as who asked, and go on with the run."""
        played = self._last[question.row.run]
        async with self._open(played, model) as remit:
            await remit.answer(question.id, value, by=by or played.principal)
            await remit.run_to_end(question.row.run)
            return await self._seen(remit, question.row.run)

    def run_sync(
        self,
        agent: Agent,
        request: Asked,
        *,
        model: Script,
        deps: object = None,
        principal: Principal | None = None,
        ledger: Ledger | None = None,
        stubs: Stubs | None = None,
        conversation: str | None = None,
        seed: int | None = None,
    ) -> SeenRun:
        """`run`, in a test that is no coroutine."""
        story = self.run(
            agent,
            request,
            model=model,
            deps=deps,
            principal=principal,
            ledger=ledger,
            stubs=stubs,
            conversation=conversation,
            seed=seed,
        )
        return asyncio.run(story)

    def decide_sync(
        self,
        approval: SeenApproval,
        allow: bool = True,
        *,
        by: Principal | None = None,
        reason: str = "",
        arguments: Mapping[str, Json] | None = None,
        model: Script = ("done",),
    ) -> SeenRun:
        """`decide`, in a test that is no coroutine."""
        return asyncio.run(self.decide(approval, allow, by=by, reason=reason, arguments=arguments, model=model))

    async def aclose(self) -> None:
        """Let go of the ledger."""
        await self._store.aclose()

    @contextlib.asynccontextmanager
    async def _open(self, played: _Set, model: Script) -> AsyncGenerator[Remit]:
        scripted = ScriptedModel(model) if isinstance(model, Sequence) else model
        agent = played.agent.with_model(scripted)
        ledger = played.ledger or MemoryLedger(store=self._store)
        clock = contextlib.nullcontext() if played.seed is None else ambient.use(ambient.Seeded(played.seed))
        with clock:
            async with Remit(ledger=ledger, agents=[agent], deps=played.deps) as remit:
                yield remit

    async def _seen(self, remit: Remit, run: str) -> SeenRun:
        operations = await remit.operations(state=sorted(HOLDING), limit=None)
        self.effects[:] = [(one.tool, to_plain(decode(one.arguments))) for one in operations]
        standing = await remit.run_to_end(run)
        return SeenRun.of(standing, await remit.events(run))


def _everything(agent: Agent) -> Principal:
    return Principal("tester", scopes=frozenset[str]().union(*(tool.scopes for tool in agent.tools)))
