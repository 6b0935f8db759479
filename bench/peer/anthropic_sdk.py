"""The Anthropic SDK's tool runner. It sends the whole history each turn, as every subject here does."""

from __future__ import annotations

from anthropic import AsyncAnthropic, beta_async_tool
from task import Task
from task import add as body

client: AsyncAnthropic | None = None


@beta_async_tool
async def add(a: int, b: int) -> str:
    """Add two integers.

    Args:
        a: one
        b: the other
    """
    return body(a, b)


async def run(task: Task, *, protocol: str, stream: bool = False) -> None:
    global client
    client = client or AsyncAnthropic(base_url=task.url, api_key="k")
    asked = {"role": "user", "content": task.prompt}
    runner = client.beta.messages.tool_runner(
        model="m", max_tokens=1024, tools=[add], messages=[asked], stream=stream, thread=False
    )
    if not stream:
        await runner.until_done()
        return
    async for turn in runner:
        await turn.get_final_message()
