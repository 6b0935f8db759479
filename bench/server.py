"""A fast fake model server: three protocols, plain and streamed, scripted by the conversation itself.

It keeps no state of a conversation: the first user message says `turns=50 parallel=1 pad=0`, and the server asks for
`parallel` calls of the tool `add` until so many results are there, with `pad` characters of text beside them; then it
says "done". `think=300` lets it wait so many milliseconds before each reply. It checks nothing: what it is there for is
to cost little, and to say how much (`GET /busy`).

    python bench/server.py --port 0 --core 0
"""

from __future__ import annotations

import argparse
import asyncio
import os
import re
import sys
import time
from collections.abc import Callable
from typing import Any

import orjson

Json = dict[str, Any]

TASK = re.compile(r"turns=(\d+) parallel=(\d+) pad=(\d+)")
THINK = re.compile(rb"think=(\d+)")
LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)", re.IGNORECASE)
PIECES = 4
"""In how many deltas a streamed text, or a call's arguments, comes."""

spent = {"requests": 0, "busy_us": 0.0, "bytes_in": 0}


class Script:
    """What the next reply says: read from what the user asked for and from how many results there are."""

    def __init__(self, asked: str, results: int) -> None:
        found = TASK.search(asked)
        turns, self.parallel, pad = (int(one) for one in found.groups()) if found else (0, 1, 0)
        self.turn = results // max(1, self.parallel)
        self.calls = [{"a": self.turn, "b": at} for at in range(self.parallel)] if self.turn < turns else []
        self.text = "x" * pad if self.calls else "done"


def words(content: Any) -> str:
    """The text of a message's content in any of the protocols."""
    if isinstance(content, str):
        return content
    return " ".join(part.get("text", "") for part in content or () if isinstance(part, dict))


def fresh(prefix: str) -> str:
    """An id as providers make them: never the same again."""
    return prefix + os.urandom(12).hex()


def pieces(text: str) -> list[str]:
    """The text in a few pieces, at least one."""
    size = max(1, -(-len(text) // PIECES))
    return [text[at : at + size] for at in range(0, len(text), size)] or [""]


def sse(name: str | None, data: Json) -> bytes:
    """One event of a stream."""
    head = b"" if name is None else b"event: " + name.encode() + b"\n"
    return head + b"data: " + orjson.dumps(data) + b"\n\n"


def anthropic(asked: Json) -> bytes:
    """Anthropic Messages."""
    user, results = "", 0
    for message in asked["messages"]:
        if message["role"] == "user" and not isinstance(message["content"], str):
            results += sum(block["type"] == "tool_result" for block in message["content"])
        if message["role"] == "user" and not user:
            user = words(message["content"])
    script = Script(user, results)
    content: list[Json] = [{"type": "text", "text": script.text}] if script.text else []
    content += [{"type": "tool_use", "id": fresh("toolu_"), "name": "add", "input": call} for call in script.calls]
    body: Json = {
        "id": fresh("msg_"),
        "type": "message",
        "role": "assistant",
        "model": asked["model"],
        "content": content,
        "stop_reason": "tool_use" if script.calls else "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": 10, "output_tokens": 5, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0},
    }
    return _anthropic_stream(body) if asked.get("stream") else orjson.dumps(body)


def _anthropic_stream(body: Json) -> bytes:
    events = [sse("message_start", {"type": "message_start", "message": {**body, "content": [], "stop_reason": None}})]
    for at, block in enumerate(body["content"]):
        text = block["type"] == "text"
        empty = {**block, "text": ""} if text else {**block, "input": {}}
        events.append(sse("content_block_start", {"type": "content_block_start", "index": at, "content_block": empty}))
        for piece in pieces(block["text"] if text else orjson.dumps(block["input"]).decode()):
            delta = {"type": "text_delta", "text": piece} if text else {"type": "input_json_delta", "partial_json": piece}
            events.append(sse("content_block_delta", {"type": "content_block_delta", "index": at, "delta": delta}))
        events.append(sse("content_block_stop", {"type": "content_block_stop", "index": at}))
    last = {"stop_reason": body["stop_reason"], "stop_sequence": None}
    events.append(sse("message_delta", {"type": "message_delta", "delta": last, "usage": {"output_tokens": 5}}))
    events.append(sse("message_stop", {"type": "message_stop"}))
    return b"".join(events)


def chat(asked: Json) -> bytes:
    """OpenAI Chat Completions."""
    messages = asked["messages"]
    user = next((words(one["content"]) for one in messages if one["role"] == "user"), "")
    script = Script(user, sum(one["role"] == "tool" for one in messages))
    calls = [
        {"id": fresh("call_"), "type": "function", "function": {"name": "add", "arguments": orjson.dumps(call).decode()}}
        for call in script.calls
    ]
    message: Json = {"role": "assistant", "content": script.text or None, "refusal": None}
    finish = "tool_calls" if calls else "stop"
    base = {"id": fresh("chatcmpl-"), "created": 1_800_000_000, "model": asked["model"]}
    usage = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}
    if asked.get("stream"):
        return _chat_stream(base, script.text, calls, finish, usage if asked.get("stream_options") else None)
    choice = {"index": 0, "message": {**message, **({"tool_calls": calls} if calls else {})}, "finish_reason": finish}
    return orjson.dumps({**base, "object": "chat.completion", "choices": [{**choice, "logprobs": None}], "usage": usage})


