"""A bank that does what a test says, and the agent that pays through it: what tests of doubt count payments in."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable

from behaviour.shop import ALICE, until
from remit import (
    DID_NOT,
    TRUSTED,
    Agent,
    Context,
    Happened,
    MemoryLedger,
    Remit,
    ScriptedModel,
    Tool,
    call,
    never,
    tool,
    write,
)
from remit.types.event import CallEnded, Contradicted

PAY = call("pay", id="1")


class Bank:
    """An outside world that does what a test says: `fates` are what becomes of its next requests, one after the other."""

    def __init__(self, *fates: str) -> None:
        self.fates = list(fates)
        self.paid: list[str] = []
        self.attempts: list[int] = []
        self.answers: list[object] = []
        self.asked = 0

    async def pay(self, id: str, ctx: Context[object]) -> str:
        self.attempts.append(ctx.attempt)
        fate = self.fates.pop(0) if self.fates else "done"
        if fate in ("done", "lost after", "hangs after"):
            self.paid.append(id)
        if fate.startswith("hangs"):
            await asyncio.Event().wait()
        if fate.startswith("lost"):
            raise ConnectionError(fate)
        return "done"

    async def look(self, arguments: object, ctx: object) -> object:
        self.asked += 1
        if not self.answers:
            return Happened("found") if self.paid else DID_NOT
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, Exception):
            raise answer
        if isinstance(answer, str) and answer == "hangs":
            await asyncio.Event().wait()
        return answer

    def tool(self, recovery: object, *, timeout_s: float = 0.05) -> Tool:
        @tool(
            effect=write(once_per="id", recovery=recovery),  # type: ignore[arg-type]
            approve=never,
            timeout_s=timeout_s,
            label=TRUSTED,
        )
        async def pay(id: str, ctx: Context[object]) -> str:
            """Pay.

            Args:
                id: what
            """
            return await self.pay(id, ctx)

        return pay


def payer(pay: Tool, *, times: int = 1) -> Agent:
    """Asks for the same payment so many times, one after the other, in each run."""

    def reply(body: dict[str, object]) -> object:
        return PAY if json.dumps(body["messages"]).count('"tool_result"') < times else "That is all I know."

    return Agent("payer", model=ScriptedModel(reply), instructions="Pay.", tools=[pay])  # type: ignore[arg-type]


async def answers(remit: Remit, run: str) -> list[object]:
    return [one.event.outcome for one in await remit.events(run) if isinstance(one.event, CallEnded)]


async def contradictions(remit: Remit, run: str) -> list[Contradicted]:
    return [one.event for one in await remit.events(run) if isinstance(one.event, Contradicted)]


async def dies(store: MemoryLedger, agent: Agent, happened: Callable[[], bool]) -> str:
    """A run whose process is gone as soon as something has happened."""
    async with Remit(ledger=store, agents=[agent], drain_s=0) as remit:
        run = await remit.submit("payer", "pay", principal=ALICE)
        await until(happened)
        await remit.abandon()
    return run.id


async def settled(remit: Remit, ledger: MemoryLedger, operation: str, *states: str) -> object:
    """The operation, once it is in one of these states."""
    seen = 0
    async with asyncio.timeout(10):
        while True:
            [row] = [one for one in await remit.operations() if one.id == operation]
            if row.state in states:
                return row
            seen = await ledger.changed(seen, timeout_s=1)
