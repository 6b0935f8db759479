"""Which tools a model may, must or must not call, and whether several at once: from the agent to the provider."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from remit import READ, TRUSTED, Agent, Budget, MemoryLedger, Principal, Remit, ScriptedModel, call, tool
from remit.types.model import ProtocolName

CHOICES: dict[ProtocolName, dict[str, Any]] = {
    "anthropic": {
        "auto": None,
        "none": {"type": "none"},
        "required": {"type": "any"},
        "look": {"type": "tool", "name": "look"},
    },
    "openai-chat": {
        "auto": None,
        "none": "none",
        "required": "required",
        "look": {"type": "function", "function": {"name": "look"}},
    },
    "openai-responses": {
        "auto": None,
        "none": "none",
        "required": "required",
        "look": {"type": "function", "name": "look"},
    },
}

every = pytest.mark.parametrize("protocol", CHOICES)


@tool(effect=READ, label=TRUSTED)
async def look(name: str) -> str:
    """Look.

    Args:
        name: which
    """
    return name


def requests(protocol: ProtocolName, **settings: Any) -> list[dict[str, Any]]:
    """The bodies of a run of two turns."""
    model = ScriptedModel([call("look", name="x"), "done"], protocol=protocol)
    agent = Agent("a", model=model, tools=[look], budget=Budget(turns=2), **settings)

    async def go() -> None:
        async with Remit(ledger=MemoryLedger(), agents=[agent]) as remit:
            await remit.run("a", "go", principal=Principal("alice"))

    asyncio.run(go())
    return [json.loads(one) for one in model.requests]


@every
@pytest.mark.parametrize("choice", ["auto", "none", "required", "look"])
def test_the_tool_choice_of_an_agent_is_in_every_request(protocol: ProtocolName, choice: str) -> None:
    said = [body.get("tool_choice") for body in requests(protocol, tool_choice=choice)]
    assert said == [CHOICES[protocol][choice]] * 2


@every
def test_an_agent_that_wants_one_call_at_a_time_says_so_in_every_request(protocol: ProtocolName) -> None:
    bodies = requests(protocol, parallel=False)
    if protocol == "anthropic":
        assert [body["tool_choice"] for body in bodies] == [{"type": "auto", "disable_parallel_tool_use": True}] * 2
    else:
        assert [body["parallel_tool_calls"] for body in bodies] == [False] * 2
    assert not any("parallel" in json.dumps(body) for body in requests(protocol))


@every
def test_a_choice_and_one_call_at_a_time_go_together(protocol: ProtocolName) -> None:
    body = requests(protocol, tool_choice="required", parallel=False)[0]
    if protocol == "anthropic":
        assert body["tool_choice"] == {"type": "any", "disable_parallel_tool_use": True}
    else:
        assert (body["tool_choice"], body["parallel_tool_calls"]) == ("required", False)
