"""Every request, read into our neutral form and written again, says the same, and the provider takes it."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Iterator
from typing import Any

import httpx2
import pydantic
import pytest
from anthropic.types.beta import message_create_params as beta_params

from remit.errors import ProtocolError
from remit.testing import FakeProvider
from remit.types.ident import Wording
from remit.types.model import Declaration, HeadSpec, ProtocolName, Reading, ResultText, Wire
from remit.types.part import Text
from remit.wire import wire_for
from traffic.exchange import Exchange, exchanges, listed, recorded, told
from traffic.test_replies import PARAMS
from wire.corpus import ROOT, accept, no_mint

PATHS: dict[ProtocolName, str] = {
    "anthropic": "/v1/messages",
    "openai-chat": "/v1/chat/completions",
    "openai-responses": "/v1/responses",
}
HOSTED = ("tool_search_tool", "advisor")
LOOSE = {"anthropic-messages-58", "openai-responses-49", "openai-responses-51"}
"""Sent with members that the SDK's own types do not have: a tool added in the middle, `status: null`."""

KEPT_THERE = {"openai-responses-37": "the call is in a conversation that the provider keeps"}


def requests() -> list[Exchange]:
    return [one for one in exchanges() if one.request is not None]


def head(wire: Wire, exchange: Exchange) -> Wording:
    """Ours for the recorded tools, as far as they are of the kind that we declare."""
    assert exchange.request is not None
    recorded = exchange.request.get("tools") or []
    hosted = tuple(tool for tool in recorded if tool.get("type", "").startswith(HOSTED))
    tools: dict[str, Declaration] = {}
    for tool in recorded:
        flat = tool.get("function") or tool
        if flat.get("name") and tool not in hosted:
            schema = flat.get("parameters") or flat.get("input_schema") or {"type": "object"}
            tools[flat["name"]] = Declaration(name=flat["name"], description=flat.get("description") or "", schema=schema)
    spec = HeadSpec(
        model="fake",
        instructions="Be brief.",
        tools=tuple(tools.values()),
        max_tokens=4096,
        server_tools=hosted,
        settings={"container": exchange.request["container"]} if "container" in exchange.request else {},
    )
    return wire.head(spec)


def rewritten(wire: Wire, messages: list[dict[str, Any]]) -> Iterator[Wording]:
    """The messages through our neutral form: replies are read, results and plain messages are written anew."""
    return {"anthropic": _anthropic, "openai-chat": _chat, "openai-responses": _responses}[wire.protocol](wire, messages)


def read(wire: Wire, response: dict[str, Any]) -> Wording:
    reading = Reading(max_tokens=10**9, names={}, mint=no_mint)
    reply = wire.read(json.dumps(response, ensure_ascii=False).encode(), reading)
    assert all(mend.kind == "text.empty" for mend in reply.mends)
    return reply.wording


def _anthropic(wire: Wire, messages: list[dict[str, Any]]) -> Iterator[Wording]:
    for message in messages:
        content = message["content"]
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
        kinds = {block["type"] for block in blocks}
        if message["role"] == "assistant":
            yield read(wire, {"role": "assistant", "stop_reason": "tool_use", "content": blocks})
        elif kinds == {"tool_result"} and all(isinstance(block.get("content"), str) for block in blocks):
            yield wire.results([_result(block["tool_use_id"], block["content"], block) for block in blocks])
        elif kinds == {"text"}:
            yield wire.user([Text(block["text"]) for block in blocks])
        else:
            (loaded,) = wire.load(
                [{"role": "user", "content": [block for block in blocks if block["type"] != "tool_result"] or "-"}]
            )
            yield loaded if "tool_result" not in kinds else Wording(json.dumps(message))


def _chat(wire: Wire, messages: list[dict[str, Any]]) -> Iterator[Wording]:
    for message in messages:
        match message["role"]:
            case "assistant":
                reason = "tool_calls" if message.get("tool_calls") else "stop"
                yield read(wire, {"choices": [{"message": message, "finish_reason": reason}]})
            case "tool":
                content = message["content"]
                text = content if isinstance(content, str) else "\n".join(part["text"] for part in content)
                yield wire.results([_result(message["tool_call_id"], text, {})])
            case _ if isinstance(message["content"], str):
                yield wire.user([Text(message["content"])])
            case _:
                yield from wire.load([message])


