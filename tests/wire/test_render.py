"""A body rendered as a stream is the stream that the provider would have sent: the SDKs put the same reply together."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import anthropic
import httpx2
import openai
import pytest

from remit.errors import ProtocolError
from remit.types.model import ProtocolName, Reading
from remit.wire import render, wire_for
from wire.corpus import ROOT, SPELLINGS, WHY, mint, traffic

PROTOCOLS: list[ProtocolName] = ["anthropic", "openai-chat", "openai-responses"]
every = pytest.mark.parametrize("protocol", PROTOCOLS)

TEXT = 'Grüße, "quoted" \\ and\nlines \u2028 of \U0001f600 text that is long enough to be cut several times.'
ARGUMENTS = '{"amount" : 12345678901234567890.10, "note":"é\\u00e9"}'

OFTEN: dict[ProtocolName, dict[str, Any]] = {
    "anthropic": {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "claude",
        "content": [
            {"type": "thinking", "thinking": TEXT, "signature": "sig=="},
            {"type": "redacted_thinking", "data": "opaque"},
            {"type": "text", "text": TEXT, "citations": [{"type": "char_location", "cited_text": "x", "document_index": 0}]},
            {"type": "server_tool_use", "id": "srv_1", "name": "web_search", "input": {"query": "q"}},
            {"type": "web_search_tool_result", "tool_use_id": "srv_1", "content": []},
            {
                "type": "tool_use",
                "id": "toolu_1",
                "name": "send",
                "input": {"a": [1, {"b": None}]},
                "caller": {"type": "direct"},
            },
            {"type": "tool_use", "id": "toolu_2", "name": "send", "input": {}},
        ],
        "stop_reason": "tool_use",
        "stop_sequence": None,
        "usage": {"input_tokens": 7, "output_tokens": 55, "cache_read_input_tokens": 3, "service_tier": "standard"},
    },
    "openai-chat": {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 5,
        "model": "gpt",
        "choices": [
            {
                "index": 0,
                "message": {
                    "role": "assistant",
                    "content": TEXT,
                    "refusal": None,
                    "reasoning_content": TEXT,
                    "tool_calls": [
                        {"id": "call_1", "type": "function", "function": {"name": "send", "arguments": ARGUMENTS}},
                        {"id": "call_2", "type": "function", "function": {"name": "send", "arguments": ""}},
                    ],
                },
                "logprobs": None,
                "finish_reason": "tool_calls",
            }
        ],
        "usage": {"prompt_tokens": 7, "completion_tokens": 55, "total_tokens": 62},
        "system_fingerprint": "fp",
    },
    "openai-responses": {
        "id": "resp_1",
        "object": "response",
        "created_at": 5.0,
        "status": "completed",
        "error": None,
        "incomplete_details": None,
        "model": "gpt",
        "output": [
            {
                "id": "rs_1",
                "type": "reasoning",
                "summary": [{"type": "summary_text", "text": TEXT}],
                "encrypted_content": "opaque",
            },
            {
                "id": "msg_1",
                "type": "message",
                "role": "assistant",
                "status": "completed",
                "content": [
                    {"type": "output_text", "text": TEXT, "annotations": [{"type": "file_path", "file_id": "f", "index": 0}]}
                ],
            },
            {
                "id": "fc_1",
                "type": "function_call",
                "call_id": "call_1",
                "name": "send",
                "arguments": ARGUMENTS,
                "status": "completed",
            },
            {"id": "ctc_1", "type": "custom_tool_call", "call_id": "call_2", "name": "raw", "input": TEXT},
        ],
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "usage": {"input_tokens": 7, "output_tokens": 55, "total_tokens": 62},
    },
}


def _client(kind: Any, stream: bytes) -> Any:
    def answer(_: httpx2.Request) -> httpx2.Response:
        return httpx2.Response(200, headers={"content-type": "text/event-stream"}, content=stream)

    return kind(api_key="k", http_client=httpx2.Client(transport=httpx2.MockTransport(answer)))


def _by_anthropic(stream: bytes) -> Any:
    asked: Any = [{"role": "user", "content": "x"}]
    with (
        _client(anthropic.Anthropic, stream) as client,
        client.messages.stream(model="m", max_tokens=1, messages=asked) as heard,
    ):
        return heard.get_final_message().to_dict(mode="json", warnings=False)


def _by_chat(stream: bytes) -> Any:
    asked: Any = [{"role": "user", "content": "x"}]
    usage: Any = {"include_usage": True}
    with (
        _client(openai.OpenAI, stream) as client,
        client.chat.completions.stream(model="m", messages=asked, stream_options=usage) as heard,
    ):
        return heard.get_final_completion().to_dict(mode="json", warnings=False)


def _by_responses(stream: bytes) -> Any:
    with _client(openai.OpenAI, stream) as client, client.responses.stream(model="m", input="x") as heard:
        return heard.get_final_response().to_dict(mode="json", warnings=False)


SDKS: dict[ProtocolName, Callable[[bytes], Any]] = {
    "anthropic": _by_anthropic,
    "openai-chat": _by_chat,
    "openai-responses": _by_responses,
}
_OF_THE_SDK = ("parsed", "parsed_output", "parsed_arguments")


def bare(value: Any) -> Any:
    """A body without what is null, and without what the SDKs add to their readings."""
    match value:
        case dict():
            kept = {key: bare(one) for key, one in value.items() if one is not None and key not in _OF_THE_SDK}
            if "function" in kept:
                kept.pop("index", None)
            return kept
        case list():
            return [bare(one) for one in value]
        case _:
            return value


@every
@pytest.mark.parametrize("seed", [0, 1, 2, 77])
def test_the_sdk_puts_the_same_reply_together(protocol: ProtocolName, seed: int) -> None:
    body = OFTEN[protocol]
    for spell in SPELLINGS.values():
        assert bare(SDKS[protocol](b"".join(render(protocol, spell(body).encode(), seed=seed)))) == bare(body)


@every
def test_what_comes_back_reads_as_what_was_rendered(protocol: ProtocolName) -> None:
    wire = wire_for(protocol)
    body = json.dumps(OFTEN[protocol]).encode()
    gather = wire.gather({})
    for event in render(protocol, body):
        gather.feed(event)
    reading = Reading(max_tokens=100, names={}, mint=mint)
    first, again = wire.read(body, reading), wire.read(gather.body(), reading)
    assert (again.text, again.calls, again.stop, again.usage) == (first.text, first.calls, first.stop, first.usage)
    assert bare(json.loads(f"[{again.wording}]")) == bare(json.loads(f"[{first.wording}]"))


@every
def test_a_number_that_no_float_holds_stands_in_the_stream_as_it_was_written(protocol: ProtocolName) -> None:
    wire = wire_for(protocol)
    gather = wire.gather({})
    for event in render(protocol, wire.reply("", [("call_1", "send", ARGUMENTS)]), seed=5):
        gather.feed(event)
    reply = wire.read(gather.body(), Reading(max_tokens=100, names={}, mint=mint))
    assert reply.calls[0].arguments == ARGUMENTS


@every
def test_an_event_is_an_item_and_equal_seeds_cut_equally(protocol: ProtocolName) -> None:
    body = json.dumps(OFTEN[protocol], indent=1).encode()
    events = render(protocol, body, seed=3)
    assert events == render(protocol, body, seed=3) != render(protocol, body, seed=4)
    assert all(event.endswith(b"\n\n") and event.count(b"\n\n") == 1 for event in events)


def test_usage_is_told_by_chat_only_where_it_was_asked_for() -> None:
    body = json.dumps(OFTEN["openai-chat"]).encode()
    assert b'"usage"' not in b"".join(render("openai-chat", body, usage=False))
    *_, told, done = render("openai-chat", body)
    assert b'"choices":[]' in told
    assert b'"completion_tokens": 55' in told
    assert done == b"data: [DONE]\n\n"


def test_how_a_response_ended_is_its_last_event() -> None:
    for status in ("completed", "incomplete", "failed"):
        *_, last = render("openai-responses", json.dumps({**OFTEN["openai-responses"], "status": status}).encode())
        assert last.startswith(f"event: response.{status}\n".encode())


def test_what_nobody_knows_yet_stands_in_the_stream_as_it_was_written() -> None:
    of_tomorrow = '{"type":"of_tomorrow","id":"x_1","deep":[1.50, 2]}'
    for protocol, member in (("anthropic", "content"), ("openai-responses", "output")):
        body = json.dumps({**OFTEN[protocol], member: []}).replace(f'"{member}": []', f'"{member}": [{of_tomorrow}]')
        assert of_tomorrow.encode() in b"".join(render(protocol, body.encode()))


@every
def test_what_is_no_body_is_no_stream(protocol: ProtocolName) -> None:
    with pytest.raises(ProtocolError):
        render(protocol, b"<html>")


@pytest.mark.skipif(not ROOT, reason=WHY)
@pytest.mark.parametrize(
    ("file", "protocol", "most"),
    [("anthropic-messages", "anthropic", 94), ("openai-chat", "openai-chat", 34), ("openai-responses", "openai-responses", 61)],
)
def test_the_sdk_puts_recorded_replies_together(file: str, protocol: ProtocolName, most: int) -> None:
    count = 0
    for seed, entry in enumerate(traffic(file)):
        spell = list(SPELLINGS.values())[seed % len(SPELLINGS)]
        heard = SDKS[protocol](b"".join(render(protocol, spell(entry["response"]).encode(), seed=seed)))
        if protocol == "openai-responses":
            assert [item["id"] for item in heard["output"]] == [item["id"] for item in entry["response"]["output"]]
        else:
            assert bare(heard) == bare(entry["response"])
        count += 1
    print(f"{count} recorded replies of {file}")
    assert count == most
