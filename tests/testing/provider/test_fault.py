"""Faults on order: each goes wrong in its own way, and the next request is as good as ever."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any

import httpx2
import pytest

from remit import ambient
from remit.errors import InputError, ModelError, ProtocolError
from remit.testing import FakeProvider, fault
from remit.types.model import HeadSpec, Model, Piece, Streaming
from remit.types.part import Text

PROTOCOLS = ("anthropic", "openai-chat", "openai-responses")
TEXT = "The order A-1 was sent on Monday, ✓ and will come on Friday."


def body_of(model: Model, *, stream: bool) -> bytes:
    wire = model.wire
    head = wire.head(HeadSpec(model="fake", instructions="Help.", tools=(), max_tokens=100))
    return wire.body(head, [wire.user([Text("hi")])], stream=stream)


async def ask(model: Model, *, stream: bool) -> tuple[bytes, list[Piece]]:
    heard: list[Piece] = []
    if not stream:
        return await model.ask(body_of(model, stream=False)), heard
    return await model.ask(body_of(model, stream=True), Streaming(model.wire.gather({}), heard.append)), heard


def play(turns: Any, story: Callable[[FakeProvider], Awaitable[None]]) -> None:
    async def run() -> None:
        async with FakeProvider(turns) as provider:
            await story(provider)

    asyncio.run(run())


BOTH = [(protocol, stream) for protocol in PROTOCOLS for stream in (False, True)]


@pytest.mark.parametrize(("protocol", "stream"), BOTH)
def test_without_a_fault_the_reply_comes_whole_plain_and_streamed(protocol: Any, stream: bool) -> None:
    async def story(provider: FakeProvider) -> None:
        body, heard = await ask(provider.model(protocol), stream=stream)
        assert TEXT in json.dumps(json.loads(body), ensure_ascii=False)
        assert "".join(one.text for one in heard) == (TEXT if stream else "")
        assert len(heard) > 1 or not stream

    play([TEXT], story)


@pytest.mark.parametrize(("protocol", "stream"), BOTH)
@pytest.mark.parametrize(
    ("broken", "code"),
    [
        (fault.fail(), "model.unavailable"),
        (fault.fail(529), "model.overloaded"),
        (fault.fail(401), "model.unauthorized"),
        (fault.fail(503, b"<html>"), "model.unavailable"),
        (fault.rate_limit(2.5), "model.rate_limited"),
        (fault.hang_up("before"), "model.unavailable"),
        (fault.hang_up("after"), "model.unavailable"),
        (fault.cut(TEXT, 40), "model.unavailable"),
        (fault.cut(TEXT, 40, end="reset"), "model.unavailable"),
        (ModelError("slow down", code="model.rate_limited", retryable=True, retry_after_s=2.5), "model.rate_limited"),
        (ModelError("no", code="model.refused_request", retryable=False), "model.refused_request"),
        (ModelError("full", code="model.context_full", retryable=False), "model.context_full"),
        (ValueError("anything"), "model.unavailable"),
    ],
)
def test_a_fault_is_the_error_that_it_is_and_the_next_request_is_answered(
    protocol: Any, stream: bool, broken: Any, code: str
) -> None:
    async def story(provider: FakeProvider) -> None:
        model = provider.model(protocol)
        with pytest.raises(ModelError) as caught:
            await ask(model, stream=stream)
        assert caught.value.code in (code, "model.stream_cut")
        if code == "model.rate_limited":
            assert caught.value.details["retry_after_s"] == 2.5
        body, _ = await ask(model, stream=stream)
        assert TEXT in json.dumps(json.loads(body), ensure_ascii=False)

    play([broken, TEXT], story)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_stream_that_ends_cleanly_before_its_reply_did_is_cut(protocol: Any) -> None:
    async def story(provider: FakeProvider) -> None:
        with pytest.raises((ModelError, ProtocolError)) as caught:
            await ask(provider.model(protocol), stream=True)
        assert "stream" in caught.value.code

    play([fault.cut(TEXT, 400, end="clean")], story)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_plain_body_that_is_cut_cleanly_is_shorter_and_whole_for_http(protocol: Any) -> None:
    async def story(provider: FakeProvider) -> None:
        body, _ = await ask(provider.model(protocol), stream=False)
        assert len(body) == 40

    play([fault.cut(TEXT, 40, end="clean")], story)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_provider_breaks_a_stream_off_with_its_own_error(protocol: Any) -> None:
    async def story(provider: FakeProvider) -> None:
        with pytest.raises(ModelError) as caught:
            await ask(provider.model(protocol), stream=True)
        assert caught.value.retryable

    play([fault.break_off(TEXT, 4)], story)


@pytest.mark.parametrize(("protocol", "stream"), BOTH)
def test_a_stall_lasts_until_it_is_released(protocol: Any, stream: bool) -> None:
    async def story(provider: FakeProvider) -> None:
        asking = asyncio.create_task(ask(provider.model(protocol), stream=stream))
        await provider.stalled()
        assert not asking.done()
        provider.release()
        body, _ = await asking
        assert TEXT in json.dumps(json.loads(body), ensure_ascii=False)

    play([fault.stall(TEXT, at=30)], story)


def test_a_stall_of_seconds_lasts_by_the_ambient_clock() -> None:
    async def story(provider: FakeProvider) -> None:
        before = ambient.monotonic_s()
        await ask(provider.model(), stream=False)
        assert ambient.monotonic_s() - before >= 3600

    with ambient.use(ambient.Seeded()):
        play([fault.stall(TEXT, 3600)], story)


def test_faults_wrap_one_another() -> None:
    async def story(provider: FakeProvider) -> None:
        async with httpx2.AsyncClient() as client:
            model = provider.model()
            asking = asyncio.create_task(client.post(f"{provider.url}/v1/messages", content=body_of(model, stream=False)))
            await provider.stalled()
            provider.release()
            assert len((await asking).content) == 20

    play([fault.cut(fault.stall(TEXT, at=10), 20, end="clean")], story)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_stream_sent_twice_in_one_response_is_the_reply_once(protocol: Any) -> None:
    async def story(provider: FakeProvider) -> None:
        body, heard = await ask(provider.model(protocol), stream=True)
        assert json.dumps(json.loads(body), ensure_ascii=False).count(TEXT) == 1
        assert "".join(one.text for one in heard) == TEXT

    play([fault.repeat(TEXT)], story)


@pytest.mark.parametrize(("protocol", "stream"), BOTH)
def test_garbage_is_no_reply(protocol: Any, stream: bool) -> None:
    async def story(provider: FakeProvider) -> None:
        model = provider.model(protocol)
        if not stream:
            assert (await ask(model, stream=False))[0].startswith(b"<html>")
            return
        with pytest.raises((ModelError, ProtocolError)):
            await ask(model, stream=True)

    play([fault.garbage()], story)


def test_a_script_that_is_at_its_end_says_so_and_is_not_worth_asking_again() -> None:
    async def story(provider: FakeProvider) -> None:
        with pytest.raises(ModelError) as caught:
            await ask(provider.model(), stream=False)
        assert not caught.value.retryable

    play([], story)


@pytest.mark.parametrize(
    "made",
    [
        lambda: fault.cut("x", -1),
        lambda: fault.cut("x", 1, end="nope"),  # type: ignore[arg-type]
        lambda: fault.stall("x", -5.0),
        lambda: fault.stall("x", at=-1),
        lambda: fault.repeat("x", 0),
        lambda: fault.fail(99),
        lambda: fault.fail(200),
        lambda: fault.fail(1000),
        lambda: fault.fail(500, headers={"x": "a\r\nb: c"}),
        lambda: fault.fail(500, headers={"Content-Length": "3"}),
        lambda: fault.rate_limit(float("nan")),
        lambda: fault.rate_limit(-1.0),
        lambda: fault.break_off("x", -1),
        lambda: fault.break_off("x", 1, status=200),
        lambda: fault.garbage(status=100),
        lambda: fault.hang_up("never"),  # type: ignore[arg-type]
    ],
)
def test_a_fault_that_makes_no_sense_is_refused_where_it_is_written(made: Callable[[], object]) -> None:
    with pytest.raises(InputError) as caught:
        made()
    assert caught.value.code == "fault"


def test_nothing_more_is_written_to_a_client_that_is_gone(caplog: pytest.LogCaptureFixture) -> None:
    async def story(provider: FakeProvider) -> None:
        model = provider.model("anthropic")
        asking = asyncio.ensure_future(model.ask(body_of(model, stream=True), Streaming(model.wire.gather({}), lambda _: None)))
        await provider.stalled()
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        provider.release()
        assert TEXT in json.dumps(json.loads((await ask(model, stream=False))[0]), ensure_ascii=False)

    play([fault.stall("word " * 2000, at=100), TEXT], story)
    assert [one.getMessage() for one in caplog.records if one.name == "asyncio"] == []
