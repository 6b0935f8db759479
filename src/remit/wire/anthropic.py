"""The Anthropic Messages protocol: what we write.

Knows no socket and keeps no state. Source: the types of the `anthropic` SDK 2.14 and the provider's pages on
tool use and stop reasons. Invariant: one reply's answers are one user message of `tool_result` blocks.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from remit.errors import InputError
from remit.types.budget import Usage
from remit.types.ident import Json, Wording
from remit.types.model import Gather, HeadSpec, ProtocolName, Reading, Reply, ResultText, Stop
from remit.types.part import File, Image, Part, Text
from remit.wire import anthropic_history, anthropic_mend, anthropic_reply, media
from remit.wire.anthropic_stream import AnthropicGather
from remit.wire.name import wire_name, wire_names, wire_names_of
from remit.wire.request import check_server_tools, finish, join, renamed
from remit.wire.schema import answer_schema
from remit.wire.text import is_object
from remit.wire.write import quote

__all__ = ["AnthropicWire"]

_OURS = "it is set from the agent"
_STREAMED = "replies stream where somebody listens"
_REFUSED = {
    "messages": "the conversation is the journal's",
    "model": _OURS,
    "system": _OURS,
    "tools": _OURS,
    "stream": _STREAMED,
    "thread": "no state is kept at the provider",
}
_COUNTED = ("web_search", "web_fetch", "advisor")
"""Provider-run tools that take `max_uses`."""

_RUN_THERE = (*_COUNTED, "code_execution", "tool_search_tool", "mcp_toolset")
_TOOLSETS = ("browser", "computer")
"""Families whose results must name them; a call of a member is read as `computer:click`."""

_STOPS: dict[Stop, str] = {
    "calls": "tool_use",
    "end": "end_turn",
    "length": "max_tokens",
    "context": "model_context_window_exceeded",
    "refusal": "refusal",
    "pause": "pause_turn",
    "compaction": "compaction",
    "unknown": "unknown",
}


class AnthropicWire:
    """`remit.types.model.Wire` for the Anthropic Messages API."""

    @property
    def protocol(self) -> ProtocolName:
        return "anthropic"

    def names(self, tools: Sequence[str]) -> Mapping[str, str]:
        return wire_names(tools)

    def head(self, spec: HeadSpec) -> Wording:
        own: dict[str, Json] = {"model": spec.model, "max_tokens": spec.max_tokens}
        if spec.instructions.strip():
            own["system"] = spec.instructions
        names = wire_names_of(spec)
        tools = [_declared(spec, index, names) for index in range(len(spec.tools))]
        tools += check_server_tools(spec.server_tools, _RUN_THERE)
        if any("max_uses" in tool and not str(tool.get("type")).startswith(_COUNTED) for tool in spec.server_tools):
            why = f"max_uses is a limit of {', '.join(_COUNTED)} only; the provider does not count the others"
            raise InputError(why, code="server_tool.max_uses")
        if tools:
            own["tools"] = tools
            own |= _choice(spec, names)
        schema = answer_schema(spec.answer_schema)
        if schema is not None:
            own["output_config"] = {"format": {"type": "json_schema", "schema": schema}}
        own["cache_control"] = {"type": "ephemeral"}
        return finish(own, spec, refused=_REFUSED, caps=("max_tokens",))

    def body(self, head: Wording, messages: Sequence[Wording], *, stream: bool = False) -> bytes:
        return join(head, "messages", messages, stream=stream)

    def head_for(self, head: Wording, model: str) -> Wording:
        return renamed(head, model)

    def gather(self, names: Mapping[str, str]) -> Gather:
        return AnthropicGather(names)

    def user(self, parts: Sequence[Part]) -> Wording:
        kept = media.spoken(parts)
        match kept:
            case [Text(text=text)]:
                return Wording(f'{{"role":"user","content":{quote(text)}}}')
            case _:
                return Wording(quote({"role": "user", "content": [_block(part) for part in kept]}))

    def results(self, results: Sequence[ResultText]) -> Wording:
        return Wording(f'{{"role":"user","content":[{",".join(map(_result, results))}]}}')

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
        if stop not in _STOPS:
            raise InputError(f"the anthropic protocol has no stop {stop}", code="stop.unknown")
        counted = anthropic_mend.counted(usage or Usage(input_tokens=10, output_tokens=5))
        details: Json = {"type": "refusal", "category": None, "explanation": text or None} if stop == "refusal" else None
        return (
            '{"id":"msg_scripted","type":"message","role":"assistant","model":"scripted",'
            f'"content":{_content(text, calls)},"stop_reason":{quote(_STOPS[stop])},"stop_sequence":null,'
            f'"stop_details":{quote(details)},"usage":{quote(counted)}}}'
        ).encode()

    def read(self, body: bytes, reading: Reading) -> Reply:
        return anthropic_reply.read(body, reading)

    def restore(self, reply: Reply) -> bytes:
        return anthropic_mend.restore(reply)

    def load(self, messages: Sequence[Json]) -> tuple[Wording, ...]:
        anthropic_history.check(messages)
        return tuple(Wording(quote(message)) for message in messages)


def _declared(spec: HeadSpec, index: int, names: Mapping[str, str]) -> Json:
    tool = spec.tools[index]
    declared: dict[str, Json] = {
        "name": names[tool.name],
        "description": tool.description,
        "input_schema": {"type": "object", **tool.schema},
    }
    return {**declared, "strict": True} if tool.strict else declared


def _choice(spec: HeadSpec, names: Mapping[str, str]) -> dict[str, Json]:
    """`tool_choice`, left out where it says what the provider does anyway."""
    choice: dict[str, Json]
    match spec.tool_choice:
        case "none":
            return {"tool_choice": {"type": "none"}}
        case "auto":
            if spec.parallel:
                return {}
            choice = {"type": "auto"}
        case "required":
            choice = {"type": "any"}
        case tool:
            if tool not in names:
                raise InputError("tool_choice names a tool that the agent does not have", code="tool_choice.unknown")
            choice = {"type": "tool", "name": names[tool]}
    return {"tool_choice": choice if spec.parallel else {**choice, "disable_parallel_tool_use": True}}


def _block(part: Part) -> Json:
    match part:
        case Text(text=text):
            return {"type": "text", "text": text}
        case Image(data=data, media_type=kind):
            return {"type": "image", "source": {"type": "base64", "media_type": kind, "data": media.base64(data)}}
        case File(data=data, media_type=kind, name=name):
            text = media.as_text(kind, data)
            if text is None:
                source: Json = {"type": "base64", "media_type": kind, "data": media.base64(data)}
            else:
                source = {"type": "text", "media_type": "text/plain", "data": text}
            return {"type": "document", "source": source, "title": name}


def _result(result: ResultText) -> str:
    """One answer. An error holds text only (the API refuses other content beside `is_error`), and is never empty."""
    said = result.text if result.text.strip() else ""
    content = quote(_shown(result, said) if result.attachments else said or "(empty)")
    error = ',"is_error":true' if result.error else ""
    toolset = result.name.rpartition(":")[0]
    named = f',"toolset_name":{quote(toolset)}' if toolset in _TOOLSETS else ""
    return f'{{"type":"tool_result","tool_use_id":{quote(result.wire_id)},"content":{content}{error}{named}}}'


def _shown(result: ResultText, said: str) -> Json:
    blocks: list[Json] = [{"type": "text", "text": said}] if said else []
    for attachment, data in result.attachments:
        part = None if result.error else media.as_part(attachment, data)
        blocks.append(_block(part) if part is not None else {"type": "text", "text": media.described(attachment, data)})
    return blocks


def _content(text: str, calls: Sequence[tuple[str, str, str]]) -> str:
    """Assistant content from neutral parts. Arguments that are no object go as the string that they are."""
    blocks = [quote({"type": "text", "text": text})] if text.strip() else []
    for wire_id, tool, arguments in calls:
        toolset, _, name = tool.rpartition(":")
        member = f',"toolset_name":{quote(toolset)}' if toolset else ""
        given = arguments if is_object(arguments) else quote(arguments)
        blocks.append(f'{{"type":"tool_use","id":{quote(wire_id)},"name":{quote(wire_name(name))},"input":{given}{member}}}')
    return f"[{','.join(blocks)}]"
