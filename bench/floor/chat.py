"""The floor, OpenAI Chat Completions: a loop written by hand on `httpx2`, that sends the whole history each turn."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import httpx2
from task import SCHEMA, Task, add

TOOLS = [{"type": "function", "function": {"name": "add", "description": "Add two integers.", "parameters": SCHEMA}}]

client: httpx2.AsyncClient | None = None


def nothing(kind: str, body: Any) -> None:
    """No journal."""


async def run(task: Task, *, put: Callable[[str, Any], None] = nothing, stream: bool = False) -> None:
    global client
    client = client or httpx2.AsyncClient(base_url=task.url, headers={"authorization": "Bearer k"}, timeout=60)
    messages: list[Any] = [{"role": "user", "content": task.prompt}]
    put("user", messages[0])
    while True:
        asked = {"model": "m", "tools": TOOLS, "messages": messages}
        if stream:
            message = await _streamed(client, asked)
        else:
            response = await client.post("/v1/chat/completions", json=asked)
            response.raise_for_status()
            message = response.json()["choices"][0]["message"]
        put("reply", message)
        messages.append(message)
        calls = message.get("tool_calls")
        if not calls:
            return
        for call in calls:
            put("intent", call)
            result = add(**json.loads(call["function"]["arguments"]))
            messages.append({"role": "tool", "tool_call_id": call["id"], "content": result})
            put("result", messages[-1])


async def _streamed(client: httpx2.AsyncClient, asked: dict[str, Any]) -> dict[str, Any]:
    texts: list[str] = []
    calls: list[Any] = []
    asked = {**asked, "stream": True, "stream_options": {"include_usage": True}}
    async with client.stream("POST", "/v1/chat/completions", json=asked) as response:
        response.raise_for_status()
        async for line in response.aiter_lines():
            if not line.startswith("data:") or line == "data: [DONE]":
                continue
            event = json.loads(line[5:])
            if not event["choices"]:
                continue
            delta = event["choices"][0]["delta"]
            if delta.get("content"):
                texts.append(delta["content"])
            for call in delta.get("tool_calls", ()):
                if call["index"] == len(calls):
                    calls.append({"id": call["id"], "type": "function", "function": {**call["function"]}})
                else:
                    calls[call["index"]]["function"]["arguments"] += call["function"]["arguments"]
    message: dict[str, Any] = {"role": "assistant", "content": "".join(texts) or None}
    return {**message, "tool_calls": calls} if calls else message
