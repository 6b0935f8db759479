"""An agent's version: one digest over everything that shapes what it may do.

Knows what the parts of an agent call their own versions. Invariant: equal descriptions, equal
digests, in every process.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, cast

from remit.budget import budget_to_json
from remit.canonical import digest, encode
from remit.policy import digest_of
from remit.types.ident import Digest, Json

if TYPE_CHECKING:
    from remit.agent.agent import Agent

__all__ = ["digest_of_agent"]


def digest_of_agent(agent: Agent) -> Digest:
    """The digest of name, instructions, model, settings, tools, policy, budgets, answer type and ends."""
    tools = agent.catalogue.tools
    answer = agent.answer_type
    facts: dict[str, object] = {
        "name": agent.name,
        "instructions": agent.instructions if isinstance(agent.instructions, str) else source_of(agent.instructions),
        "model": agent.identity,
        "settings": dict(agent.settings),
        "max_tokens": agent.max_tokens,
        "tools": [
            {
                "contract": tool.contract,
                "description": tool.declaration.description,
                "schema": dict(tool.declaration.schema),
                "strict": tool.declaration.strict,
            }
            for tool in tools
        ],
        "policy": digest_of(agent.policies),
        "budget": budget_to_json(agent.budget),
        "conversation_budget": None if agent.conversation_budget is None else budget_to_json(agent.conversation_budget),
        "answer": None if answer is None else dict(answer.schema),
        "done": None if agent.done is None else source_of(agent.done),
        "on_wait": agent.on_wait,
        "server_tools": [dict(tool) for tool in agent.server_tools],
        "parallel": agent.parallel,
    }
    return digest("remit.agent", encode(cast("Json", facts)))


def source_of(function: Callable[..., object]) -> str:
    """The text of a function where it can be had, else its qualified name."""
    name = f"{getattr(function, '__module__', '')}.{getattr(function, '__qualname__', type(function).__qualname__)}"
    try:
        return f"{name}\n{inspect.getsource(function)}"
    except (OSError, TypeError):
        return name