def _responses(wire: Wire, items: list[dict[str, Any]]) -> Iterator[Wording]:
    held: list[dict[str, Any]] = []
    for place, item in enumerate([*items, None]):
        kind = item.get("type", "message") if item else ""
        if item and (kind not in ("message", "function_call_output") or item.get("role") == "assistant"):
            held.append({**item, "type": kind} if kind != "message" else _spoken(item, f"msg_{place}"))
            continue
        if held:
            yield read(wire, {"status": "completed", "output": held})
            held = []
        if item and kind == "function_call_output" and isinstance(item["output"], str):
            yield wire.results([_result(item["call_id"], item["output"], {})])
        elif item and isinstance(item.get("content"), str):
            yield wire.user([Text(item["content"])])
        elif item:
            yield Wording(json.dumps(item))


def _spoken(item: dict[str, Any], item_id: str) -> dict[str, Any]:
    """An assistant's message as a reply has it, which a request may have shortened to its text."""
    if not isinstance(item["content"], str):
        return item
    content = [{"type": "output_text", "text": item["content"], "annotations": []}]
    return {"type": "message", "id": item_id, "role": "assistant", "status": "completed", "content": content}


def _result(wire_id: str, text: str, block: dict[str, Any]) -> ResultText:
    return ResultText(wire_id=wire_id, name="", text=text, error=block.get("is_error") is True)


def params(exchange: Exchange, body: bytes) -> Any:
    """The SDK's own type for the request."""
    return beta_params.MessageCreateParamsNonStreaming if b'"advisor' in body else PARAMS[exchange.protocol][0]


def takes(kinds: Any, request: dict[str, Any]) -> bool:
    """Whether the SDK's own type takes a request."""
    try:
        accept(kinds, {key: value for key, value in request.items() if key != "stream"})
    except pydantic.ValidationError:
        return False
    return True


def test_every_request_loaded_and_written_again_is_the_same_and_taken() -> None:
    counted: Counter[str] = Counter()
    loose: set[str] = set()

    async def story() -> None:
        async with FakeProvider(lambda _: "Fine.") as provider, httpx2.AsyncClient(base_url=provider.url) as client:
            for exchange in requests():
                assert exchange.request is not None
                wire, messages = wire_for(exchange.protocol), listed(exchange.protocol, exchange.request)
                if exchange.name in KEPT_THERE:
                    with pytest.raises(ProtocolError):
                        wire.load(messages)
                    continue
                for wordings in (wire.load(messages), tuple(rewritten(wire, messages))):
                    body = wire.body(head(wire, exchange), wordings)
                    written = listed(exchange.protocol, json.loads(body))
                    assert told(exchange.protocol, written) == told(exchange.protocol, messages), exchange.name
                    kinds = params(exchange, body)
                    assert takes(kinds, json.loads(body)) or not takes(kinds, exchange.request), exchange.name
                    loose.update([exchange.name] if not takes(kinds, exchange.request) else [])
                    answer = await client.post(PATHS[exchange.protocol], content=body)
                    assert answer.status_code == 200, (exchange.name, answer.text)
                counted[exchange.protocol] += 1

    asyncio.run(story())
    assert loose == (LOOSE if ROOT else set())
    assert counted == {
        "anthropic": 5 + recorded(102),
        "openai-chat": 5 + recorded(48),
        "openai-responses": 5 + recorded(64),
    }


def test_the_rules_hold_of_every_request_as_it_was_sent() -> None:
    """The recorded ones were all answered with success by the real providers: a rule that refuses one is wrong."""
    refused: list[tuple[str, str]] = []

    async def story() -> None:
        async with FakeProvider(lambda _: "Fine.") as provider, httpx2.AsyncClient(base_url=provider.url) as client:
            for exchange in requests():
                await client.post(PATHS[exchange.protocol], json=exchange.request)
                refused.extend((exchange.name, one.code) for one in provider.broken)
                provider.broken.clear()

    asyncio.run(story())
    assert refused == []
    assert len(requests()) == 15 + recorded(215)
