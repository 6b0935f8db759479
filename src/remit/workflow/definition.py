"""`@workflow`: a typed async function, with the tools and agents of its steps, as something that an owner runs.

Knows how workflows are declared; runs none. Invariant: frozen, and what it promises of its input is checked
when it is defined.
"""

from __future__ import annotations

import inspect
import json
import sys
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import cast

from remit.agent import Agent
from remit.budget import budget_to_json
from remit.canonical import digest, encode, name_of
from remit.errors import DefinitionError, InputError
from remit.policy import Policy, digest_of
from remit.tool import Arguments, Catalogue, Tool
from remit.types.budget import Budget
from remit.types.ident import Digest, Json
from remit.types.secret import check_secrets
from remit.workflow.approve import APPROVE, approve_tool, asks
from remit.workflow.flow import Flow

__all__ = ["Workflow", "workflow"]

Function = Callable[..., Awaitable[object]]
_WHOLE = sys.maxsize
"""Results are for the function, and none is too long for it."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Workflow:
    """A workflow, made by `@workflow(...)`. Its attributes are what was said there.

    Args:
        flow: the name of the function's `Flow` parameter.
        read: strict typed values from the JSON text of an input.
        check: the canonical form of an input, or what is wrong with it, as for a tool's arguments.
    """

    name: str
    function: Function
    flow: str
    schema: Mapping[str, Json]
    read: Callable[[str], dict[str, object]] = field(repr=False)
    check: Callable[[str], Arguments | list[str]] = field(repr=False)
    tools: tuple[Tool, ...] = ()
    agents: tuple[Agent, ...] = ()
    policy: tuple[Policy, ...] = ()
    budget: Budget = field(default_factory=Budget)
    secrets: tuple[str, ...] = ()

    @cached_property
    def catalogue(self) -> Catalogue:
        """What its steps may call: its tools, whose results are kept whole, its agents', and the request to a person."""
        tools = [replace(tool, max_result_chars=_WHOLE) for tool in self.tools]
        return Catalogue((*tools, approve_tool))

    @property
    def policies(self) -> tuple[Policy, ...]:
        """Its rules, and the one that asks a person where the function says so."""
        return (*self.policy, asks)

    @cached_property
    def digest(self) -> Digest:
        """Its version: changes with its input, tools, rules, budget, and with the code of its function."""
        facts: dict[str, object] = {
            "name": self.name,
            "function": name_of(self.function),
            "schema": dict(self.schema),
            "tools": [[one.contract, one.declaration.description] for one in self.catalogue.tools],
            "policy": digest_of(self.policy),
            "budget": budget_to_json(self.budget),
        }
        return digest("remit.workflow", encode(cast("Json", facts)))

    def input(self, given: object) -> Arguments:
        """The canonical input.

        Raises:
            InputError: `workflow.input`: it is no mapping of plain JSON values, or does not fit the function's parameters;
                the message names the places.
        """
        if not isinstance(given, Mapping):
            message = f"the input of workflow {self.name!r} is a dict of its parameters, not {type(given).__name__}"
            raise InputError(message, code="workflow.input", workflow=self.name)
        try:
            text = json.dumps(dict(cast("Mapping[str, object]", given)), ensure_ascii=False)
        except (TypeError, ValueError, RecursionError):
            message = f"the input of workflow {self.name!r} holds what JSON has no form for"
            raise InputError(message, code="workflow.input", workflow=self.name) from None
        checked = self.check(text)
        if isinstance(checked, Arguments):
            return checked
        message = f"the input of workflow {self.name!r} does not fit: {'; '.join(checked)}"
        raise InputError(message, code="workflow.input", workflow=self.name)

    def __call__(self, *args: object, **kwargs: object) -> Awaitable[object]:
        """Call the function as it is; nothing is recorded but what its `flow` records."""
        return self.function(*args, **kwargs)


def workflow(
    *,
    tools: Sequence[Tool] = (),
    agents: Sequence[Agent] = (),
    name: str | None = None,
    policy: Policy | Sequence[Policy] = (),
    budget: Budget | None = None,
    secrets: Sequence[str] = (),
) -> Callable[[Function], Workflow]:
    """Make a workflow of a typed async function with a parameter annotated `Flow` (or `Flow[Deps]`).

    Args:
        tools: what its steps may call, undos included; names are unique.
        agents: those that it asks with `flow.ask`.
        name: how an owner finds it, and part of every request's identity; the function's name by default.
        policy: one rule or several for its calls; the strictest verdict counts, and each tool's own rule stands.
        budget: limits of each run: `calls` counts its steps, checks and requests to people included.
        secrets: values that no result, error text or channel may show.

    Raises:
        DefinitionError: the function is not async, has no `Flow`, or a parameter that JSON has no form for; or something
            above does not hold.
    """
    local_names = sys._getframe(1).f_locals  # pyright: ignore[reportPrivateUsage]

    def define(function: Function) -> Workflow:
        called = str(getattr(function, "__name__", "workflow")) if name is None else name
        _need(called, bool(called.strip()), "name", "give a name that is text and not empty")
        _need(called, inspect.iscoroutinefunction(function), "function", "put it above an async function")
        _check_tools(called, tools, agents)
        limits = Budget() if budget is None else budget
        _need(called, isinstance(limits, Budget), "budget", "give a Budget(...)")  # pyright: ignore[reportUnnecessaryIsInstance]
        rules = (policy,) if callable(policy) else tuple(policy)
        _need(called, all(callable(one) for one in rules), "policy", "a rule is a function of the request")
        check_secrets(secrets, f"secrets= of workflow {called!r}")
        asked = [agent.as_tool(description=f"Ask {agent.name}.") for agent in agents]
        made = replace(
            _read(function, called, local_names),
            tools=(*tools, *asked),
            agents=tuple(agents),
            policy=rules,
            budget=limits,
            secrets=tuple(secrets),
        )
        _ = made.catalogue
        return made

    return define


def _check_tools(name: str, tools: Sequence[Tool], agents: Sequence[Agent]) -> None:
    listed = all(not isinstance(one, (str, Tool, Agent)) for one in (tools, agents))
    _need(name, listed, "tools", "tools= and agents= are lists")
    free = APPROVE not in {tool.name for tool in Catalogue(tools)}
    _need(name, free, "tools", f"the name {APPROVE!r} is taken by flow.approve")
    fit = all(isinstance(agent, Agent) for agent in agents)  # pyright: ignore[reportUnnecessaryIsInstance]
    _need(name, fit, "agents", "give a list of agents")


def _read(function: Function, name: str, local_names: Mapping[str, object]) -> Workflow:
    from remit.tool.check import Checker
    from remit.tool.signature import read

    try:
        reading = read(function, name, bound=(), local_names=local_names, context=Flow, described=False)
        checker = Checker(name, reading.schema, form=reading.form)
    except DefinitionError as error:
        message = error.message.replace("tool ", "workflow ", 1)
        raise DefinitionError(message, code=error.code, workflow=name) from None
    flow = reading.context
    _need(name, flow is not None, "function", "annotate one parameter with Flow, or Flow[Deps]")

    def check(text: str) -> Arguments | list[str]:
        checked = checker.check(text)
        return checked if isinstance(checked, Arguments) else [f"{one.path or '/'} {one.message}" for one in checked]

    return Workflow(name=name, function=function, flow=flow or "", schema=reading.schema, read=reading.form.read, check=check)


def _need(name: str, holds: bool, place: str, mend: str) -> None:
    if not holds:
        raise DefinitionError(f"{place}= of workflow {name!r}: {mend}", code=f"workflow.{place}", workflow=name)
