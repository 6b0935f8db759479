"""The agents of an owner by their names: those that it was given, and all that answer calls of theirs.

Knows agents and their tools. Invariant: a name is one agent.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence

from remit.agent import Agent
from remit.errors import DefinitionError
from remit.tool import Tool
from remit.workflow import Workflow

__all__ = ["by_name", "need_names_apart", "workflows_by_name"]


def by_name(agents: Sequence[Agent], tools: Iterable[Tool] = ()) -> dict[str, Agent]:
    """Every agent that runs here may need, under its name.

    Args:
        tools: of workflows: what answers calls of these is needed as well.

    Raises:
        DefinitionError: two are named alike (`owner.agents`), or something is no agent.
    """
    found: dict[str, Agent] = {}
    for agent in agents:
        if not isinstance(agent, Agent):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise DefinitionError("agents= of Remit holds Agent objects only", code="owner.agents")
        if agent.name in found:
            raise _twice(agent)
        found[agent.name] = agent
    for one in [*_behind(tools), *(below for agent in agents for below in _behind(agent.catalogue.tools))]:
        if found.setdefault(one.name, one) is not one:
            raise _twice(one)
    return found


def workflows_by_name(workflows: Sequence[Workflow]) -> dict[str, Workflow]:
    """The workflows of an owner, each under its name.

    Raises:
        DefinitionError: two are named alike (`owner.workflows`), or something is no workflow.
    """
    if isinstance(workflows, Workflow):
        raise DefinitionError("workflows= of Remit is a list: workflows=[workflow]", code="owner.workflows")
    found: dict[str, Workflow] = {}
    for one in workflows:
        if not isinstance(one, Workflow):  # pyright: ignore[reportUnnecessaryIsInstance]
            message = "workflows= of Remit holds workflows only: put @workflow(...) above the function"
            raise DefinitionError(message, code="owner.workflows")
        if found.setdefault(one.name, one) is not one:
            raise DefinitionError(f"two workflows are named {one.name!r}; rename one", code="owner.workflows", agent=one.name)
    return found


def need_names_apart(agents: Collection[str], workflows: Collection[str]) -> None:
    """Return if no workflow has the name of an agent: a run is found by its name.

    Raises:
        DefinitionError: one has (`owner.workflows`).
    """
    for name in sorted(set(agents) & set(workflows)):
        raise DefinitionError(f"an agent and a workflow are named {name!r}; rename one", code="owner.workflows", agent=name)


def _behind(tools: Iterable[Tool]) -> Iterator[Agent]:
    for tool in tools:
        if isinstance(tool.agent, Agent):
            yield tool.agent
            yield from _behind(tool.agent.catalogue.tools)


def _twice(agent: Agent) -> DefinitionError:
    message = f"two agents are named {agent.name!r}; give one of them another name"
    return DefinitionError(message, code="owner.agents", agent=agent.name)
