"""Agno's agent on Chat Completions."""

from __future__ import annotations

from agno.agent import Agent
from agno.models.openai import OpenAIChat
from task import Task
from task import add as body

model: OpenAIChat | None = None


async def add(a: int, b: int) -> str:
    """Add two integers."""
    return body(a, b)


async def run(task: Task, *, protocol: str) -> None:
    global model
    model = model or OpenAIChat(id="m", api_key="k", base_url=f"{task.url}/v1")
    await Agent(model=model, tools=[add], telemetry=False).arun(task.prompt)
