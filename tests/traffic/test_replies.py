"""Every reply, served over HTTP in three spellings and in streams, is read without loss and goes back as it came."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from typing import Any

import pytest
from anthropic.types import message_create_params as anthropic_params
from openai.types.chat import completion_create_params as chat_params
from openai.types.responses import response_create_params as responses_params

from remit import Finished, Standing
from remit.types.event import Replied
from remit.types.model import ProtocolName, Reading, Reply
from remit.wire import wire_for
from traffic.exchange import Exchange, plain, recorded, spell_reply, streamed
from traffic.office import Office, Part, office
from wire.corpus import ROOT, SPELLINGS, accept, no_mint

READ = ("text", "calls", "stop", "raw_stop", "model", "response_id", "refusal", "unresolved")
REFUSED = ["anthropic.container", "openai-responses.output.missing"] if ROOT else []
NOT_OFFERED = "calls by code in the provider's container, and tools of the provider's that its client runs, are never offered"
WITH_NULLS = "trajectories-openai-chat-8"
"""Written down by a library with `"tool_calls": null`, which goes back without that member: the provider refuses it."""

PARAMS: dict[ProtocolName, tuple[Any, Any]] = {
    "anthropic": (anthropic_params.MessageCreateParamsNonStreaming, anthropic_params.MessageCreateParamsStreaming),
    "openai-chat": (chat_params.CompletionCreateParamsNonStreaming, chat_params.CompletionCreateParamsStreaming),
    "openai-responses": (
        responses_params.ResponseCreateParamsNonStreaming,
        responses_params.ResponseCreateParamsStreaming,
    ),
}


def read(exchange: Exchange, body: bytes) -> Reply:
    return wire_for(exchange.protocol).read(body, Reading(max_tokens=10**9, names={}, mint=no_mint))


def part_of(exchange: Exchange, body: bytes, reply: Reply) -> Part:
    searches = b"tool_search_tool_regex" in body
    return Part(
        exchange.protocol,
        [body],
        {call.name for call in reply.calls if ":" not in call.name},
        [{"type": "tool_search_tool_regex_20251119", "name": "tool_search_tool_regex"}] if searches else [],
    )


def runnable(reply: Reply) -> list[tuple[str, Any]]:
    """The calls of a reply that run, as far as there are tools for them."""
    calls = [call for call in reply.calls if ":" not in call.name] if reply.stop == "calls" else []
    return [(call.name, json.loads(call.arguments)) for call in calls]


def as_text(call: tuple[str, Any]) -> str:
    return json.dumps(call, sort_keys=True)


async def follow_up(desk: Office, exchange: Exchange) -> tuple[Standing, list[bytes]]:
    """Run until the reply went back; how its run ended, and what was asked."""
    standing = await desk.run(exchange.name, conversation=exchange.name)
    if len(desk.bodies(exchange.name)) == 1:
        await desk.run(exchange.name, "And then?", conversation=exchange.name)
    return standing, desk.bodies(exchange.name)


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_every_reply_goes_back_as_the_same_bytes_and_the_provider_and_its_sdk_take_it(spelling: str) -> None:
    replies = {one.name: spell_reply(one, SPELLINGS[spelling]) for one in plain()}
    readings = {one.name: read(one, replies[one.name][0]) for one in plain()}
    parts = {one.name: part_of(one, replies[one.name][0], readings[one.name]) for one in plain()}
    ends: Counter[tuple[str, bool]] = Counter()

    async def story() -> None:
        async with office(parts) as desk:
            for exchange in plain():
                standing, bodies = await follow_up(desk, exchange)
                reply = readings[exchange.name]
                back = reply.wording if exchange.name == WITH_NULLS else replies[exchange.name][1]
                assert back.encode() in bodies[1], exchange.name
                ends[reply.stop, isinstance(standing, Finished)] += 1
                for body in bodies if spelling == "compact" else ():
                    accept(PARAMS[exchange.protocol][0], json.loads(body))
            refused = [one.code for one in desk.provider.broken]
            assert refused == REFUSED, NOT_OFFERED
            wanted = [made for one in plain() for made in runnable(readings[one.name])]
            assert Counter(map(as_text, desk.effects)) == Counter(map(as_text, wanted))

    asyncio.run(story())
    assert len(replies) == 9 + recorded(216)
    assert ends["calls", True] == 3 + recorded(133)
    assert ends["end", True] == 6 + recorded(80)
    assert [ends["unknown", True], ends["calls", False], ends["unknown", False]] == [recorded(1)] * 3
    assert ends.total() == len(replies)


@pytest.mark.parametrize("seed", range(2))
def test_every_reply_in_pieces_cut_at_random_comes_back_whole(seed: int) -> None:
    """As a stream of its protocol, its texts and arguments in fragments and its bytes in chunks, through a run."""
    replies = {one.name: spell_reply(one, SPELLINGS["compact"]) for one in plain()}
    readings = {one.name: read(one, replies[one.name][0]) for one in plain()}
    parts = {one.name: part_of(one, replies[one.name][0], readings[one.name]) for one in plain()}

    async def story() -> None:
        async with office(parts, stream=True, seed=seed) as desk:
            for exchange in plain():
                standing, bodies = await follow_up(desk, exchange)
                again, whole = await first_reply(desk, standing.id), readings[exchange.name]
                for member in READ:
                    assert getattr(again, member) == getattr(whole, member), (exchange.name, member)
                assert again.mends == (() if exchange.name == WITH_NULLS else whole.mends), exchange.name
                assert said(again.wording) == said(whole.wording), exchange.name
                assert again.wording.encode() in bodies[1], exchange.name
                accept(PARAMS[exchange.protocol][1], {**json.loads(bodies[0])})
            assert [one.code for one in desk.provider.broken] == REFUSED, NOT_OFFERED

    asyncio.run(story())
    assert len(replies) == 9 + recorded(216)


def said(wording: str) -> Any:
    """What a wording says; a member that is null says nothing, and a stream may leave it out."""
    return json.loads(f"[{wording}]", object_hook=lambda one: {key: value for key, value in one.items() if value is not None})


async def first_reply(desk: Office, run: str) -> Replied:
    return next(one.event for one in await desk.remit.events(run) if isinstance(one.event, Replied))


def test_every_stream_is_read_whole_by_a_run_and_goes_back() -> None:
    """Cut into chunks anywhere; what an equal reading is, `gather` says."""
    gathered = {one.name: gather(one) for one in streamed()}
    readings = {one.name: read(one, gathered[one.name]) for one in streamed()}
    parts = {one.name: part_of(one, one.stream, readings[one.name]) for one in streamed()}

    async def story() -> None:
        async with office(parts, stream=True) as desk:
            for exchange in streamed():
                _, bodies = await follow_up(desk, exchange)
                assert len(bodies) > 1, exchange.name
                assert readings[exchange.name].wording.encode() in bodies[1], exchange.name
            refused = [one.code for one in desk.provider.broken]
            assert refused == [*REFUSED, *REFUSED[1:]], NOT_OFFERED

    asyncio.run(story())
    assert len(parts) == 6 + recorded(33)


def gather(exchange: Exchange) -> bytes:
    gather = wire_for(exchange.protocol).gather({})
    gather.feed(exchange.stream)
    return gather.body()
