"""The floor, Anthropic Messages: a loop written by hand on `httpx2`, that sends the whole history each turn."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import httpx2
from task import SCHEMA, Task, add

TOOLS = [{"name": "add", "description": "Add two integers.", "input_schema": SCHEMA}]
HEADERS = {"x-api-key": "k", "anthropic-version": "2023-06-01"}

client: httpx2.AsyncClient | None = None


def nothing(kind: str, body: Any) -> None:
    """No journal."""


async def run(task: Task, *, put: Callable[[str, Any], None] = nothing, stream: bool = False) -> None:
    global client
    client = client or httpx2.AsyncClient(base_url=task.url, headers=HEADERS, timeout=60)
    messages: list[Any] = [{"role": "user", "content": task.prompt}]
    put("user", messages[0])
    while True:
        asked = {"model": "m", "max_tokens": 1024, "tools": TOOLS, "messages": messages}
        if stream:
            message = await _streamed(client, asked)
        else:
            response = await client.post("/v1/messages", json=asked)
            response.raise_for_status()
            message = response.json()
        put("reply", message)
        messages.append({"role": "assistant", "content": message["content"]})
        if message["stop_reason"] != "tool_use":
            return
        results: list[Any] = []
        for block in message["content"]:
            if block["type"] == "tool_use":
                put("intent", block)
                results.append({"type": "tool_result", "tool_use_id": block["id"], "content": add(**block["input"])})
                put("result", results[-1])
        messages.append({"role": "user", "content": results})


async def _streamed(client: httpx2.AsyncClient, asked: dict[str, Any]) -> dict[str, Any]:
    message: dict[str, Any] = {}
    parts: list[list[str]] = []
    async with client.stream("POST", "/v1/messages", json={**asked, "stream": True}) as response:
        response.raise_for_status()
        async for line in response.aiter_lines():
            if not line.startswith("data:"):
                continue
            event = json.loads(line[5:])
            match event["type"]:
                case "message_start":
                    message = event["message"]
                case "content_block_start":
                    message["content"].append(event["content_block"])
                    parts.append([])
                case "content_block_delta":
                    delta = event["delta"]
                    parts[event["index"]].append(delta["text"] if delta["type"] == "text_delta" else delta["partial_json"])
                case "message_delta":
                    message.update(event["delta"])
                    message["usage"].update(event["usage"])
                case _:
                    pass
    for block, texts in zip(message["content"], parts, strict=True):
        if block["type"] == "text":
            block["text"] = "".join(texts)
        else:
            block["input"] = json.loads("".join(texts) or "{}")
    return message
