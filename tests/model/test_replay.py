"""A recorded run is served to the requests that it was recorded with, and nothing else is made up."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace

import pytest

from remit import (
    READ,
    TRUSTED,
    Agent,
    Finished,
    InputError,
    MemoryLedger,
    ModelError,
    Principal,
    Remit,
    ScriptedModel,
    call,
    tool,
)
from remit.model import ReplayModel
from remit.types.event import Recorded, Replied
from remit.types.model import Model, Piece, ProtocolName, Reading, Streaming
from remit.types.run import Escalated, Standing
from remit.wire import wire_for

ALICE = Principal("alice")
PROTOCOLS: Sequence[ProtocolName] = ("anthropic", "openai-chat", "openai-responses")


@tool(effect=READ, label=TRUSTED)
async def look(name: str) -> str:
    """Look something up.

    Args:
        name: which
    """
    return f"{name} is here"


@tool(effect=READ, label=TRUSTED, name="look")
async def look_elsewhere(name: str) -> str:
    """Look something up.

    Args:
        name: which
    """
    return f"{name} has gone"


def agent_of(model: Model, *, instructions: str = "Look.", tools: Sequence[object] = (look,)) -> Agent:
    return Agent("finder", model=model, instructions=instructions, tools=tools)  # type: ignore[arg-type]


async def run(agent: Agent, request: str = "where is it?") -> tuple[Standing, list[Recorded]]:
    async with Remit(ledger=MemoryLedger(), agents=[agent]) as remit:
        standing = await remit.run(agent, request, principal=ALICE)
        return standing, await remit.events(standing.id)


def recorded(protocol: ProtocolName = "anthropic", *turns: object) -> list[Recorded]:
    script = turns or (("one moment", [call("look", name="a"), call("look", name="b")]), call("look", name="c"), "all here")
    return asyncio.run(run(agent_of(ScriptedModel(script, protocol=protocol))))[1]  # type: ignore[arg-type]


def replies(events: Sequence[Recorded]) -> list[Replied]:
    return [replace(one.event, latency_ms=0) for one in events if isinstance(one.event, Replied)]


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_recorded_run_goes_the_same_way_again(protocol: ProtocolName) -> None:
    was = recorded(protocol)
    model = ReplayModel(was)
    standing, now = asyncio.run(run(agent_of(model)))
    assert isinstance(standing, Finished)
    assert standing.answer == "all here"
    assert replies(now) == replies(was)
    assert (model.identity, model.wire.protocol) == ("scripted:scripted", protocol)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_replay_of_a_replay_is_the_same(protocol: ProtocolName) -> None:
    was = recorded(protocol)
    _, once = asyncio.run(run(agent_of(ReplayModel(was))))
    _, twice = asyncio.run(run(agent_of(ReplayModel(once))))
    assert replies(twice) == replies(was)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_stream_brings_the_same_reply_in_pieces(protocol: ProtocolName) -> None:
    wire = wire_for(protocol)
    reading = Reading(max_tokens=1_000, names={"look": "look"}, mint=lambda position: f"made_{position}")

    async def story() -> tuple[bytes, bytes, list[Piece]]:
        scripted = ScriptedModel([("one moment", [call("look", name="a")])], protocol=protocol)
        _, events = await run(agent_of(scripted))
        asked = scripted.requests[0]
        streamed = asked.replace(b'"messages":', b'"stream":true,"messages":').replace(b'"input":', b'"stream":true,"input":')
        pieces: list[Piece] = []
        whole = await ReplayModel(events).ask(streamed, Streaming(wire.gather({"look": "look"}), pieces.append))
        return whole, await ReplayModel(events).ask(asked), pieces

    whole, plain, pieces = asyncio.run(story())
    assert wire.read(whole, reading) == wire.read(plain, reading)
    assert "".join(piece.text for piece in pieces if piece.kind == "text") == "one moment"
    assert [piece.text for piece in pieces if piece.kind == "call"] == ["look"]


def missed(model: ReplayModel, agent: Agent, request: str = "where is it?") -> Standing:
    standing, _ = asyncio.run(run(agent, request))
    assert isinstance(standing, Escalated)
    return standing


def miss_of(was: Sequence[Recorded], body: bytes) -> ModelError:
    with pytest.raises(ModelError) as error:
        asyncio.run(ReplayModel(was).ask(body))
    assert error.value.code == "replay.miss"
    assert not error.value.retryable
    return error.value


def asked_by(agent: Agent, model: ScriptedModel, request: str = "where is it?") -> list[bytes]:
    asyncio.run(run(agent, request))
    return model.requests


def test_another_request_is_a_miss_that_names_the_message() -> None:
    model = ScriptedModel(["done"])
    [body] = asked_by(agent_of(model), model, "and the other one?")
    error = miss_of(recorded(), body)
    assert (error.details["turn"], error.details["differs"]) == (1, "message 1")
    assert "other one" not in error.message


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_other_instructions_are_a_miss_that_names_the_head(protocol: ProtocolName) -> None:
    model = ScriptedModel(["done"], protocol=protocol)
    [body] = asked_by(agent_of(model, instructions="Look twice."), model)
    error = miss_of(recorded(protocol), body)
    member = "instructions" if protocol == "openai-responses" else "system"
    assert error.details["differs"] == f"the head: {member}"


def test_another_result_is_a_miss_at_the_next_request_and_ends_the_run() -> None:
    model = ReplayModel(recorded())
    standing = missed(model, agent_of(model, tools=[look_elsewhere]))
    assert standing.reason == "replay.miss"
    scripted = ScriptedModel([("one moment", [call("look", name="a"), call("look", name="b")]), "done"])
    error = miss_of(recorded(), asked_by(agent_of(scripted, tools=[look_elsewhere]), scripted)[1])
    assert error.details["differs"] == "message 3"


def test_a_request_beyond_the_record_is_a_miss() -> None:
    scripted = ScriptedModel([call("look", name="c"), "done", "done"])
    bodies = asked_by(agent_of(scripted), scripted)
    was = recorded("anthropic", "done")
    assert miss_of(was, bodies[1]).details["differs"] == "3 messages, and 1 were recorded"


def test_where_the_head_may_differ_it_is_told_and_the_messages_decide() -> None:
    model = ReplayModel(recorded(), same_head=False)
    standing, _ = asyncio.run(run(agent_of(model, instructions="Look twice.")))
    assert isinstance(standing, Finished)
    assert {one.head_differs for one in model.served} == {("system",)}


def test_an_attempt_that_failed_is_left_out_and_a_request_that_was_never_answered_fails_as_it_did() -> None:
    busy = ModelError("too many requests", code="model.overloaded", retryable=False)
    was = recorded("anthropic", call("look", name="a"), busy)
    standing, now = asyncio.run(run(agent_of(ReplayModel(was))))
    assert isinstance(standing, Escalated)
    assert standing.reason == "model.overloaded"
    assert len(replies(now)) == 1


def test_a_record_that_ends_before_a_reply_says_so_by_its_code() -> None:
    was = recorded()
    until = max(at for at, one in enumerate(was) if isinstance(one.event, Replied))
    standing, _ = asyncio.run(run(agent_of(ReplayModel(was[:until]))))
    assert standing.reason == "replay.end"


def test_events_that_are_no_run_are_refused() -> None:
    for events in ([], recorded()[1:]):
        with pytest.raises(InputError) as error:
            ReplayModel(events)
        assert error.value.code == "replay.events"


def test_a_reply_that_another_model_gave_is_given_again() -> None:
    down = ScriptedModel([ModelError("down", code="model.unavailable", retryable=True)] * 9, name="first")
    agent = Agent(
        "finder", model=down, fallback=[ScriptedModel(["all here"], name="second")], instructions="Look.", tools=[look]
    )
    _, was = asyncio.run(run(agent))
    standing, _ = asyncio.run(run(agent_of(ReplayModel(was))))
    assert isinstance(standing, Finished)
    assert standing.answer == "all here"


def test_where_one_request_was_made_twice_the_replies_come_in_their_order() -> None:
    was = recorded("anthropic", ScriptedModel.turn("", stop="pause"), "all here")
    assert [reply.stop for reply in replies(was)] == ["pause", "end"]
    standing, now = asyncio.run(run(agent_of(ReplayModel(was))))
    assert isinstance(standing, Finished)
    assert replies(now) == replies(was)