def _chat_stream(base: Json, text: str, calls: list[Json], finish: str, usage: Json | None) -> bytes:
    base = {**base, "object": "chat.completion.chunk"}
    events: list[bytes] = []

    def delta(what: Json, finish: str | None = None) -> None:
        choice = {"index": 0, "delta": what, "finish_reason": finish, "logprobs": None}
        events.append(sse(None, {**base, "choices": [choice]}))

    delta({"role": "assistant", "content": ""})
    for piece in pieces(text) if text else ():
        delta({"content": piece})
    for at, call in enumerate(calls):
        function = {"name": call["function"]["name"], "arguments": ""}
        delta({"tool_calls": [{"index": at, "id": call["id"], "type": "function", "function": function}]})
        for piece in pieces(call["function"]["arguments"]):
            delta({"tool_calls": [{"index": at, "function": {"arguments": piece}}]})
    delta({}, finish)
    if usage is not None:
        events.append(sse(None, {**base, "choices": [], "usage": usage}))
    events.append(b"data: [DONE]\n\n")
    return b"".join(events)


def responses(asked: Json) -> bytes:
    """OpenAI Responses."""
    given = asked["input"]
    items = [{"role": "user", "content": given}] if isinstance(given, str) else given
    user = next((words(one["content"]) for one in items if one.get("role") == "user"), "")
    script = Script(user, sum(one.get("type") == "function_call_output" for one in items))
    output: list[Json] = []
    if script.text:
        part = {"type": "output_text", "text": script.text, "annotations": [], "logprobs": []}
        message = {"type": "message", "id": fresh("msg_"), "role": "assistant", "status": "completed", "content": [part]}
        output.append(message)
    for call in script.calls:
        arguments = orjson.dumps(call).decode()
        ids = {"id": fresh("fc_"), "call_id": fresh("call_")}
        output.append({"type": "function_call", **ids, "name": "add", "arguments": arguments, "status": "completed"})
    body: Json = {
        "id": fresh("resp_"),
        "object": "response",
        "created_at": 1_800_000_000,
        "status": "completed",
        "error": None,
        "incomplete_details": None,
        "instructions": None,
        "metadata": {},
        "model": asked["model"],
        "output": output,
        "parallel_tool_calls": True,
        "temperature": 1.0,
        "tool_choice": "auto",
        "tools": [],
        "top_p": 1.0,
        "usage": {
            "input_tokens": 10,
            "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
            "output_tokens": 5,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": 15,
        },
    }
    return _responses_stream(body) if asked.get("stream") else orjson.dumps(body)


