"""LangChain's agent on LangGraph, and with its checkpoints kept in SQLite."""

from __future__ import annotations

import tempfile
import uuid
from pathlib import Path
from typing import Any

from langchain.agents import create_agent
from langchain_anthropic import ChatAnthropic
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
from task import Task
from task import add as body

agent: Any = None


@tool
async def add(a: int, b: int) -> str:
    """Add two integers."""
    return body(a, b)


async def run(task: Task, *, protocol: str, checkpoints: bool = False) -> None:
    global agent
    if agent is None:
        if protocol == "anthropic":
            model: Any = ChatAnthropic(model="m", base_url=task.url, api_key="k", max_tokens=1024)
        else:
            model = ChatOpenAI(model="m", base_url=f"{task.url}/v1", api_key="k")
        agent = create_agent(model, [add], checkpointer=await _saver() if checkpoints else None)
    config: Any = {"recursion_limit": 3 * task.turns + 20}
    if not checkpoints:
        await agent.ainvoke({"messages": [("user", task.prompt)]}, config)
        return
    config["configurable"] = {"thread_id": uuid.uuid4().hex}
    await agent.ainvoke({"messages": [("user", task.prompt)]}, config, durability="sync")


async def _saver() -> Any:
    import aiosqlite
    from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

    connection = await aiosqlite.connect(Path(tempfile.mkdtemp(prefix="bench-checkpoints-")) / "checkpoints.db")
    saver = AsyncSqliteSaver(connection)
    await saver.setup()
    return saver
