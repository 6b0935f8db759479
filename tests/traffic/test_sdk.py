"""The official SDKs read every reply alike, plain and as the stream that the fake provider makes of it."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import anthropic
import openai

from remit.testing import FakeProvider
from traffic.exchange import Exchange, plain, recorded

HI: Any = [{"role": "user", "content": "hi"}]


def without_nulls(value: Any) -> Any:
    """A member that is null says nothing, and a stream may leave it out."""
    if isinstance(value, dict):
        return {key: without_nulls(one) for key, one in value.items() if one is not None}
    return [without_nulls(one) for one in value] if isinstance(value, list) else value


async def of_anthropic(client: Any, name: str) -> tuple[Any, Any]:
    given: dict[str, Any] = {"model": name, "max_tokens": 100, "messages": HI}
    whole = await client.messages.create(**given)
    async with client.messages.stream(**given) as stream:
        return whole.to_dict()["content"], (await stream.get_final_message()).to_dict()["content"]


async def of_chat(client: Any, name: str) -> tuple[Any, Any]:
    given: dict[str, Any] = {"model": name, "messages": HI}
    whole = await client.chat.completions.create(**given)
    async with client.chat.completions.stream(**given, stream_options={"include_usage": True}) as stream:
        streamed = await stream.get_final_completion()
    assert streamed.usage == whole.usage
    gathered = streamed.to_dict()["choices"][0]
    for call in gathered["message"].get("tool_calls") or []:
        del call["index"]  # the SDK's own, of the pieces that it put together
    return whole.to_dict()["choices"][0], gathered


async def of_responses(client: Any, name: str) -> tuple[Any, Any]:
    given: dict[str, Any] = {"model": name, "input": "hi"}
    whole = await client.responses.create(**given)
    async with client.responses.stream(**given) as stream:
        streamed = await stream.get_final_response()
    return whole.to_dict()["output"], streamed.to_dict()["output"]


READERS = {"anthropic": of_anthropic, "openai-chat": of_chat, "openai-responses": of_responses}


def test_every_reply_reads_alike_plain_and_streamed() -> None:
    bodies = {one.name: json.dumps(one.plain).encode() for one in plain()}

    async def compare(exchange: Exchange, client: Any) -> None:
        whole, streamed = await READERS[exchange.protocol](client, exchange.name)
        assert without_nulls(streamed) == without_nulls(whole), exchange.name

    async def story() -> None:
        async with (
            FakeProvider(lambda asked: bodies[asked["model"]]) as provider,
            anthropic.AsyncAnthropic(base_url=provider.url, api_key="k", max_retries=0) as claude,
            openai.AsyncOpenAI(base_url=provider.base_url("openai-chat"), api_key="k", max_retries=0) as gpt,
        ):
            for exchange in plain():
                await compare(exchange, claude if exchange.protocol == "anthropic" else gpt)

    asyncio.run(story())
    assert len(bodies) == 9 + recorded(216)
