"""The OpenAI SDK under a loop written by hand, Chat Completions."""

from __future__ import annotations

import json
from typing import Any

from openai import AsyncOpenAI
from task import SCHEMA, Task, add

TOOLS: Any = [{"type": "function", "function": {"name": "add", "description": "Add two integers.", "parameters": SCHEMA}}]

client: AsyncOpenAI | None = None


async def run(task: Task, *, protocol: str) -> None:
    global client
    client = client or AsyncOpenAI(base_url=f"{task.url}/v1", api_key="k")
    messages: list[Any] = [{"role": "user", "content": task.prompt}]
    while True:
        reply = await client.chat.completions.create(model="m", tools=TOOLS, messages=messages)
        message = reply.choices[0].message
        messages.append(message)
        if not message.tool_calls:
            return
        for call in message.tool_calls:
            result = add(**json.loads(call.function.arguments))
            messages.append({"role": "tool", "tool_call_id": call.id, "content": result})
