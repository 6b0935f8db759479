"""Exchanges written by hand: a request of each protocol and its reply, with calls, rounds before them, and thoughts."""

from __future__ import annotations

import json
from typing import Any

Body = dict[str, Any]

STREET = "Where is order A-1?"
SCHEMA: Body = {"type": "object", "properties": {"order": {"type": "string"}}, "required": ["order"]}
ABOUT: Body = {"name": "track", "description": "Where a parcel is."}


def _claude(*messages: Body, **more: Any) -> Body:
    tools = [{**ABOUT, "input_schema": SCHEMA}]
    return {"model": "claude-sonnet-4-5", "max_tokens": 500, "tools": tools, "messages": list(messages), **more}


def _message(number: int, stop: str, *content: Body) -> Body:
    usage = {"input_tokens": 40 + number, "output_tokens": 30}
    head = {"id": f"msg_{number}", "type": "message", "role": "assistant", "model": "claude-sonnet-4-5"}
    return {**head, "content": list(content), "stop_reason": stop, "stop_sequence": None, "usage": usage}


def _text(said: str) -> Body:
    return {"type": "text", "text": said}


def _thought(number: int, said: str) -> Body:
    return {"type": "thinking", "thinking": said, "signature": f"EqQBCg{number}+/x=="}


def _use(number: int, order: str) -> Body:
    return {"type": "tool_use", "id": f"toolu_{number}", "name": "track", "input": {"order": order}}


def _found(number: int, said: str, **more: Any) -> Body:
    return {"type": "tool_result", "tool_use_id": f"toolu_{number}", "content": said, **more}


def _user(content: Any) -> Body:
    return {"role": "user", "content": content}


def _assistant(*content: Body) -> Body:
    return {"role": "assistant", "content": list(content)}


ANTHROPIC: list[tuple[Body, Body]] = [
    (_claude(_user("Good morning.")), _message(1, "end_turn", _text("Good morning — what can I look up for you?"))),
    (
        _claude(_user(STREET), thinking={"type": "enabled", "budget_tokens": 200}),
        _message(
            2,
            "tool_use",
            _thought(2, "Two parcels, then.\nBoth at once."),
            _text("One moment."),
            _use(1, "A-1"),
            _use(2, "A-2"),
        ),
    ),
    (
        _claude(
            _user([_text(STREET), _text("And A-2, which is late?")]),
            _assistant(_text("One moment."), _use(1, "A-1"), _use(2, "A-2")),
            _user([_found(1, "in the van"), _found(2, "no such order", is_error=True)]),
        ),
        _message(3, "end_turn", _text('A-1 is in the van; "A-2" I cannot find \\ 🚚.')),
    ),
]

ANTHROPIC_STREAMED: list[tuple[Body, Body]] = [
    (
        _claude(_user(STREET), stream=True),
        _message(4, "tool_use", _thought(4, "It is the first order."), _text("Let me see…"), _use(3, "A-1")),
    ),
    (_claude(_user("Thank you."), stream=True), _message(5, "end_turn", _text("You are welcome.\n\nGood day."))),
]


def _chat(*messages: Body, **more: Any) -> Body:
    tools = [{"type": "function", "function": {**ABOUT, "parameters": SCHEMA}}]
    return {"model": "gpt-4.1", "tools": tools, "messages": list(messages), **more}


def _called(*orders: str) -> list[Body]:
    return [
        {"id": f"call_{order}", "type": "function", "function": {"name": "track", "arguments": json.dumps({"order": order})}}
        for order in orders
    ]


def _completion(number: int, content: str | None, calls: list[Body], **more: Any) -> Body:
    message: Body = {"role": "assistant", "content": content, "refusal": None}
    if calls:
        message["tool_calls"] = calls
    reason = "tool_calls" if calls else "stop"
    choice = {"index": 0, "message": {**message, **more}, "logprobs": None, "finish_reason": reason}
    usage = {"prompt_tokens": 50 + number, "completion_tokens": 20, "total_tokens": 70 + number}
    head = {"id": f"chatcmpl-{number}", "object": "chat.completion", "created": 1_700_000_000, "model": "gpt-4.1"}
    return {**head, "choices": [choice], "usage": usage}


