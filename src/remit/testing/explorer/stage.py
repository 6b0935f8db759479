"""An agent or a workflow as it is explored: the same description, with the world in the place of all that is outside.

Knows agents, tools and the world. Invariant: names, schemas, effects, rules and budgets are the agent's own, and no
function of it that could reach outside is called, unless it is played live.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Coroutine, Iterator
from dataclasses import replace
from typing import cast

from remit.agent import Agent
from remit.canonical import digest
from remit.policy import Ask, Request
from remit.testing.explorer.function import with_function
from remit.testing.explorer.loop import Loop
from remit.testing.explorer.scenario import Scenario
from remit.testing.explorer.world import CANARY, World
from remit.tool import Arguments, Context, Tool
from remit.types.ident import Digest, Json
from remit.types.model import Model
from remit.workflow import Workflow

__all__ = ["Mood", "Stage", "Subject", "every_tool", "is_transactional", "scaled"]

Subject = Agent | Workflow
"""What is explored."""

_LONGEST_S = 2.0
"""The longest timeout of an explored tool. What tools say of time is shortened in proportion."""


class Mood:
    """What the application's rules are like now: stricter than before, or not."""

    def __init__(self) -> None:
        self.strict = False

    def rule(self, request: Request) -> Ask | None:
        """A rule beside the agent's own."""
        return Ask(scope="explorer:stricter") if self.strict and request.effect == "write" else None


def scaled(subject: Subject) -> float:
    """What the times of its tools are multiplied with."""
    longest = max((tool.timeout_s for tool in every_tool(subject)), default=_LONGEST_S)
    return min(1.0, _LONGEST_S / longest)


class Stage:
    """The agent or workflow, as all processes of all schedules of a scenario have it.

    Args:
        live: the application's own handlers run.

    Attributes:
        world: of the schedule that is played now.
        mood: of the application, now.
    """

    def __init__(self, subject: Subject, scenario: Scenario, model: Model, *, live: bool = False) -> None:
        self.world: World | None = None
        self.mood = Mood()
        self._scenario = scenario
        self._live = live
        self._model = model
        self._factor = scaled(subject)
        self.subject = self._staged_subject(replace(subject, budget=scenario.budget or subject.budget))
        """As it is at first."""
        self.altered = _altered(self.subject)
        """The same with other contracts of its writes."""
        self._tools = {tool.name: tool for tool in every_tool(self.subject)}

    def tool(self, name: str) -> Tool | None:
        """Its tool of this name, or that of an agent that answers calls of it."""
        return self._tools.get(name)

    def _staged_subject(self, subject: Subject) -> Subject:
        if isinstance(subject, Agent):
            return self._agent(subject, self._factor)
        tools = tuple(self._step(_timed(tool, self._factor)) for tool in subject.tools)
        rules = (*subject.policy, self._rule)
        staged = with_function(subject, tools, lambda: self._now, live=self._live)
        return replace(staged, policy=rules, secrets=(*subject.secrets, CANARY))

    def _step(self, tool: Tool) -> Tool:
        """A tool of a workflow: its agents answer in the type that the function expects."""
        staged = self._staged(tool)
        if isinstance(tool.agent, Agent) and isinstance(staged.agent, Agent):
            return replace(staged, agent=replace(staged.agent, answer=tool.agent.answer))
        return staged

    def _agent(self, agent: Agent, factor: float) -> Agent:
        return replace(
            agent,
            model=self._model,
            fallback=(),
            tools=[self._staged(_timed(tool, factor)) for tool in agent.tools],
            policy=[*agent.policies, self._rule],
            secrets=[*agent.secrets, CANARY],
            done=agent.done if self._live else None,
            answer=None,
        )

    def _rule(self, request: Request) -> Ask | None:
        return self.mood.rule(request)

    @property
    def _now(self) -> World:
        assert self.world is not None
        return self.world

    def _staged(self, tool: Tool) -> Tool:
        if tool.effect.kind == "ask":
            return tool
        if isinstance(tool.agent, Agent):
            return replace(tool, agent=self._agent(tool.agent, self._factor))
        own = self._live and tool.sandbox is None and not is_transactional(tool)
        return self._watched(tool) if own else self._modelled(tool)

    def _modelled(self, tool: Tool) -> Tool:
        effect, recovery = tool.effect, tool.effect.recovery
        if recovery is not None and recovery.kind == "reconcile":
            effect = replace(effect, recovery=replace(recovery, fn=self._reconciler(tool)))

        async def handler(arguments: dict[str, Json], ctx: Context[object]) -> object:
            if tool.effect.kind == "read":
                return await self._now.read(tool, arguments, ctx)
            return await self._now.write(tool, arguments, ctx, _process())

        def transacted(arguments: dict[str, Json], ctx: Context[object]) -> object:
            return self._now.write_here(tool, arguments, ctx, _process())

        async def owns(arguments: Arguments, ctx: Context[object]) -> Json:
            del arguments, ctx
            return self._scenario.facts.get(tool.name, True)

        return replace(
            tool,
            effect=effect,
            handler=transacted if is_transactional(tool) else handler,
            is_async=not is_transactional(tool),
            form=None,
            context=None,
            sandbox=None,
            owns=None if tool.owns is None else owns,
        )

    def _reconciler(self, tool: Tool) -> Callable[[Arguments, Context[object]], Coroutine[object, object, object]]:
        async def look(arguments: Arguments, ctx: Context[object]) -> object:
            return await self._now.look(tool, arguments, ctx)

        return look

    def _watched(self, tool: Tool) -> Tool:
        """The tool with its own handler, whose attempts are written into the books; no thread runs."""
        effect, recovery, inner = tool.effect, tool.effect.recovery, tool.handler
        if recovery is not None and recovery.fn is not None:
            effect = replace(effect, recovery=replace(recovery, fn=_waiting(recovery.fn)))
        name = tool.context or "_ctx"

        async def typed(**values: object) -> object:
            ctx = cast("Context[object]", values[name])
            given = values if tool.context else {key: value for key, value in values.items() if key != name}
            return await self._now.watch(tool, ctx, _process(), lambda: inner(**given))

        async def plain(arguments: dict[str, Json], ctx: Context[object]) -> object:
            return await self._now.watch(tool, ctx, _process(), lambda: inner(arguments, ctx))

        return replace(
            tool,
            effect=effect,
            handler=plain if tool.form is None else typed,
            is_async=True,
            context=None if tool.form is None else name,
            owns=None if tool.owns is None else _waiting(tool.owns),
        )


