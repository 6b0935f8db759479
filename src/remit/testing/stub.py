"""Stub handlers: another function in the place of a tool's, under the same contract.

Knows tools. Invariant: name, schema, effect and sameness stay, so everything before the handler
behaves as with the real one.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import replace

from remit.agent import Agent
from remit.errors import InputError
from remit.tool import Tool

__all__ = ["Stubs", "stubbed"]

Stubs = Mapping[str, Callable[..., object]]
"""Tool name -> a function of those parameters of the tool that it names."""


def stubbed(agent: Agent, stubs: Stubs) -> Agent:
    """The agent with these handlers.

    Raises:
        InputError: it has no such tool.
    """
    unknown = sorted(set(stubs) - {tool.name for tool in agent.tools})
    if unknown:
        raise InputError(f"stubs= names {', '.join(unknown)}: agent {agent.name!r} has no such tool", code="testing.stubs")
    if not stubs:
        return agent
    return replace(agent, tools=[_with(tool, stubs[tool.name]) if tool.name in stubs else tool for tool in agent.tools])


def _with(tool: Tool, stub: Callable[..., object]) -> Tool:
    is_async = inspect.iscoroutinefunction(stub)
    if tool.form is None:
        return replace(tool, handler=stub, is_async=is_async, sandbox=None)
    parameters = inspect.signature(stub).parameters
    takes_all = any(one.kind is inspect.Parameter.VAR_KEYWORD for one in parameters.values())

    def handler(**values: object) -> object:
        return stub(**{name: value for name, value in values.items() if takes_all or name in parameters})

    context = tool.context or ("ctx" if "ctx" in parameters else None)
    return replace(tool, handler=handler, is_async=is_async, context=context, sandbox=None)