CHAT: list[tuple[Body, Body]] = [
    (
        _chat({"role": "system", "content": "Be brief."}, _user("Good morning.")),
        _completion(1, "Good morning — what can I look up?", []),
    ),
    (_chat(_user(STREET)), _completion(2, None, _called("A-1", "A-2"))),
    (
        _chat(
            _user([{"type": "text", "text": STREET}]),
            {"role": "assistant", "content": "One moment.", "tool_calls": _called("A-1", "A-2")},
            {"role": "tool", "tool_call_id": "call_A-1", "content": "in the van"},
            {"role": "tool", "tool_call_id": "call_A-2", "content": [{"type": "text", "text": "no such order"}]},
        ),
        _completion(3, 'A-1 is in the van; "A-2" I cannot find \\ 🚚.', [], reasoning_content="The second is missing."),
    ),
]

CHAT_STREAMED: list[tuple[Body, Body]] = [
    (_chat(_user(STREET), stream=True), _completion(4, "Let me see…", _called("A-1", "A-2"))),
    (_chat(_user("Thank you."), stream=True), _completion(5, "You are welcome.\n\nGood day.", [])),
]


def _asked(*items: Body, **more: Any) -> Body:
    tools = [{"type": "function", **ABOUT, "parameters": SCHEMA, "strict": False}]
    return {"model": "gpt-5", "store": False, "tools": tools, "input": list(items), **more}


def _reasoned(number: int, *summary: str) -> Body:
    said = [{"type": "summary_text", "text": one} for one in summary]
    return {"type": "reasoning", "id": f"rs_{number}", "summary": said, "encrypted_content": f"gAAAA{number}=="}


def _spoken(number: int, said: str) -> Body:
    content = [{"type": "output_text", "text": said, "annotations": [], "logprobs": []}]
    return {"type": "message", "id": f"msg_{number}", "role": "assistant", "status": "completed", "content": content}


def _call(number: int, order: str) -> Body:
    head = {"type": "function_call", "id": f"fc_{number}", "call_id": f"call_{number}", "status": "completed"}
    return {**head, "name": "track", "arguments": json.dumps({"order": order})}


def _output(number: int, said: str) -> Body:
    return {"type": "function_call_output", "call_id": f"call_{number}", "output": said}


def _response(number: int, *output: Body) -> Body:
    usage = {"input_tokens": 60, "input_tokens_details": {"cached_tokens": 0}, "output_tokens": 20, "total_tokens": 80}
    head = {"id": f"resp_{number}", "object": "response", "created_at": 1_700_000_000, "status": "completed", "error": None}
    middle = {"incomplete_details": None, "model": "gpt-5", "output": list(output), "parallel_tool_calls": True}
    details = {"output_tokens_details": {"reasoning_tokens": 8}}
    return {**head, **middle, "tool_choice": "auto", "tools": [], "usage": {**usage, **details}}


RESPONSES: list[tuple[Body, Body]] = [
    (_asked(_user("Good morning.")), _response(1, _spoken(1, "Good morning — what can I look up for you?"))),
    (_asked(_user(STREET)), _response(2, _reasoned(2, "Two parcels, then."), _call(1, "A-1"), _call(2, "A-2"))),
    (
        _asked(
            _user([{"type": "input_text", "text": STREET}]),
            _reasoned(2, "Two parcels, then."),
            _call(1, "A-1"),
            _call(2, "A-2"),
            _output(1, "in the van"),
            _output(2, "no such order"),
        ),
        _response(3, _reasoned(3), _spoken(3, 'A-1 is in the van; "A-2" I cannot find \\ 🚚.')),
    ),
]

RESPONSES_STREAMED: list[tuple[Body, Body]] = [
    (
        _asked(_user(STREET), stream=True),
        _response(4, _reasoned(4, "It is the first", "order."), _spoken(4, "Let me see…"), _call(3, "A-1")),
    ),
    (_asked(_user("Thank you."), stream=True), _response(5, _spoken(5, "You are welcome.\n\nGood day."))),
]