def is_transactional(tool: Tool) -> bool:
    """Whether its effect is in the ledger's own database."""
    return tool.effect.recovery is not None and tool.effect.recovery.kind == "transactional"


def _process() -> int:
    """In which process this runs."""
    loop = asyncio.get_running_loop()
    return loop.process if isinstance(loop, Loop) else 0


def every_tool(subject: Subject) -> Iterator[Tool]:
    """The tools of an agent or workflow, and of the agents that answer calls of it."""
    for tool in subject.tools:
        yield tool
        if isinstance(tool.agent, Agent):
            yield from every_tool(tool.agent)


def _altered(subject: Subject) -> Subject:
    def other(tool: Tool) -> Tool:
        if isinstance(tool.agent, Agent):
            return replace(tool, agent=cast(Agent, _altered(tool.agent)))
        if tool.effect.kind != "write":
            return tool
        return replace(tool, contract=Digest(digest("explorer.altered", tool.contract)))

    tools = tuple(other(tool) for tool in subject.tools)
    if isinstance(subject, Agent):
        return replace(subject, tools=tools)
    return replace(subject, tools=tools, agents=tuple(tool.agent for tool in tools if isinstance(tool.agent, Agent)))


def _timed(tool: Tool, factor: float) -> Tool:
    recovery = tool.effect.recovery
    if recovery is not None:
        recovery = replace(
            recovery,
            window_s=None if recovery.window_s is None else recovery.window_s * factor,
            settle_s=None if recovery.settle_s is None else recovery.settle_s * factor,
        )
    return replace(tool, timeout_s=tool.timeout_s * factor, effect=replace(tool.effect, recovery=recovery))


def _waiting(function: Callable[..., object]) -> Callable[..., object]:
    """A function as a coroutine, so that it runs where it is asked and in no thread."""

    async def asked(*given: object) -> object:
        found = function(*given)
        return await found if inspect.isawaitable(found) else found

    return asked
