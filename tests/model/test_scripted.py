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
from remit.types.model import HeadSpec, ProtocolName, Reading, Reply
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


def test_it_has_an_identity_and_nothing_to_close() -> None:
    model = ScriptedModel([], name="demo")
    assert (model.identity, model.name) == ("scripted:demo", "demo")
    assert model.digest() == ScriptedModel(["x"], name="demo").digest()
    assert model.digest() != ScriptedModel([], name="demo", protocol="openai-chat").digest()
    asyncio.run(model.aclose())
