"""The floor, OpenAI Responses: a loop written by hand on `httpx2`, that sends the whole input each turn."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import httpx2
from task import SCHEMA, Task, add

TOOLS = [{"type": "function", "name": "add", "description": "Add two integers.", "parameters": SCHEMA}]

client: httpx2.AsyncClient | None = None


def nothing(kind: str, body: Any) -> None:
    """No journal."""


async def run(task: Task, *, put: Callable[[str, Any], None] = nothing, stream: bool = False) -> None:
    global client
    client = client or httpx2.AsyncClient(base_url=task.url, headers={"authorization": "Bearer k"}, timeout=60)
    items: list[Any] = [{"role": "user", "content": task.prompt}]
    put("user", items[0])
    while True:
        asked = {"model": "m", "tools": TOOLS, "input": items, "store": False}
        if stream:
            output = await _streamed(client, asked)
        else:
            response = await client.post("/v1/responses", json=asked)
            response.raise_for_status()
            output = response.json()["output"]
        put("reply", output)
        items.extend(output)
        calls = [item for item in output if item["type"] == "function_call"]
        if not calls:
            return
        for call in calls:
            put("intent", call)
            result = add(**json.loads(call["arguments"]))
            items.append({"type": "function_call_output", "call_id": call["call_id"], "output": result})
            put("result", items[-1])


async def _streamed(client: httpx2.AsyncClient, asked: dict[str, Any]) -> list[Any]:
    output: list[Any] = []
    async with client.stream("POST", "/v1/responses", json={**asked, "stream": True}) as response:
        response.raise_for_status()
        async for line in response.aiter_lines():
            if line.startswith("data:"):
                event = json.loads(line[5:])
                if event["type"] == "response.completed":
                    output = event["response"]["output"]
    return output
