"""Whose protocol a document is written in, told by what stands in it.

Knows no rule. Invariant: pure; what says nothing either way is taken for OpenAI Chat, whose messages all can be.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Literal

from remit.check.read.responses import OUTPUTS
from remit.check.transcript import Form
from remit.check.value import Object, listed, member, objects, string
from remit.types.ident import Json

__all__ = ["Shape", "form_of_chunk", "form_of_messages", "form_of_response", "is_message", "shape_of"]

Shape = Literal["request", "messages", "exchange", "response", "chunk", "message", "unknown"]
"""What an object is. `message` is one message or item; `chunk` one event of a stream."""

_BLOCKS = ("tool_use", "tool_result", "thinking", "redacted_thinking", "server_tool_use", "document")
_HOSTED = ("mcp_list_tools", "mcp_approval_request", "mcp_approval_response", "tool_search_output", "compaction")
_ITEMS = {*OUTPUTS, *OUTPUTS.values(), *_HOSTED, "reasoning", "item_reference", "message"}
_EVENTS = (
    "message_start",
    "message_delta",
    "message_stop",
    "content_block_start",
    "content_block_delta",
    "content_block_stop",
    "ping",
)
_SETTINGS = ("model", "tools", "functions", "max_tokens", "tool_choice", "system")


def shape_of(value: Object) -> Shape:
    """What an object is."""
    if isinstance(value.get("request"), dict) or ("request" in value and "response" in value):
        return "exchange"
    if isinstance(value.get("messages"), list):
        return "request" if any(key in value for key in _SETTINGS) else "messages"
    if form_of_chunk(value) is not None:
        return "chunk"
    if form_of_response(value) is not None:
        return "response"
    if isinstance(value.get("input"), (list, str)) and "model" in value:
        return "request"
    return "message" if is_message(value) else "unknown"


def is_message(value: Json | Object) -> bool:
    """Whether it is one message, or one item of Responses."""
    if not isinstance(value, Mapping):
        return False
    kind = string(value, "type")
    return isinstance(value.get("role"), str) or kind in _ITEMS or kind.endswith(("_call", "_call_output"))


def form_of_chunk(value: Object) -> Form | None:
    """The protocol of a stream's event; None where it is none."""
    if string(value, "object") == "chat.completion.chunk":
        return "openai-chat"
    if any("delta" in choice for _, choice in objects(value.get("choices"))):
        return "openai-chat"
    kind = string(value, "type")
    if kind in _EVENTS:
        return "anthropic"
    return "openai-responses" if kind.startswith("response.") else None


def form_of_response(value: Object) -> Form | None:
    """The protocol of a response; None where it is none."""
    if any("message" in choice for _, choice in objects(value.get("choices"))):
        return "openai-chat"
    if isinstance(value.get("output"), list) and (string(value, "object") == "response" or "status" in value):
        return None if is_message(value) else "openai-responses"
    if string(value, "type") == "message" and "stop_reason" in value and isinstance(value.get("content"), list):
        return "anthropic"
    return None


def form_of_messages(messages: Json, request: Object | None = None) -> Form:
    """The protocol of messages or items, and of the request that holds them."""
    if request is not None and "input" in request and "messages" not in request:
        return "openai-responses"
    signs: Counter[Form] = Counter()
    found = [sign for _, message in objects(messages) for sign in _signs(message)]
    if request is not None:
        found += _signs_of_request(request)
    for form, weight in found:
        signs[form] += weight
    if request is not None and "messages" in request:
        del signs["openai-responses"]
    found_form: Form = "openai-chat"
    for form in signs:
        if signs[form] > signs[found_form]:
            found_form = form
    return found_form


def _signs(message: Object) -> Iterator[tuple[Form, int]]:
    kind = string(message, "type")
    if (kind in _ITEMS and kind != "message") or kind.endswith("_call"):
        yield "openai-responses", 3
    if any(key in message for key in ("tool_calls", "function_call", "tool_call_id")):
        yield "openai-chat", 3
    if string(message, "role") in ("tool", "function"):
        yield "openai-chat", 1
    for _, part in objects(message.get("content")):
        what = string(part, "type")
        if what in _BLOCKS or what.endswith(("_tool_use", "_tool_result")) or (what == "image" and "source" in part):
            yield "anthropic", 3
        elif (what.startswith("input_") and what != "input_audio") or what == "output_text":
            yield "openai-responses", 2
        elif what in ("image_url", "input_audio"):
            yield "openai-chat", 2


def _signs_of_request(request: Object) -> Iterator[tuple[Form, int]]:
    if "system" in request or "anthropic_version" in request or "stop_sequences" in request:
        yield "anthropic", 2
    model = string(request, "model")
    if "claude" in model:
        yield "anthropic", 1
    if "functions" in request or "response_format" in request or "max_completion_tokens" in request:
        yield "openai-chat", 2
    if any(string(one, "role") in ("system", "developer") for one in listed(request.get("messages")) if isinstance(one, dict)):
        yield "openai-chat", 1
    for _, tool in objects(request.get("tools")):
        if member(tool, "function"):
            yield "openai-chat", 2
        elif "input_schema" in tool:
            yield "anthropic", 2
    if isinstance(request.get("tool_choice"), dict):
        chosen = string(member(request, "tool_choice"), "type")
        yield ("anthropic" if chosen in ("auto", "any", "tool") else "openai-chat"), 1
