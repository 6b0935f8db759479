"""Pydantic AI, on all three protocols."""

from __future__ import annotations

from typing import Any

from anthropic import AsyncAnthropic
from openai import AsyncOpenAI
from pydantic_ai import Agent, UsageLimits
from pydantic_ai.models.anthropic import AnthropicModel
from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
from pydantic_ai.providers.anthropic import AnthropicProvider
from pydantic_ai.providers.openai import OpenAIProvider
from task import Task
from task import add as body

agent: Agent[None, str] | None = None


async def add(a: int, b: int) -> str:
    """Add two integers."""
    return body(a, b)


def model_of(protocol: str, url: str) -> Any:
    """The protocol's model at the fake's address."""
    if protocol == "anthropic":
        return AnthropicModel("m", provider=AnthropicProvider(anthropic_client=AsyncAnthropic(base_url=url, api_key="k")))
    kind = OpenAIChatModel if protocol == "chat" else OpenAIResponsesModel
    return kind("m", provider=OpenAIProvider(openai_client=AsyncOpenAI(base_url=f"{url}/v1", api_key="k")))


async def run(task: Task, *, protocol: str) -> None:
    global agent
    agent = agent or Agent(model_of(protocol, task.url), tools=[add])
    await agent.run(task.prompt, usage_limits=UsageLimits(request_limit=None))
