"""A recorded reply, made a response again, reads as it did, with no id to mend; its text streams back the same."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from remit.errors import ProtocolError
from remit.types.model import Mend, ProtocolName, Reading, Reply
from remit.wire import render, wire_for
from wire.corpus import ROOT, WHY, mint, no_mint, traffic
from wire.streams import gathered, read, recorded

CAP = 50
TEXTS = st.sampled_from(["", " ", "hi", "é\ud83d", "a\U0001f600b", '"'])
IDS = st.sampled_from(["a", "b", "", "a b", None, 7, "old"])
ARGUMENTS = st.sampled_from(["{}", '{"n": 1.10}', "", "  ", '{"n":', "[]", "null", '{"n":1}{"n":2}', "é\ud83d"])
COUNTS = st.integers(0, 60)


def maybe(**members: Any) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries({}, optional=members)


ANTHROPIC = st.fixed_dictionaries(
    {
        "content": st.lists(
            st.fixed_dictionaries({"type": st.just("text"), "text": TEXTS})
            | st.fixed_dictionaries({"type": st.just("thinking"), "thinking": TEXTS, "signature": st.just("s")})
            | st.sampled_from([{"type": "fallback"}, {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}}])
            | st.fixed_dictionaries(
                {"type": st.just("tool_use"), "name": st.sampled_from(["send", "x"])},
                optional={"id": IDS, "input": ARGUMENTS | st.just({"n": 1}), "caller": st.just({"type": "direct"})},
            ),
            max_size=4,
        ),
        "stop_reason": st.sampled_from(
            ["tool_use", "end_turn", "max_tokens", "refusal", "pause_turn", "compaction", "new", None]
        ),
    },
    optional={
        "id": st.just("msg"),
        "model": st.just("m"),
        "stop_details": st.sampled_from([None, {"category": "cyber", "explanation": None}, {"explanation": "no"}]),
        "usage": st.fixed_dictionaries(
            {"output_tokens": COUNTS},
            optional={
                "input_tokens": COUNTS,
                "cache_read_input_tokens": COUNTS,
                "output_tokens_details": st.just({"thinking_tokens": 3}),
                "iterations": st.just([{"type": "compaction", "input_tokens": 5, "output_tokens": 60}]),
            },
        ),
    },
)
CHAT = st.builds(
    lambda message, finish, usage: {
        "id": "c",
        "model": "m",
        "choices": [{"index": 0, "message": {"role": "assistant", **message}, "finish_reason": finish}],
        "usage": usage,
    },
    maybe(
        content=st.none() | TEXTS,
        refusal=st.sampled_from([None, "no"]),
        function_call=st.just({"name": "send", "arguments": "{}"}),
        tool_calls=st.lists(
            st.fixed_dictionaries(
                {
                    "type": st.just("function"),
                    "function": st.fixed_dictionaries({"name": st.just("send"), "arguments": ARGUMENTS}),
                },
                optional={"id": IDS},
            )
            | st.fixed_dictionaries({"type": st.just("custom"), "custom": st.just({"name": "q", "input": "x"}), "id": IDS}),
            max_size=3,
        ),
    ),
    st.sampled_from(["stop", "tool_calls", "length", "content_filter", "new", "", None]),
    st.none() | maybe(prompt_tokens=COUNTS, completion_tokens=COUNTS),
)
RESPONSES = st.fixed_dictionaries(
    {
        "status": st.sampled_from(["completed", "incomplete", "failed", "cancelled"]),
        "output": st.lists(
            st.just({"type": "reasoning", "id": "r", "summary": []})
            | st.fixed_dictionaries(
                {"type": st.just("function_call"), "name": st.just("send"), "arguments": ARGUMENTS},
                optional={"call_id": IDS, "status": st.sampled_from(["completed", "incomplete"])},
            )
            | st.fixed_dictionaries({"type": st.just("custom_tool_call"), "name": st.just("q"), "input": TEXTS, "call_id": IDS})
            | st.builds(lambda text: {"type": "message", "content": [{"type": "output_text", "text": text}]}, TEXTS)
            | st.sampled_from(
                [{"type": "message", "content": [{"type": "refusal", "refusal": "no"}]}, {"type": "web_search_call", "id": "w"}]
            ),
            max_size=4,
        ),
    },
    optional={
        "incomplete_details": st.sampled_from([None, {"reason": "max_output_tokens"}, {"reason": "content_filter"}, {}]),
        "error": st.sampled_from([None, {"code": "server_error"}, {"code": "misalignment_policy_violation"}]),
        "usage": maybe(input_tokens=COUNTS, output_tokens=COUNTS),
    },
)


ENVELOPE = ("role.missing", "calls.empty")


def unmended(reply: Reply) -> Reply:
    """The reply without the mends that a restored one needs no more."""
    return replace(reply, mends=tuple(mend for mend in reply.mends if not mend.kind.startswith(("id.", *ENVELOPE))))


def holds(protocol: ProtocolName, body: dict[str, Any]) -> None:
    wire = wire_for(protocol)
    reading = Reading(max_tokens=CAP, names={"send": "mail.send"}, used_ids={"old"}, mint=mint)
    reply = wire.read(json.dumps(body).encode(), reading)
    again = wire.restore(reply)
    fresh = replace(reading, mint=no_mint)
    assert wire.read(again, fresh) == unmended(reply)
    assert wire.restore(wire.read(again, fresh)) == again


@given(ANTHROPIC)
@settings(deadline=None)
def test_a_restored_anthropic_reply_reads_as_it_did(body: dict[str, Any]) -> None:
    # Which part of a sum stood against the cap cannot be told where provider-run tools had one of their own.
    assume("server_tool_use" not in str(body) or "iterations" not in str(body))
    holds("anthropic", body)


@given(CHAT)
@settings(deadline=None)
def test_a_restored_chat_reply_reads_as_it_did(body: dict[str, Any]) -> None:
    holds("openai-chat", body)


@given(RESPONSES)
@settings(deadline=None)
def test_a_restored_responses_reply_reads_as_it_did(body: dict[str, Any]) -> None:
    holds("openai-responses", body)


@given(ANTHROPIC, st.integers(0, 99))
@settings(deadline=None)
def test_a_rendered_anthropic_reply_streams_back_as_it_read(body: dict[str, Any], seed: int) -> None:
    streams_back("anthropic", body, seed)


@given(CHAT, st.integers(0, 99))
@settings(deadline=None)
def test_a_rendered_chat_reply_streams_back_as_it_read(body: dict[str, Any], seed: int) -> None:
    streams_back("openai-chat", body, seed)


@given(RESPONSES.filter(lambda one: one["status"] != "cancelled"), st.integers(0, 99))
@settings(deadline=None)
def test_a_rendered_responses_reply_streams_back_as_it_read(body: dict[str, Any], seed: int) -> None:
    streams_back("openai-responses", body, seed)


def streams_back(protocol: ProtocolName, body: dict[str, Any], seed: int) -> None:
    raw = json.dumps(body).encode()
    # Half a character is not rendered: what providers send is whole.
    assume(b"\\u00e9\\ud83d" not in raw and b'"input": "' not in raw and b'"id": 7' not in raw)
    (whole, heard), read_whole = gathered(protocol, *render(protocol, raw, seed=seed)), read(protocol, raw)
    reply = read(protocol, whole)
    assert loose(reply) == loose(read_whole)
    assert "".join(piece.text for piece in heard if piece.kind == "text").strip() == reply.text.strip()


@given(st.sampled_from(["anthropic", "openai-chat", "openai-responses"]), st.integers(0, 99), st.data())
@settings(deadline=None)
def test_no_part_of_a_stream_but_the_whole_gives_a_body(protocol: ProtocolName, seed: int, data: st.DataObject) -> None:
    stop = data.draw(st.sampled_from(["calls", "length"]))
    body = wire_for(protocol).reply("some text to cut", [("a", "send", '{"n":1}'), ("b", "send", "{}")], stop=stop)
    sent = render(protocol, body, seed=seed)
    raw = b"".join(sent)
    # Chat is whole with its finish reason, if the stream then ends between two events.
    finished = raw.index(b'"finish_reason":"') if protocol == "openai-chat" else len(raw) - len(sent[-1])
    at = data.draw(st.integers(0, finished))
    gather = wire_for(protocol).gather({})
    for chunk in (raw[:at][index : index + 7] for index in range(0, at, 7)):
        gather.feed(chunk)
    with pytest.raises(ProtocolError) as caught:
        gather.body()
    assert caught.value.code == "stream.cut"
    gather.feed(raw[at:])
    assert read(protocol, gather.body()).stop == stop


def loose(reply: Reply) -> Reply:
    """The reply but for the spelling of its JSON."""
    said = [{"content": None, **one} for one in json.loads(f"[{reply.wording}]")]
    mends = tuple(Mend(mend.kind, "", "", mend.position) for mend in reply.mends if mend.kind not in ("call.cut", *ENVELOPE))
    return replace(reply, wording=json.dumps(said, sort_keys=True), mends=mends)  # type: ignore[arg-type]


@pytest.mark.skipif(not ROOT, reason=WHY)
def test_recorded_replies_read_as_they_did() -> None:
    protocols: dict[str, ProtocolName] = {
        "anthropic-messages": "anthropic",
        "openai-chat": "openai-chat",
        "openai-responses": "openai-responses",
    }
    count = 0
    for file, protocol in protocols.items():
        for entry in traffic(file):
            holds(protocol, entry["response"])
            count += 1
    for stream in recorded():
        if stream.name != "vercel-fixtures:25":
            holds(stream.protocol, json.loads(gathered(stream.protocol, stream.raw)[0]))
            count += 1
    print(count)
    assert count > 200
