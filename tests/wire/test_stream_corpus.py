"""Recorded streams of three providers and six compatible servers come to what the official SDKs make of them."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from remit.errors import ProtocolError
from remit.types.model import Gather, Reply
from remit.wire import wire_for
from wire.corpus import ROOT, WHY, no_mint
from wire.streams import Stream, chunked, gathered, last_of_responses, of_anthropic, of_openai_chat, read, recorded

pytestmark = pytest.mark.skipif(not ROOT, reason=WHY)

SPLICED = "vercel-fixtures:25"
"""A message that begins a second time inside the first."""

INDEXLESS = "vercel-fixtures:44"
"""A call without an index: the openai SDK fails on it."""


def streams(*protocols: str) -> list[Stream]:
    return [one for one in recorded() if one.protocol in protocols and one.name != SPLICED]


def said(members: dict[str, Any]) -> dict[str, Any]:
    """What is not null: the SDKs add members that were not sent."""
    return {key: value for key, value in members.items() if value is not None}


def neutral(reply: Reply) -> Any:
    """All of a reading but how its JSON is spelled."""
    calls = tuple(replace(call, arguments=json.dumps(json.loads(call.arguments))) for call in reply.calls)
    return replace(reply, wording="", calls=calls), json.loads(f"[{reply.wording}]")  # type: ignore[arg-type]


def test_38_streams_of_providers_and_compatible_servers_are_recorded() -> None:
    counts = {protocol: len(streams(protocol)) for protocol in ("anthropic", "openai-chat", "openai-responses")}
    print(counts)
    assert counts == {"anthropic": 7, "openai-chat": 14, "openai-responses": 17}


def test_anthropic_streams_equal_the_sdks_message() -> None:
    for stream in streams("anthropic"):
        body, pieces = gathered("anthropic", stream.raw)
        message = of_anthropic(stream.raw)
        assert said(json.loads(body)) == said(message)
        reply = read("anthropic", body, mint=no_mint)
        assert neutral(reply) == neutral(read("anthropic", json.dumps(message).encode()))
        assert "".join(piece.text for piece in pieces if piece.kind == "text") == reply.text
        assert [piece.text for piece in pieces if piece.kind == "call"] == [call.name for call in reply.calls]


def test_chat_streams_equal_the_sdks_completion() -> None:
    for stream in streams("openai-chat"):
        body, pieces = gathered("openai-chat", stream.raw)
        reply = read("openai-chat", body, mint=no_mint)
        assert "".join(piece.text for piece in pieces if piece.kind == "text") == reply.text
        assert [piece.text for piece in pieces if piece.kind == "call"] == [call.name for call in reply.calls]
        if stream.name == INDEXLESS:
            assert [call.arguments for call in reply.calls] == ['{"location": "San Francisco"}']
            continue
        completion = of_openai_chat(stream.raw)
        (ours,) = json.loads(body).pop("choices")
        (theirs,) = completion["choices"]
        theirs["message"]["role"] = theirs["message"]["role"] or "assistant"
        for call in theirs["message"]["tool_calls"]:
            del call["index"], call["function"]["parsed_arguments"]
            call["type"] = "function"
        assert ours["message"] == {key: theirs["message"][key] for key in ours["message"]}
        assert not any(value for key, value in theirs["message"].items() if key not in ours["message"])
        assert said({**json.loads(body), "choices": 0}) == said({**completion, "choices": 0})
        assert neutral(reply)[0] == neutral(read("openai-chat", json.dumps(completion).encode()))[0]


def test_responses_streams_are_the_last_events_response_verbatim() -> None:
    for stream in streams("openai-responses"):
        body, _ = gathered("openai-responses", stream.raw)
        assert body.decode() == last_of_responses(stream.raw)
        read("openai-responses", body, mint=no_mint)


def test_a_message_that_begins_twice_is_refused() -> None:
    (stream,) = [one for one in recorded() if one.name == SPLICED]
    with pytest.raises(ProtocolError):
        gathered("anthropic", stream.raw)


@pytest.mark.parametrize("sizes", [(1,), (2, 3), (7,), (64, 1, 1000)])
def test_however_the_bytes_come_the_body_is_the_same(sizes: tuple[int, ...]) -> None:
    for stream in streams("anthropic", "openai-chat", "openai-responses"):
        whole = gathered(stream.protocol, stream.raw)
        assert gathered(stream.protocol, *chunked(stream.raw, sizes)) == whole
        crlf = stream.raw.replace(b"\n", b"\r\n")
        assert gathered(stream.protocol, *chunked(b"\xef\xbb\xbf" + crlf, sizes)) == whole
        assert gathered(stream.protocol, stream.raw.replace(b"\n", b"\r")) == whole


def chosen() -> list[Stream]:
    """Ten recorded streams, short ones, of all three protocols."""
    kinds = {"anthropic": 4, "openai-chat": 3, "openai-responses": 3}
    return [
        stream
        for protocol, count in kinds.items()
        for stream in sorted(streams(protocol), key=lambda one: len(one.raw))[:count]
    ]


def test_ten_streams_cut_at_every_byte_give_nothing_before_their_end() -> None:
    cuts = 0
    for stream in chosen():
        whole, _ = gathered(stream.protocol, stream.raw)
        gather = wire_for(stream.protocol).gather({})
        done = False
        for at in range(len(stream.raw)):
            done = done or ends(stream, at)
            body = body_or_code(gather)
            # Chat ends with its finish reason and a clean end; the count of tokens comes after it.
            assert body == "stream.cut" or (done and alike(stream, body, whole)), f"{stream.name} cut at {at}"
            gather.feed(stream.raw[at : at + 1])
            cuts += 1
        assert gather.body() == whole
    print(f"{cuts} cuts")
    assert len(chosen()) == 10


def body_or_code(gather: Gather) -> bytes | str:
    try:
        return gather.body()
    except ProtocolError as error:
        return error.code


def ends(stream: Stream, at: int) -> bool:
    """Whether what stands before `at` holds the whole reply."""
    before = stream.raw[:at]
    if stream.protocol == "openai-chat":
        return b'"finish_reason":"' in before and before.endswith(b"\n\n")
    last = {"anthropic": b'{"type":"message_stop"', "openai-responses": b'{"type":"response.completed"'}[stream.protocol]
    return last in before and before.endswith(b"\n\n")


def alike(stream: Stream, body: bytes | str, whole: bytes) -> bool:
    if stream.protocol != "openai-chat":
        return body == whole
    return json.loads(body)["choices"] == json.loads(whole)["choices"]
