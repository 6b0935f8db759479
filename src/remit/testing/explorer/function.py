"""A workflow's function as it is explored: the application's own, on steps whose outside is the world.

Knows flows and the world. Invariant: steps have the names and arguments that the function gives them, but for a word in the
task of an agent, by which its model knows what to say.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import cast

from remit.agent import Agent
from remit.testing.explorer.world import World
from remit.tool import Context, Tool
from remit.types.ident import Json
from remit.workflow import Flow, Undoing, Workflow

__all__ = ["with_function"]

TakeBack = Undoing | Callable[[Json], Undoing]


def with_function(workflow: Workflow, tools: tuple[Tool, ...], world: Callable[[], World], *, live: bool) -> Workflow:
    """The workflow with these tools in the place of its own.

    Args:
        world: that of the schedule that is played now.
        live: its checks ask what they ask; else the world answers them.
    """

    @functools.wraps(workflow.function)
    async def function(**values: object) -> object:
        given = cast("Flow[object]", values[workflow.flow])
        world().called(given.run)
        flow = _Flow(given, workflow, None if live else world())
        return await workflow.function(**{**values, workflow.flow: flow})

    agents = tuple(tool.agent for tool in tools if isinstance(tool.agent, Agent))
    return replace(workflow, function=function, tools=tools, agents=agents)


class _Flow(Flow[object]):
    """The function's flow: what it names of its workflow is found again among the tools that are there now."""

    def __init__(self, flow: Flow[object], workflow: Workflow, world: World | None) -> None:
        self._now = flow._track  # pyright: ignore[reportPrivateUsage]
        super().__init__(self._now, principal=flow.principal, deps=flow.deps, run=flow.run)
        self._workflow = workflow
        self._world = world

    async def call(
        self,
        tool: Tool,
        arguments: Mapping[str, Json] | None = None,
        /,
        *,
        step: str | None = None,
        undo: TakeBack | None = None,
        **named: Json,
    ) -> Json:
        """Call the tool that is here in its place."""
        return await super().call(self._found(tool), arguments, step=step, undo=self._back(undo), **named)

    async def ask(self, agent: Agent, text: str, *, step: str | None = None, undo: TakeBack | None = None) -> Json:
        """Ask the agent that is here in its place."""
        tool = next((one for one in self._workflow.tools if one.agent is agent), None)
        known = None if tool is None else self._now.tools.get(tool.name)
        if known is not None and isinstance(known.agent, Agent):
            agent, text = known.agent, f"{text} (task {known.name})"
        return await super().ask(agent, text, step=step, undo=self._back(undo))

    async def check(self, step: str, holds: Callable[..., object]) -> None:
        """Ask the world."""
        world = self._world

        async def asked(ctx: Context[object]) -> object:
            del ctx
            assert world is not None
            return await world.check(step)

        await super().check(step, holds if world is None else asked)

    def _found(self, tool: Tool) -> Tool:
        listed = any(one.name == tool.name and one.contract == tool.contract for one in self._workflow.tools)
        return (self._now.tools.get(tool.name) or tool) if listed else tool

    def _back(self, undo: TakeBack | None) -> TakeBack | None:
        if undo is None:
            return None
        if isinstance(undo, Undoing):
            return Undoing(self._found(undo.tool), undo.arguments)
        made = undo
        return lambda done: cast(Undoing, self._back(made(done)))
