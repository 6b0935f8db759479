"""Streamed replies over real connections: pieces as they come, a whole body at the end, or a failure with a name."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from contextlib import suppress

import pytest

from model.server import Answer, Server, Writer, answer, raw, serving, streamed
from remit.errors import ModelError, ProtocolError
from remit.model import Anthropic, OpenAIChat, OpenAIResponses, Timeouts
from remit.model.response import MOST_BYTES, reader_for
from remit.model.sender import Sender
from remit.types.model import Piece, ProtocolName, Reading, Reply, Streaming
from remit.wire import render, wire_for

PROTOCOLS: list[ProtocolName] = ["anthropic", "openai-chat", "openai-responses"]
every = pytest.mark.parametrize("protocol", PROTOCOLS)
KINDS = {"anthropic": Anthropic, "openai-chat": OpenAIChat, "openai-responses": OpenAIResponses}
TEXT = "I look it up for you, and say so at some length."


def body_of(protocol: ProtocolName) -> bytes:
    return wire_for(protocol).reply(TEXT, [("call_1", "send", '{"amount":5}'), ("call_2", "send", "{}")])


def read(protocol: ProtocolName, body: bytes) -> Reply:
    return wire_for(protocol).read(body, Reading(max_tokens=10**6, names={}, mint=str))


def ask(
    protocol: ProtocolName,
    *answers: Answer,
    timeouts: Timeouts | None = None,
    heard: Callable[[Piece], None] | None = None,
) -> tuple[bytes | Exception, list[Piece], Server]:
    """Ask once for a stream, of a server that answers so; then once more without one, if it has another answer."""
    pieces: list[Piece] = []

    async def story() -> tuple[bytes | Exception, Server]:
        async with serving(*answers) as server:
            model = KINDS[protocol]("m", base_url=server.url, api_key="k", timeouts=timeouts)
            try:
                got: bytes | Exception = await model.ask(
                    b'{"stream":true}', Streaming(model.wire.gather({}), heard or pieces.append)
                )
            except (ModelError, ProtocolError) as error:
                got = error
            for _ in answers[1:]:
                assert await model.ask(b"{}") == b"{}"
            await model.aclose()
            return got, server

    got, server = asyncio.run(story())
    return got, pieces, server


def failed(got: object) -> ModelError:
    assert isinstance(got, ModelError)
    assert got.__suppress_context__ or got.__context__ is None
    return got


def told(pieces: list[Piece], kind: str) -> str:
    return "".join(piece.text for piece in pieces if piece.kind == kind)


@every
@pytest.mark.parametrize("size", [1, 7, 10**6])
def test_a_stream_is_told_in_pieces_and_comes_out_as_one_body(protocol: ProtocolName, size: int) -> None:
    stream = b"".join(render(protocol, body_of(protocol)))
    chunks = [stream[at : at + size] for at in range(0, len(stream), size)]
    got, pieces, server = ask(protocol, streamed(*chunks), answer())
    assert isinstance(got, bytes)
    assert read(protocol, got) == read(protocol, body_of(protocol))
    assert told(pieces, "text") == TEXT
    assert [piece.text for piece in pieces if piece.kind == "call"] == ["send", "send"]
    assert "accept: text/event-stream" in server.heads[0].lower()
    assert "accept: application/json" in server.heads[1].lower()
    assert server.connections == 1


@every
def test_a_server_that_streams_nothing_is_read_as_it_answers(protocol: ProtocolName) -> None:
    body = body_of(protocol)
    got, pieces, _ = ask(protocol, answer(body=body, content_type="application/json; charset=utf-8"))
    assert (got, pieces) == (body, [])


@every
@pytest.mark.parametrize("whole", [True, False])
def test_a_stream_that_ends_early_is_cut_and_may_be_asked_again(protocol: ProtocolName, whole: bool) -> None:
    events = render(protocol, body_of(protocol))
    got, pieces, server = ask(protocol, streamed(*events[:6], whole=whole), answer())
    error = failed(got)
    assert (error.code, error.retryable, error.details) == ("model.stream_cut", True, {"sent": True})
    assert pieces
    assert len(server.bodies) == 2


@every
@pytest.mark.parametrize("behind", [b"", b"not a size\r\n", b"0\r\nx: " + b"y" * 200_000])
def test_a_reply_that_said_it_is_whole_is_taken_whatever_the_connection_does_behind_it(
    protocol: ProtocolName, behind: bytes
) -> None:
    said = streamed(*render(protocol, body_of(protocol)), whole=False)

    async def ruined(writer: Writer) -> None:
        head = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
        events = [b"%x\r\n%b\r\n" % (len(event), event) for event in render(protocol, body_of(protocol))]
        writer.write(head + b"".join(events) + behind)
        await writer.drain()

    got, pieces, server = ask(protocol, ruined if behind else said, answer())
    assert isinstance(got, bytes)
    assert read(protocol, got) == read(protocol, body_of(protocol))
    assert told(pieces, "text") == TEXT
    assert server.connections == 2


@every
def test_nobody_waits_for_a_connection_that_stays_open_behind_a_whole_reply(protocol: ProtocolName) -> None:
    async def stays(writer: Writer) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n")
        writer.write(b"".join(render(protocol, body_of(protocol))))
        await writer.drain()
        with suppress(ConnectionError):
            while True:
                writer.write(b": ping\n\n")
                await writer.drain()
                await asyncio.sleep(0)

    async def story() -> None:
        async with serving(stays) as server:
            model = KINDS[protocol]("m", base_url=server.url, api_key="k")
            async with asyncio.timeout(20):
                body = await model.ask(b"{}", Streaming(model.wire.gather({}), lambda _: None))
                await server.until(ended=1)
            assert read(protocol, body) == read(protocol, body_of(protocol))
            await model.aclose()

    asyncio.run(story())


@every
def test_chunks_that_are_none_are_a_cut(protocol: ProtocolName) -> None:
    head = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
    got, _, server = ask(protocol, raw(head, b"5\r\n: hi\n\r\n", b"not a size\r\n"), answer())
    assert failed(got).code == "model.stream_cut"
    assert server.connections == 2


@every
def test_a_stream_that_falls_silent_is_waited_for_as_long_as_was_said(protocol: ProtocolName) -> None:
    events = render(protocol, body_of(protocol))

    async def stall(writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n" + b"".join(events[:4]))
        await writer.drain()
        await asyncio.Event().wait()

    got, _, _ = ask(protocol, stall, timeouts=Timeouts(first_byte=60.0, idle=0.05))
    error = failed(got)
    assert (error.code, error.details["phase"], error.retryable) == ("model.timeout", "idle", True)


BROKEN_OFF: list[tuple[ProtocolName, str, dict[str, object], str, bool]] = [
    ("anthropic", "error", {"type": "overloaded_error", "message": "secret"}, "model.overloaded", True),
    ("anthropic", "error", {"type": "rate_limit_error", "message": "secret"}, "model.rate_limited", True),
    ("anthropic", "error", {"type": "api_error", "message": "secret"}, "model.unavailable", True),
    ("anthropic", "error", {"type": "invalid_request_error", "message": "secret"}, "model.refused_request", False),
    ("anthropic", "error", {"type": "invalid_request_error", "message": "prompt is too long"}, "model.context_full", False),
    ("openai-chat", "", {"type": "server_error", "code": None, "message": "secret"}, "model.unavailable", True),
    ("openai-chat", "", {"type": "tokens", "code": "rate_limit_exceeded", "message": "secret"}, "model.rate_limited", True),
]


@pytest.mark.parametrize(("protocol", "name", "error", "code", "retryable"), BROKEN_OFF)
def test_what_the_provider_says_in_mid_stream_is_named_as_a_refusal_is(
    protocol: ProtocolName, name: str, error: dict[str, object], code: str, retryable: bool
) -> None:
    said = (f"event: {name}\n" if name else "") + f"data: {json.dumps({'type': 'error', 'error': error})}\n\n"
    events = [*render(protocol, body_of(protocol))[:4], said.encode()]
    got, _, server = ask(protocol, streamed(*events), answer())
    failure = failed(got)
    assert (failure.code, failure.retryable, failure.details["status"]) == (code, retryable, 200)
    assert "secret" not in f"{failure!r}{failure.details}"
    assert len(server.bodies) == 2


def test_a_responses_stream_says_its_error_flatly() -> None:
    said = b'event: error\ndata: {"type":"error","code":"rate_limit_exceeded","message":"secret","sequence_number":2}\n\n'
    got, _, _ = ask("openai-responses", streamed(*render("openai-responses", body_of("openai-responses"))[:3], said))
    assert failed(got).code == "model.rate_limited"


@every
def test_a_refusal_of_a_stream_is_a_refusal(protocol: ProtocolName) -> None:
    got, pieces, _ = ask(protocol, answer("429 Too Many", b'{"error":{"type":"rate_limit_error"}}', retry_after="3"))
    error = failed(got)
    assert (error.code, error.details["retry_after_s"], pieces) == ("model.rate_limited", 3.0, [])


@every
def test_who_listens_badly_is_told_no_more_and_changes_nothing(protocol: ProtocolName) -> None:
    count = 0

    def heard(piece: Piece) -> None:
        nonlocal count
        count += 1
        raise SystemExit(piece.text)

    got, _, _ = ask(protocol, streamed(*render(protocol, body_of(protocol))), heard=heard)
    assert isinstance(got, bytes)
    assert read(protocol, got) == read(protocol, body_of(protocol))
    assert count == 1


def test_who_stops_waiting_for_a_stream_closes_its_connection() -> None:
    async def story() -> None:
        events = render("anthropic", body_of("anthropic"))

        async def stall(writer: asyncio.StreamWriter) -> None:
            writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n" + b"".join(events[:6]))
            await writer.drain()

        async with serving(stall) as server:
            model = Anthropic("m", base_url=server.url)
            begun = asyncio.Event()
            asking = asyncio.ensure_future(model.ask(b"{}", Streaming(model.wire.gather({}), lambda _: begun.set())))
            await begun.wait()
            asking.cancel()
            with pytest.raises(asyncio.CancelledError):
                await asking
            await server.until(ended=1)
            await model.aclose()

    asyncio.run(story())


async def _pings(writer: Writer) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n")
    with suppress(OSError):
        while True:
            writer.write(b": ping\n\n")
            await writer.drain()
            await asyncio.sleep(0)


async def _waits_on(writer: Writer) -> None:
    writer.write(b"HTTP/1.1 ")
    with suppress(OSError):
        while True:
            writer.write(b"102 Processing\r\n\r\nHTTP/1.1 ")
            await writer.drain()
            await asyncio.sleep(0)


async def _drips_a_head(writer: Writer) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\nx: ")
    with suppress(OSError):
        while True:
            writer.write(b"y")
            await writer.drain()
            await asyncio.sleep(0)


@pytest.mark.parametrize(
    ("server_says", "timeouts", "phase"),
    [
        (_pings, Timeouts(total=0.2), "total"),
        (_waits_on, Timeouts(first_byte=0.2), "first_byte"),
        (_drips_a_head, Timeouts(first_byte=0.05), "first_byte"),
    ],
)
def test_saying_something_all_the_time_holds_nobody_longer_than_was_said(
    server_says: Answer, timeouts: Timeouts, phase: str
) -> None:
    error = failed(ask("anthropic", server_says, timeouts=timeouts)[0])
    assert (error.code, error.details["phase"], error.retryable) == ("model.timeout", phase, True)
    assert error.details["sent"]


def test_a_refusal_stands_although_its_body_never_ends() -> None:
    async def drips(writer: Writer) -> None:
        writer.write(b"HTTP/1.1 429 Slow\r\nretry-after: 3\r\n\r\n")
        with suppress(OSError):
            while True:
                writer.write(b"y")
                await writer.drain()
                await asyncio.sleep(0)

    error = failed(ask("anthropic", drips, timeouts=Timeouts(idle=0.1))[0])
    assert (error.code, error.details["retry_after_s"]) == ("model.rate_limited", 3.0)


@every
def test_a_stream_without_end_is_left_when_it_is_too_large(protocol: ProtocolName) -> None:
    async def without_end(writer: Writer) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n")
        with suppress(OSError):
            while True:
                writer.write(b": nothing yet\n\n" * 100)
                await writer.drain()

    async def story() -> None:
        async with serving(without_end) as server:
            sender = Sender(server.url, dict, Timeouts(), most_bytes=1 << 16)
            with pytest.raises(ModelError, match="too large") as caught:
                await sender.post(b"{}", Streaming(wire_for(protocol).gather({}), lambda _: None))
            assert (caught.value.code, caught.value.retryable) == ("model.unusable", False)
            await server.until(ended=1)
            await sender.aclose()

    asyncio.run(story())


def test_no_more_than_64_megabytes_of_a_stream_are_taken_in() -> None:
    reader = reader_for(Streaming(wire_for("anthropic").gather({}), lambda _: None), "text/event-stream", MOST_BYTES)
    comment = b":" + b"x" * ((1 << 20) - 2) + b"\n"
    for _ in range(64):
        assert not reader.take(comment)
    with pytest.raises(ModelError, match="too large"):
        reader.take(b":")
