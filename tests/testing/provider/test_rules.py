"""Each rule refuses what breaks it, in the provider's words and shape, and takes the neighbour that holds."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import anthropic
import httpx2
import openai
import pytest

from remit.testing import FakeProvider
from remit.testing.provider import RULES
from testing.provider.cases import Case
from testing.provider.cases_anthropic import ANTHROPIC_CASES
from testing.provider.cases_chat import CHAT_CASES
from testing.provider.cases_responses import RESPONSES_CASES
from testing.provider.cases_thinking import THINKING_CASES

PATHS = {
    "anthropic": "/v1/messages",
    "openai-chat": "/v1/chat/completions",
    "openai-responses": "/v1/responses",
}
CASES = [*ANTHROPIC_CASES, *THINKING_CASES, *CHAT_CASES, *RESPONSES_CASES]


def protocol_of(case: Case) -> str:
    return case.code.partition(".")[0]


def asked(case: Case, body: Any) -> tuple[httpx2.Response, list[str]]:
    """What the provider answers, and the rules that it found broken, after it said what the case wants said."""
    path = PATHS[protocol_of(case)]

    async def story() -> tuple[httpx2.Response, list[str]]:
        replies = [json.dumps(reply).encode() for _, reply in case.said]
        async with FakeProvider([*replies, "Fine."]) as provider, httpx2.AsyncClient(base_url=provider.url) as client:
            for request, _ in case.said:
                assert (await client.post(path, json=request)).status_code == 200
            return await client.post(path, json=body), [one.code for one in provider.broken]

    return asyncio.run(story())


@pytest.mark.parametrize("case", CASES, ids=[f"{one.code}-{index}" for index, one in enumerate(CASES)])
def test_what_breaks_a_rule_is_refused_in_the_providers_words_and_its_neighbour_is_taken(case: Case) -> None:
    refused, broken = asked(case, case.broken())
    assert broken == [case.code]
    assert refused.status_code == 400
    said = refused.json()
    assert said["error"].pop("type") == "invalid_request_error"
    if protocol_of(case) == "anthropic":
        assert said["type"] == "error"
        assert said["error"] == {"message": case.words}
    else:
        assert said["error"] == {"message": case.words, "param": case.param, "code": case.error}
    taken, broken = asked(case, case.mended())
    assert (broken, taken.status_code) == ([], 200), taken.text


def test_every_rule_has_a_case_and_a_code_of_its_own() -> None:
    codes = [f"{protocol}.{rule.code}" for protocol, rules in RULES.items() for rule in rules]
    assert len(codes) == len(set(codes)) == 97
    assert len(CASES) == 136
    assert set(codes) - {case.code for case in CASES} == {f"{protocol}.body" for protocol in PATHS}, "those are tested below"
    assert {case.code for case in CASES} <= set(codes)


@pytest.mark.parametrize("protocol", PATHS)
@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"3", b"\xff", b"[" * 100_000])
def test_what_is_no_json_object_is_refused(protocol: str, body: bytes) -> None:
    async def story() -> tuple[int, list[str]]:
        async with FakeProvider([]) as provider, httpx2.AsyncClient(base_url=provider.url) as client:
            response = await client.post(PATHS[protocol], content=body)
            assert response.json()["error"]["type"] == "invalid_request_error"
            return response.status_code, [one.code for one in provider.broken]

    assert asyncio.run(story()) == (400, [f"{protocol}.body"])


@pytest.mark.parametrize("protocol", PATHS)
@pytest.mark.parametrize(
    "body",
    [
        {},
        {"model": 3, "messages": 4, "input": 5, "tools": 6, "system": 7, "tool_choice": 8, "max_tokens": "9"},
        {"model": "m", "max_tokens": 9, "messages": [1, None, {}, []], "input": [1, None, {}, []], "tools": [1, None, {}, []]},
        {
            "model": "m",
            "max_tokens": 9,
            "messages": [
                {"role": "user", "content": [1, {"type": 2}]},
                {"role": "assistant", "content": [{"type": "tool_use"}]},
            ],
            "input": [{"role": "user", "content": [1, {"type": 2}]}, {"type": "function_call"}, {"type": "reasoning"}],
            "tools": [{"type": "function", "function": 3, "strict": True}],
            "thinking": 1,
            "text": {"format": 3},
        },
    ],
)
def test_whatever_the_body_holds_it_is_refused_and_never_an_error_of_the_server(protocol: str, body: Any) -> None:
    async def story() -> int:
        async with FakeProvider([]) as provider, httpx2.AsyncClient(base_url=provider.url) as client:
            return (await client.post(PATHS[protocol], json=body)).status_code

    assert asyncio.run(story()) == 400


def test_the_sdks_raise_their_own_errors_with_the_providers_words() -> None:
    async def story() -> None:
        async with FakeProvider([]) as provider:
            async with anthropic.AsyncAnthropic(base_url=provider.url, api_key="k", max_retries=0) as claude:
                with pytest.raises(anthropic.BadRequestError, match="at least one message is required"):
                    await claude.messages.create(model="m", max_tokens=10, messages=[])
            async with openai.AsyncOpenAI(base_url=f"{provider.url}/v1", api_key="k", max_retries=0) as gpt:
                with pytest.raises(openai.BadRequestError, match="must be a response to a preceeding message") as caught:
                    await gpt.chat.completions.create(
                        model="m", messages=[{"role": "tool", "tool_call_id": "a", "content": "x"}]
                    )
                assert caught.value.param == "messages[0].role"
                call: Any = {"type": "function_call", "call_id": "call_1", "name": "f", "arguments": "{}"}
                with pytest.raises(openai.BadRequestError, match="No tool output found for function call call_1"):
                    await gpt.responses.create(model="m", input=[call])

    asyncio.run(story())
