"""The fake provider as a user and as the official SDKs see it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any

import anthropic
import httpx2
import openai
import pytest

from remit import READ, Agent, Finished, InputError, MemoryLedger, ModelError, Principal, Remit, ScriptedModel, tool
from remit.testing import FakeProvider, call

PROTOCOLS = ("anthropic", "openai-chat", "openai-responses")
ASK: dict[str, Any] = {"model": "fake", "max_tokens": 100, "messages": [{"role": "user", "content": "hi"}]}
CALLS = ("Let me look. 😀", [call("look", order='A-"1"\\ é😀'), call("look", order="B")])
READ_BY = [json.loads(one.arguments) for one in CALLS[1]]
TOOL: dict[str, Any] = {"type": "object", "properties": {"order": {"type": "string"}}}


def play(turns: Any, story: Callable[[FakeProvider], Awaitable[None]], *, seed: int = 0) -> None:
    async def run() -> None:
        async with FakeProvider(turns, seed=seed) as provider:
            await story(provider)

    asyncio.run(run())


@tool(effect=READ, scopes={"orders"})
async def look(order: str) -> str:
    """Look at an order.

    Args:
        order: which
    """
    return f"{order} is sent"


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_an_agent_runs_against_it_over_real_http(protocol: Any) -> None:
    async def story(provider: FakeProvider) -> None:
        agent = Agent("support", model=provider.model(protocol), instructions="Help.", tools=[look])
        async with Remit(ledger=MemoryLedger(), agents=[agent]) as remit:
            run = await remit.run("support", "where?", principal=Principal("alice", scopes=frozenset({"orders"})))
        assert isinstance(run, Finished)
        assert run.answer == "All sent."
        assert provider.broken == []
        assert [one.method for one in provider.requests] == ["POST", "POST"]
        assert provider.requests[0].headers["content-type"] == "application/json"
        assert b"B is sent" in provider.requests[1].body

    play([CALLS, "All sent."], story)


def test_it_says_what_a_scripted_model_would_and_a_function_sees_the_request() -> None:
    def speak(asked: dict[str, Any]) -> str:
        return f"{len(asked['messages'])} {asked['model']}"

    async def story(provider: FakeProvider) -> None:
        async with httpx2.AsyncClient(base_url=provider.url) as client:
            body = json.dumps(ASK).encode()
            said = [(await client.post("/v1/messages", content=body)).content for _ in range(3)]
            model = ScriptedModel(["one", speak, call("look", order="A")])
            assert said == [await model.ask(body) for _ in range(3)]

    play(["one", speak, call("look", order="A")], story)


def test_one_function_may_answer_everything_also_as_a_coroutine() -> None:
    async def speak(asked: dict[str, Any]) -> str:
        await asyncio.sleep(0)
        return asked["model"]

    async def story(provider: FakeProvider) -> None:
        async with httpx2.AsyncClient(base_url=provider.url) as client:
            answers = await asyncio.gather(*(client.post("/v1/messages", json={**ASK, "model": f"m{n}"}) for n in range(5)))
            assert [one.json()["content"][0]["text"] for one in answers] == [f"m{n}" for n in range(5)]

    play(speak, story)


def test_what_a_function_raises_is_raised_when_the_provider_is_left_and_a_models_error_is_answered() -> None:
    def wrong(asked: dict[str, Any]) -> str:
        raise AssertionError(f"nobody asks {asked['model']}")

    def limited(asked: dict[str, Any]) -> str:
        raise ModelError("slow down", code="model.rate_limited", retryable=True)

    async def story(provider: FakeProvider) -> None:
        async with httpx2.AsyncClient(base_url=provider.url) as client:
            answers = [await client.post("/v1/messages", json={**ASK, "stream": True}) for _ in range(3)]
            assert [one.status_code for one in answers] == [400, 429, 400]

    with pytest.raises(AssertionError, match="nobody asks fake"):
        play([wrong, limited, b"no body that could be a stream", "x"], story)


def test_what_is_no_endpoint_is_not_found() -> None:
    async def story(provider: FakeProvider) -> None:
        async with httpx2.AsyncClient(base_url=provider.url) as client:
            assert (await client.get("/v1/models")).status_code == 404
            assert (await client.post("/v1/embeddings", json={})).json()["error"]["type"] == "invalid_request_error"

    play([], story)


def test_it_has_no_address_before_it_is_open() -> None:
    with pytest.raises(InputError):
        _ = FakeProvider([]).url


@pytest.mark.parametrize("seed", range(4))
def test_the_anthropic_sdk_reads_it_plain_and_streamed(seed: int) -> None:
    async def story(provider: FakeProvider) -> None:
        given: dict[str, Any] = {**ASK, "tools": [{"name": "look", "input_schema": TOOL}]}
        async with anthropic.AsyncAnthropic(base_url=provider.url, api_key="k", max_retries=0) as client:
            plain = await client.messages.create(**given)
            async with client.messages.stream(**given) as stream:
                texts = [one async for one in stream.text_stream]
                streamed = await stream.get_final_message()
        assert [block.input for block in plain.content if block.type == "tool_use"] == READ_BY
        assert [one.to_dict() for one in streamed.content] == [one.to_dict() for one in plain.content]
        assert (streamed.stop_reason, streamed.usage.output_tokens) == (plain.stop_reason, plain.usage.output_tokens)
        assert "".join(texts) == CALLS[0]

    play([CALLS, CALLS], story, seed=seed)


@pytest.mark.parametrize("seed", range(4))
def test_the_openai_sdk_reads_its_chat_plain_and_streamed(seed: int) -> None:
    async def story(provider: FakeProvider) -> None:
        tools: Any = [{"type": "function", "function": {"name": "look", "parameters": TOOL}}]
        given: dict[str, Any] = {"model": "fake", "messages": ASK["messages"], "tools": tools}
        async with openai.AsyncOpenAI(base_url=provider.base_url("openai-chat"), api_key="k", max_retries=0) as client:
            plain = await client.chat.completions.create(**given)
            async with client.chat.completions.stream(**given, stream_options={"include_usage": True}) as stream:
                async for _ in stream:
                    pass
                streamed = await stream.get_final_completion()
            chunks = [one async for one in await client.chat.completions.create(**given, stream=True)]
        one, two = plain.choices[0], streamed.choices[0]
        assert [json.loads(made.function.arguments) for made in one.message.tool_calls or []] == READ_BY
        assert two.message.content == one.message.content == CALLS[0]
        assert [made.function.arguments for made in two.message.tool_calls or []] == [
            made.function.arguments for made in one.message.tool_calls or []
        ]
        assert two.finish_reason == one.finish_reason == "tool_calls"
        assert streamed.usage == plain.usage
        assert all(chunk.usage is None and chunk.choices for chunk in chunks), "usage is told where it was asked for only"
        assert chunks[0].choices[0].delta.role == "assistant"

    play([CALLS, CALLS, CALLS], story, seed=seed)


@pytest.mark.parametrize("seed", range(4))
def test_the_openai_sdk_reads_its_responses_plain_and_streamed(seed: int) -> None:
    async def story(provider: FakeProvider) -> None:
        tools: Any = [{"type": "function", "name": "look", "parameters": TOOL, "strict": False}]
        given: dict[str, Any] = {"model": "fake", "input": "hi", "tools": tools}
        async with openai.AsyncOpenAI(base_url=provider.base_url("openai-responses"), api_key="k", max_retries=0) as client:
            plain = await client.responses.create(**given)
            async with client.responses.stream(**given) as stream:
                events = [one async for one in stream]
                streamed = await stream.get_final_response()
        assert [json.loads(one.arguments) for one in plain.output if one.type == "function_call"] == READ_BY
        assert streamed.output_text == plain.output_text == CALLS[0]
        made = [
            [(one.call_id, one.arguments) for one in whole.output if one.type == "function_call"] for whole in (plain, streamed)
        ]
        assert made[0] == made[1]
        assert [one.sequence_number for one in events if hasattr(one, "sequence_number")] == sorted(
            one.sequence_number for one in events if hasattr(one, "sequence_number")
        )

    play([CALLS, CALLS], story, seed=seed)


def test_equal_seeds_cut_equally_and_others_otherwise() -> None:
    streams: dict[int, list[bytes]] = {}

    async def taken(seed: int) -> bytes:
        provider = FakeProvider(["A longer text, so that there is something to cut."], seed=seed)
        async with provider, httpx2.AsyncClient() as client:
            return (await client.post(f"{provider.url}/v1/messages", json={**ASK, "stream": True})).content

    for seed in (1, 1, 2):
        streams.setdefault(seed, []).append(asyncio.run(taken(seed)))
    assert streams[1][0] == streams[1][1] != streams[2][0]
