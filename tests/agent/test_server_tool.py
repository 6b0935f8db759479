"""Which tools a provider runs itself is said once: what an agent takes is sent, and what would be refused on its way is
refused where it is defined."""

from __future__ import annotations

from typing import Any

import pytest

from remit import CALL, READ, Agent, manual, tool, write
from remit.agent import server_tool
from remit.errors import DefinitionError, InputError
from remit.types.model import HeadSpec, ProtocolName
from remit.wire import wire_for

DECLARED: list[tuple[ProtocolName, dict[str, Any], bool]] = [
    ("anthropic", {"type": "browser_toolset_20260801"}, True),
    ("openai-chat", {"type": "browser_search"}, False),
    ("openai-chat", {"type": "browser_automation"}, False),
    ("openai-responses", {"type": "shell_20260901"}, True),
    ("openai-responses", {"type": "shell", "environment": {"type": "remote"}}, True),
    ("openai-responses", {"type": "shell", "environment": {"type": "container_auto"}}, False),
    ("openai-responses", {"type": "mcp", "server_label": "s", "require_approval": "never", "execution": "client"}, True),
    ("openai-responses", {"type": "web_search", "execution": "client"}, True),
]


def declaring(declaration: dict[str, Any]) -> HeadSpec:
    return HeadSpec(model="m", instructions="", tools=(), max_tokens=64, server_tools=(declaration,))


@pytest.mark.parametrize(("protocol", "declaration", "here"), DECLARED)
def test_a_tool_that_the_application_would_run_is_refused_where_it_is_defined_and_where_it_is_sent(
    protocol: ProtocolName, declaration: dict[str, Any], here: bool
) -> None:
    spec = declaring(declaration)
    effect = write(once_per=CALL, recovery=manual)
    if here:
        with pytest.raises(DefinitionError, match="not run by the provider"):
            server_tool(declaration, effect=effect)
        with pytest.raises(InputError) as caught:
            wire_for(protocol).head(spec)
        assert caught.value.code == "server_tool.type"
    else:
        assert server_tool(declaration, effect=effect).declaration == declaration
        assert f'"type":"{declaration["type"]}"' in wire_for(protocol).head(spec)


@pytest.mark.parametrize("approval", [{}, {"require_approval": "always"}, {"require_approval": {"never": {}}}])
def test_hosted_mcp_that_would_wait_for_an_approval_is_refused_in_both_places(approval: dict[str, Any]) -> None:
    declaration = {"type": "mcp", "server_label": "s", "server_url": "https://s.example", **approval}
    with pytest.raises(DefinitionError, match="require_approval"):
        server_tool(declaration, effect=write(once_per=CALL, recovery=manual))
    with pytest.raises(InputError) as caught:
        wire_for("openai-responses").head(declaring(declaration))
    assert caught.value.code == "server_tool.approval"


def test_a_name_that_a_tool_of_the_agent_has_is_taken() -> None:
    @tool(effect=READ)
    async def web_search(query: str) -> str:
        """Search."""
        return query

    declared = {"type": "web_search_20260318", "name": "web_search"}
    for given in (declared, server_tool(declared)):
        with pytest.raises(DefinitionError, match="'web_search' is a tool of the agent") as raised:
            Agent("a", model="anthropic:m", tools=[web_search], server_tools=[given])
        assert raised.value.code == "agent.server_tools"
