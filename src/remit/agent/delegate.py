"""An agent as a tool of another: what a model is shown of it, and what it may be lent.

Knows tools, no run. Invariant: such a tool has no handler; whoever owns runs answers its calls with a run of the agent.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Literal, NoReturn

from remit.canonical import digest, encode
from remit.errors import DefinitionError
from remit.tool import Context, Tool
from remit.tool.approve import ApprovalRule
from remit.tool.effect import Effect
from remit.tool.option import Options
from remit.types.ident import Json

if TYPE_CHECKING:
    from remit.agent.agent import Agent

__all__ = ["agent_tool"]

_AGENT = Effect("agent")
_SCHEMA: Mapping[str, Json] = {
    "type": "object",
    "properties": {
        "task": {
            "type": "string",
            "minLength": 1,
            "description": "what is to be done, in whole sentences: the other side knows nothing of this conversation",
        }
    },
    "required": ["task"],
}


def _not_run(arguments: dict[str, object], ctx: Context[object]) -> NoReturn:
    raise RuntimeError("an agent's tool has no handler to run")


def agent_tool(
    agent: Agent,
    *,
    name: str,
    description: str,
    scopes: Collection[str] | None,
    approve: ApprovalRule | None,
    sends_to: Collection[str] | Literal["everyone"] | None,
    max_result_chars: int,
) -> Tool:
    """The tool; see `Agent.as_tool`."""
    if scopes is not None and (isinstance(scopes, str) or not all(isinstance(one, str) for one in scopes)):  # pyright: ignore[reportUnnecessaryIsInstance]
        message = f"scopes= of as_tool of agent {agent.name!r}: give a set of strings, for example {{'billing:refund'}}"
        raise DefinitionError(message, code="definition.scopes", agent=agent.name)
    options: Options = {"effect": _AGENT, "approve": approve, "max_result_chars": max_result_chars}
    if sends_to is not None:
        options["sends_to"] = sends_to
    made = Tool.from_schema(name=name, description=description, schema=_SCHEMA, handler=_not_run, **options)
    lends = None if scopes is None else frozenset(scopes)
    return replace(made, agent=agent, lends=lends, contract=digest("remit.contract", encode([made.contract, agent.name])))