def _responses_stream(body: Json) -> bytes:
    events: list[bytes] = []

    def say(kind: str, **members: Any) -> None:
        events.append(sse(kind, {"type": kind, "sequence_number": len(events), **members}))

    begun = {**body, "status": "in_progress", "output": [], "usage": None}
    say("response.created", response=begun)
    say("response.in_progress", response=begun)
    for at, item in enumerate(body["output"]):
        place = {"output_index": at, "item_id": item["id"]}
        if item["type"] == "function_call":
            say("response.output_item.added", output_index=at, item={**item, "arguments": "", "status": "in_progress"})
            for piece in pieces(item["arguments"]):
                say("response.function_call_arguments.delta", **place, delta=piece)
            say("response.function_call_arguments.done", **place, name=item["name"], arguments=item["arguments"])
        else:
            part = item["content"][0]
            say("response.output_item.added", output_index=at, item={**item, "content": [], "status": "in_progress"})
            say("response.content_part.added", **place, content_index=0, part={**part, "text": ""})
            for piece in pieces(part["text"]):
                say("response.output_text.delta", **place, content_index=0, delta=piece, logprobs=[])
            say("response.output_text.done", **place, content_index=0, text=part["text"], logprobs=[])
            say("response.content_part.done", **place, content_index=0, part=part)
        say("response.output_item.done", output_index=at, item=item)
    say("response.completed", response=body)
    return b"".join(events)


SPEAKERS: dict[str, Callable[[Json], bytes]] = {
    "/v1/messages": anthropic,
    "/v1/chat/completions": chat,
    "/v1/responses": responses,
}


class Connection(asyncio.Protocol):
    """HTTP/1.1 as far as clients of models use it: a request with its length, kept alive."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        self.buffer = bytearray()

    def data_received(self, data: bytes) -> None:
        began = time.perf_counter()
        self.buffer += data
        while (end := self.buffer.find(b"\r\n\r\n")) >= 0:
            length = LENGTH.search(self.buffer, 0, end + 2)
            whole = end + 4 + (int(length.group(1)) if length else 0)
            if len(self.buffer) < whole:
                break
            head, body = bytes(self.buffer[:end]), bytes(self.buffer[end + 4 : whole])
            del self.buffer[:whole]
            self.answer(head.split(b" ", 2)[1].partition(b"?")[0].decode(), body)
        spent["busy_us"] += (time.perf_counter() - began) * 1e6

    def answer(self, path: str, body: bytes) -> None:
        speak = SPEAKERS.get(path)
        if speak is None:
            status, said = (b"200 OK", orjson.dumps(spent)) if path == "/busy" else (b"404 Not Found", b'{"error":{}}')
        else:
            spent["requests"] += 1
            spent["bytes_in"] += len(body)
            status, said = b"200 OK", speak(orjson.loads(body))
        kind = b"application/json" if said.startswith(b"{") else b"text/event-stream"
        length = str(len(said)).encode()
        whole = b"HTTP/1.1 " + status + b"\r\ncontent-type: " + kind + b"\r\ncontent-length: " + length + b"\r\n\r\n" + said
        think = THINK.search(body)
        if think is None:
            self.transport.write(whole)
        else:
            asyncio.get_running_loop().call_later(int(think.group(1)) / 1000, self.transport.write, whole)


async def serve(port: int) -> None:
    """Serve until the process is ended; the first line of standard output is the address."""
    server = await asyncio.get_running_loop().create_server(Connection, "127.0.0.1", port, backlog=1024)
    print(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", flush=True)
    await server.serve_forever()


def main() -> None:
    parser = argparse.ArgumentParser(description="A fast fake model server for the benchmarks.")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--core", type=int, default=None, help="run on this core alone")
    given = parser.parse_args()
    if given.core is not None and hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {given.core})
    try:
        asyncio.run(serve(given.port))
    except KeyboardInterrupt:
        sys.exit(0)


if __name__ == "__main__":
    main()
