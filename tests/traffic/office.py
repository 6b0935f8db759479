"""One owner, one provider, many agents: each asks under a model name of its own, which says which script it follows."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from remit import CALL, READ, TRUSTED, Agent, MemoryLedger, Principal, Remit, Standing, Tool, manual, never, write
from remit.testing import FakeProvider
from remit.types.model import ProtocolName

ALICE = Principal("alice", scopes=frozenset({"use"}))


@dataclass
class Office:
    """A provider that follows scripts by model name, after which it says "Fine."; and an owner of agents that ask it."""

    provider: FakeProvider
    remit: Remit
    effects: list[tuple[str, Any]] = field(default_factory=list)

    async def run(self, agent: str, request: str = "go", **more: Any) -> Standing:
        """One run of an agent."""
        return await self.remit.run(agent, request, principal=ALICE, **more)

    def bodies(self, model: str) -> list[bytes]:
        """What was asked under a model's name."""
        mark = f'"model":"{model}"'.encode()
        return [one.body for one in self.provider.requests if mark in one.body]


@dataclass(frozen=True)
class Part:
    """What one model says first, over which protocol, and the tools that its agent has, here and at the provider."""

    protocol: ProtocolName
    turns: Sequence[Any]
    tools: Iterable[str] = ()
    hosted: Sequence[Mapping[str, Any]] = ()


@asynccontextmanager
async def office(
    parts: Mapping[str, Part], *, stream: bool = False, writes: bool = False, seed: int = 0
) -> AsyncGenerator[Office]:
    """Open for business: an agent for each part, by its name, and a model of the same name.

    Args:
        stream: whether replies are asked for as streams.
        writes: whether the tools change something.
    """
    left = {name: list(part.turns) for name, part in parts.items()}

    def speak(asked: dict[str, Any]) -> Any:
        turns = left[asked["model"]]
        said = turns.pop(0) if turns else "Fine."
        return said(asked) if callable(said) else said

    effects: list[tuple[str, Any]] = []
    async with FakeProvider(speak, seed=seed) as provider:
        agents = [
            Agent(
                name,
                model=provider.model(part.protocol, name),
                instructions="Be brief.",
                tools=[_tool(one, effects, writes) for one in sorted(part.tools)],
                server_tools=part.hosted,
                max_tokens=1_000_000,
                context_tokens=10_000_000,
                stream=stream,
            )
            for name, part in parts.items()
        ]
        async with Remit(ledger=MemoryLedger(), agents=agents) as remit:
            yield Office(provider, remit, effects)


def _tool(name: str, effects: list[tuple[str, Any]], writes: bool) -> Tool:
    async def handle(arguments: Any, ctx: object) -> str:
        effects.append((name, arguments))
        return "done"

    return Tool.from_schema(
        name=name,
        description="Does it.",
        schema={"type": "object", "properties": {}, "additionalProperties": True},
        handler=handle,
        effect=write(once_per=CALL, recovery=manual) if writes else READ,
        approve=never,
        scopes={"use"},
        label=TRUSTED,
    )
