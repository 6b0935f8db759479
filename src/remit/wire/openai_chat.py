"""The OpenAI Chat Completions protocol, and what compatible servers speak: what we write.

Knows no socket and keeps no state. Source: the types of the `openai` SDK 3.57. Invariant: one `role: tool`
message per call, directly after the message that asked, text only and nothing between them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from remit.errors import InputError
from remit.types.budget import Usage
from remit.types.ident import Json, Wording
from remit.types.model import Gather, HeadSpec, ProtocolName, Reading, Reply, ResultText, Stop
from remit.types.part import File, Image, Part, Text
from remit.wire import media, openai_chat_history, openai_chat_mend, openai_chat_reply
from remit.wire.name import wire_name, wire_names, wire_names_of
from remit.wire.openai_chat_stream import OpenAIChatGather
from remit.wire.openai_usage import CHAT, written_usage
from remit.wire.request import check_server_tools, finish, renamed
from remit.wire.schema import answer_schema, is_strict
from remit.wire.write import quote

__all__ = ["OpenAIChatWire"]

_OURS = "it is set from the agent"
_STREAMED = "replies stream where somebody listens"
_HOSTED = "name provider-run tools in server_tools"
_REFUSED = {
    "messages": "the conversation is the journal's",
    "model": _OURS,
    "tools": _OURS,
    "functions": _OURS,
    "function_call": _OURS,
    "stream": _STREAMED,
    "stream_options": _STREAMED,
    "n": "one reply is read",
    "audio": "audio is not read",
    "modalities": "audio is not read",
    "store": "no state is kept at the provider",
    "web_search_options": _HOSTED,
}
_STOPS: dict[Stop, str] = {"calls": "tool_calls", "end": "stop", "length": "length", "filter": "content_filter"}


class OpenAIChatWire:
    """`remit.types.model.Wire` for OpenAI Chat Completions."""

    @property
    def protocol(self) -> ProtocolName:
        return "openai-chat"

    def names(self, tools: Sequence[str]) -> Mapping[str, str]:
        return wire_names(tools)

    def head(self, spec: HeadSpec) -> Wording:
        own: dict[str, Json] = {"model": spec.model, "max_completion_tokens": spec.max_tokens}
        names = wire_names_of(spec)
        tools = [_declared(spec, index, names) for index in range(len(spec.tools))]
        tools += check_server_tools(spec.server_tools)
        if tools:
            own["tools"] = tools
            if spec.tool_choice != "auto":
                own["tool_choice"] = _choice(spec.tool_choice, names)
            if not spec.parallel:
                own["parallel_tool_calls"] = False
        schema = answer_schema(spec.answer_schema)
        if schema is not None:
            named: Json = {"name": "answer", "schema": schema, "strict": is_strict(schema)}
            own["response_format"] = {"type": "json_schema", "json_schema": named}
        head = finish(own, spec, refused=_REFUSED, caps=("max_completion_tokens", "max_tokens"))
        system = quote({"role": "system", "content": spec.instructions}) if spec.instructions.strip() else ""
        return Wording(f'{head},"messages":[{system}]')

    def body(self, head: Wording, messages: Sequence[Wording], *, stream: bool = False) -> bytes:
        opened, kept = head[:-1], ",".join(filter(None, messages))
        comma = "," if kept and not opened.endswith("[") else ""
        asked = ',"stream":true,"stream_options":{"include_usage":true}' if stream else ""
        return f"{{{opened}{comma}{kept}]{asked}}}".encode()

    def head_for(self, head: Wording, model: str) -> Wording:
        return renamed(head, model)

    def gather(self, names: Mapping[str, str]) -> Gather:
        return OpenAIChatGather(names)

    def user(self, parts: Sequence[Part]) -> Wording:
        kept = media.spoken(parts)
        match kept:
            case [Text(text=text)]:
                return Wording(f'{{"role":"user","content":{quote(text)}}}')
            case _:
                return Wording(quote({"role": "user", "content": [_part(part) for part in kept]}))

    def results(self, results: Sequence[ResultText]) -> Wording:
        return Wording(",".join(map(_result, results)))

    def reply(
        self,
        text: str = "",
        calls: Sequence[tuple[str, str, str]] = (),
        *,
        stop: Stop | None = None,
        usage: Usage | None = None,
        place: int = 0,
    ) -> bytes:
        stop = stop or ("calls" if calls else "end")
        message = _message(text, calls)
        match stop:
            case "refusal":
                message |= {"content": None, "refusal": text or "refused"}
                reason = "stop"
            case "unknown":
                reason = "unknown"
            case _ if stop in _STOPS:
                reason = _STOPS[stop]
            case _:
                raise InputError(f"the openai-chat protocol has no stop {stop}", code="stop.unknown")
        choice: Json = {"index": 0, "message": message, "logprobs": None, "finish_reason": reason}
        whole: Json = {"id": "chatcmpl-scripted", "object": "chat.completion", "created": 0, "model": "scripted"}
        return quote({**whole, "choices": [choice], "usage": written_usage(usage, CHAT)}).encode()

    def read(self, body: bytes, reading: Reading) -> Reply:
        return openai_chat_reply.read(body, reading)

    def restore(self, reply: Reply) -> bytes:
        return openai_chat_mend.restore(reply)

    def load(self, messages: Sequence[Json]) -> tuple[Wording, ...]:
        openai_chat_history.check(messages)
        return tuple(Wording(quote(message)) for message in messages)


def _declared(spec: HeadSpec, index: int, names: Mapping[str, str]) -> Json:
    tool = spec.tools[index]
    function: dict[str, Json] = {
        "name": names[tool.name],
        "description": tool.description,
        "parameters": {"type": "object", **tool.schema},
    }
    return {"type": "function", "function": {**function, "strict": True} if tool.strict else function}


def _choice(choice: str, names: Mapping[str, str]) -> Json:
    if choice in ("none", "required"):
        return choice
    if choice not in names:
        raise InputError("tool_choice names a tool that the agent does not have", code="tool_choice.unknown")
    return {"type": "function", "function": {"name": names[choice]}}


def _part(part: Part) -> Json:
    match part:
        case Text(text=text):
            return {"type": "text", "text": text}
        case Image(data=data, media_type=kind):
            return {"type": "image_url", "image_url": {"url": media.data_url(kind, data)}}
        case File(data=data, media_type=kind, name=name):
            text = media.as_text(kind, data)
            if text is not None:
                return {"type": "text", "text": f"{name}:\n{text}"}
            return {"type": "file", "file": {"filename": name, "file_data": media.data_url(kind, data)}}


def _result(result: ResultText) -> str:
    """One answer: text. An image is described and not sent in a user message after it, where a tool's words
    would pass for the person's.
    """
    lines = [result.text] if result.text else []
    for attachment, data in result.attachments:
        text = None if result.error else media.as_text(attachment.media_type, data)
        lines.append(f"{attachment.name}:\n{text}" if text is not None else media.described(attachment, data))
    said = "\n".join(lines)
    return f'{{"role":"tool","tool_call_id":{quote(result.wire_id)},"content":{quote(said)}}}'


def _message(text: str, calls: Sequence[tuple[str, str, str]]) -> dict[str, Json]:
    message: dict[str, Json] = {"role": "assistant", "content": text or None}
    if calls:
        message["tool_calls"] = [
            {"id": wire_id, "type": "function", "function": {"name": wire_name(tool), "arguments": arguments}}
            for wire_id, tool, arguments in calls
        ]
    return message
