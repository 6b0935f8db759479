"""The OpenAI Agents SDK, on Chat Completions or Responses, and with a session kept in SQLite."""

from __future__ import annotations

import tempfile
import uuid
from pathlib import Path

from agents import Agent, OpenAIChatCompletionsModel, OpenAIResponsesModel, Runner, SQLiteSession, function_tool
from openai import AsyncOpenAI
from task import Task
from task import add as body

agent: Agent | None = None
folder = Path(tempfile.mkdtemp(prefix="bench-sessions-"))


@function_tool
async def add(a: int, b: int) -> str:
    """Add two integers."""
    return body(a, b)


async def run(task: Task, *, protocol: str, session: bool = False) -> None:
    global agent
    if agent is None:
        kind = OpenAIResponsesModel if protocol == "responses" else OpenAIChatCompletionsModel
        model = kind(model="m", openai_client=AsyncOpenAI(base_url=f"{task.url}/v1", api_key="k"))
        agent = Agent(name="bench", tools=[add], model=model)
    kept = SQLiteSession(uuid.uuid4().hex, folder / "sessions.db") if session else None
    await Runner.run(agent, task.prompt, max_turns=task.turns + 5, session=kept)
