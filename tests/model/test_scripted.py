"""The scripted model: replies as written, the same for the same transcript, in every protocol."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from remit.errors import InputError, ModelError
from remit.model import ScriptedModel, call
from remit.types.budget import Usage
from remit.types.ident import Wording
from remit.types.model import HeadSpec, Piece, ProtocolName, Reading, Reply, Streaming
from remit.types.part import Text

PROTOCOLS: list[ProtocolName] = ["anthropic", "openai-chat", "openai-responses"]
every = pytest.mark.parametrize("protocol", PROTOCOLS)


def ask(model: ScriptedModel, *messages: Wording) -> Reply:
    head = model.wire.head(HeadSpec(model="m", instructions="", tools=(), max_tokens=100))
    body = asyncio.run(model.ask(model.wire.body(head, messages)))
    reading = Reading(max_tokens=100, names={"send": "send"}, mint=lambda position: f"minted_{position}")
    return model.wire.read(body, reading)


@every
def test_every_form_of_a_turn_is_a_reply(protocol: ProtocolName) -> None:
    send = call("send", name="x", id="y", self="z", amount=5)
    turns: list[Any] = [
        "hello",
        send,
        [send, call("send")],
        ("first", [send]),
        ScriptedModel.turn(send, text="cut", stop="length"),
        ScriptedModel.turn([send], text="said", usage=Usage(output_tokens=100)),
        lambda body: f"{len(body)} members",
    ]
    model = ScriptedModel(turns, protocol=protocol)
    replies = [ask(model) for _ in turns]
    assert [reply.text for reply in replies[:6]] == ["hello", "", "", "first", "cut", "said"]
    assert replies[6].text.endswith("members")
    assert [len(reply.calls) for reply in replies] == [0, 1, 2, 1, 1, 1, 0]
    assert [reply.stop for reply in replies] == ["end", "calls", "calls", "calls", "length", "length", "end"]
    assert json.loads(replies[1].calls[0].arguments) == {"name": "x", "id": "y", "self": "z", "amount": 5}
    assert len(model.requests) == 7


@every
def test_a_function_serves_any_number_of_runs_and_ids_follow_from_the_transcript(protocol: ProtocolName) -> None:
    model = ScriptedModel(lambda body: [call("send"), call("send")], protocol=protocol)
    hello = model.wire.user([Text("hello")])
    first, again, longer = ask(model, hello), ask(model, hello), ask(model, hello, hello)
    assert first == again
    ids = [one.wire_id for one in (*first.calls, *longer.calls)]
    assert len(set(ids)) == 4


@every
@pytest.mark.parametrize("text", ['{"a":1,', "null", "[]", "3", '{"a":1,"a":2}', '{"a":NaN}'])
def test_arguments_may_be_any_text(protocol: ProtocolName, text: str) -> None:
    model = ScriptedModel([call.raw("send", text)], protocol=protocol)
    assert ask(model).calls[0].arguments == text


@every
def test_ids_may_be_chosen_good_or_bad(protocol: ProtocolName) -> None:
    model = ScriptedModel(
        [[call("send").with_id("same"), call("send").with_id("same"), call("send").with_id("")]], protocol=protocol
    )
    assert [one.wire_id for one in ask(model).calls] == ["same", "minted_1", "minted_2"]


def test_errors_are_raised_and_bytes_are_given_as_they_are() -> None:
    down = ModelError("down", code="model.overloaded")
    model = ScriptedModel([down, b"<html>", "hi"])
    with pytest.raises(ModelError) as caught:
        asyncio.run(model.ask(b"{}"))
    assert caught.value is down
    assert asyncio.run(model.ask(b"{}")) == b"<html>"


def test_a_turn_may_wait() -> None:
    async def later(body: dict[str, Any]) -> str:
        await asyncio.Event().wait()
        return "never"

    async def story() -> None:
        model = ScriptedModel([later])
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(model.ask(b"{}"), 0.01)

    asyncio.run(story())


def test_a_script_at_its_end_says_so_and_is_not_worth_asking_again() -> None:
    model = ScriptedModel(["only"])
    ask(model)
    with pytest.raises(ModelError, match="1 turns") as caught:
        ask(model)
    assert (caught.value.code, caught.value.retryable) == ("model.script_ended", False)


def test_what_is_no_turn_is_refused() -> None:
    model = ScriptedModel([["text", call("send")]])  # type: ignore[list-item]
    with pytest.raises(InputError):
        ask(model)


def hear(model: ScriptedModel, body: bytes = b"{}") -> tuple[bytes | ModelError, list[Piece]]:
    pieces: list[Piece] = []
    try:
        return asyncio.run(model.ask(body, Streaming(model.wire.gather({}), pieces.append))), pieces
    except ModelError as error:
        return error, pieces


@every
def test_a_reply_is_streamed_in_pieces_where_a_stream_is_gathered(protocol: ProtocolName) -> None:
    turn = ("Let me look that up for you, at once.", [call("send", amount=5), call("send")])
    plain = asyncio.run(ScriptedModel([turn], protocol=protocol).ask(b"{}"))
    model = ScriptedModel([turn, b"<html>"], protocol=protocol)
    got, pieces = hear(model)
    assert isinstance(got, bytes)
    reading = Reading(max_tokens=100, names={"send": "send"}, mint=str)
    assert model.wire.read(got, reading) == model.wire.read(plain, reading)
    texts = [piece.text for piece in pieces if piece.kind == "text"]
    assert ("".join(texts), len(texts) > 1) == (turn[0], True)
    assert [piece.text for piece in pieces if piece.kind == "call"] == ["send", "send"]
    assert hear(model) == (b"<html>", [])


@every
def test_a_stream_may_be_cut_and_then_is_asked_for_again(protocol: ProtocolName) -> None:
    said = ScriptedModel.turn("a text that is long enough for many pieces " * 5, cut=6)
    model = ScriptedModel([said, said, "whole"], protocol=protocol)
    error, pieces = hear(model)
    assert isinstance(error, ModelError)
    assert (error.code, error.retryable) == ("model.stream_cut", True)
    assert 0 < len("".join(piece.text for piece in pieces)) < len(said.text)
    with pytest.raises(ModelError):
        asyncio.run(model.ask(b"{}"))
    assert isinstance(hear(model)[0], bytes)


@every
def test_the_ids_of_calls_follow_from_the_number_of_messages_alone(protocol: ProtocolName) -> None:
    model = ScriptedModel(lambda asked: call("send"), protocol=protocol)
    user, other = model.wire.user([Text('a ,{"role":"x"} ]}')]), model.wire.user([Text("b")])
    ids = [ask(model, *[user] * count).calls[0].wire_id for count in range(1, 30)]
    assert len(set(ids)) == 29
    assert ids[2] == ask(model, other, user, other).calls[0].wire_id


def test_over_responses_the_same_text_said_twice_is_two_items() -> None:
    model = ScriptedModel(["Fine.", "Fine."], protocol="openai-responses")

    async def item_id(messages: list[Any]) -> str:
        reply = await model.ask(json.dumps({"input": messages}).encode())
        return str(json.loads(reply)["output"][0]["id"])

    async def story() -> None:
        assert await item_id(["a"]) != await item_id(["a", "b", "c"])

    asyncio.run(story())


def test_a_request_is_read_only_for_who_wants_to_see_it() -> None:
    text = ScriptedModel(["hello"])
    assert asyncio.run(text.ask(b"no JSON at all"))
    with pytest.raises(ValueError):
        asyncio.run(ScriptedModel(lambda asked: "hello").ask(b"no JSON at all"))


def test_it_has_an_identity_and_nothing_to_close() -> None:
    model = ScriptedModel([], name="demo")
    assert (model.identity, model.name) == ("scripted:demo", "demo")
    assert model.digest() == ScriptedModel(["x"], name="demo").digest()
    assert model.digest() != ScriptedModel([], name="demo", protocol="openai-chat").digest()
    asyncio.run(model.aclose())
